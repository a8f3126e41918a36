#include "tests/unit/cuda_codegen/emulated_kernels.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "backends/cuda/launch.h"
#include "tests/kernels/guarded_buffer.h"

namespace edge_infer::cuda::test {

namespace fs = std::filesystem;

namespace {

constexpr const char* kCompiler = "clang++-19";
constexpr const char* kOptions = "-std=c++17 -O0 -fPIC -ffp-contract=off -w";
constexpr size_t kKernelsOfUnit = 40;
constexpr size_t kAlignment = 256;

// PTX of the prelude, and CUDA's words that have no like in C++.
constexpr std::pair<std::string_view, std::string_view> kReplaced[] = {
    {R"(asm volatile("griddepcontrol.launch_dependents;");)", ""},
    {R"(asm volatile("griddepcontrol.wait;" ::: "memory");)", ""},
    {R"(asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));)", "x = emulation::from_half(h);"},
    {R"(asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));)", "h = emulation::to_half(x);"},
    {R"(asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));)", "h = emulation::to_bf16(x);"},
    {"extern __shared__ __align__(16) u8 shared[];", "u8* const shared = emulation::shared_memory();"},
    {"extern \"C\" ", ""},
};

Result<std::string> as_cpp(std::string text) {
  for (const auto& [from, to] : kReplaced)
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  if (const size_t at = text.find("asm"); at != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "the emulation does not know \"{}\"", text.substr(at, 60));
  return text;
}

std::string read(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A folder that goes with the process' last use of it.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "edge-infer-emulation-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

// Of the emulation, made once a process: kernels are many and small.
std::string precompiled_header() {
  static const Folder folder;
  const fs::path made = folder.path / "cuda_emulation.pch";
  if (!fs::exists(made)) {
    const std::string command = fmt::format("{} {} -x c++-header -o {} {}/tests/support/cuda_emulation.h",
                                            kCompiler, kOptions, made.string(), fs::current_path().string());
    if (std::system(command.c_str()) != 0) return {};
  }
  return made.string();
}

}  // namespace

Status can_emulate() {
  if (std::system(fmt::format("{} --version > /dev/null 2>&1", kCompiler).c_str()) == 0) return {};
  return fail(ErrorCode::kUnsupported, "no {}", kCompiler);
}

Result<EmulatedKernels> EmulatedKernels::compile(std::span<const std::string> sources) {
  const Folder folder;
  EmulatedKernels kernels;
  for (size_t begin = 0; begin < sources.size(); begin += kKernelsOfUnit) {
    const size_t end = std::min(begin + kKernelsOfUnit, sources.size());
    std::string unit;
    for (size_t i = begin; i < end; ++i) {
      EDGE_INFER_ASSIGN(const CudaLaunch launch, CudaLaunch::of_source(sources[i]));
      EDGE_INFER_ASSIGN(const std::string text, as_cpp(sources[i]));
      unit += fmt::format(
          "namespace kernel{0} {{\n{1}}}\nextern \"C\" void launch{0}(void** arguments, unsigned grid, bool "
          "descending) {{\n  emulation::launch(kernel{0}::k, arguments, grid, {2}, {3}, descending);\n}}\n",
          i, text, launch.threads, launch.shared_bytes);
      for (const char* name : {"GEMM_N", "GEMM_K", "GEMM_ROWS"}) unit += fmt::format("#undef {}\n", name);
    }
    const fs::path source = folder.path / fmt::format("unit{}.cpp", begin),
                   library = folder.path / fmt::format("unit{}.so", begin), log = folder.path / "log";
    std::ofstream(source) << unit;
    const std::string command =
        fmt::format("{} {} -shared -include-pch {} -o {} {} > {} 2>&1", kCompiler, kOptions,
                    precompiled_header(), library.string(), source.string(), log.string());
    if (std::system(command.c_str()) != 0)
      return fail(ErrorCode::kInvalidArgument, "{}\n{}", read(log).substr(0, 2000), unit.substr(0, 8'000));
    // Kept until the process ends: results hold pointers into it.
    void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) return fail(ErrorCode::kInternal, "{}", ::dlerror());
    for (size_t i = begin; i < end; ++i)
      kernels.launches_.push_back(
          reinterpret_cast<Launch>(::dlsym(loaded, fmt::format("launch{}", i).c_str())));
  }
  return kernels;
}

Status EmulatedKernels::run(size_t index, const loop::LoopNest& nest, std::span<const int64_t> symbols,
                            std::span<HostTensor* const> buffers) const {
  using edge_infer::testing::GuardedBuffer;
  std::vector<std::vector<std::byte>> first(buffers.size());
  for (const bool descending : {false, true}) {
    std::vector<std::unique_ptr<GuardedBuffer>> memory;
    std::vector<int64_t> sizes(symbols.begin(), symbols.end());
    std::vector<void*> arguments{sizes.data()};
    for (size_t i = 0; i < buffers.size(); ++i) {
      const std::vector<std::byte>& bytes = buffers[i]->bytes;
      memory.push_back(std::make_unique<GuardedBuffer>(bytes.size(), kAlignment));
      std::memcpy(memory.back()->data(), bytes.data(), bytes.size());
      arguments.push_back(memory.back()->data());
    }
    launches_[index](arguments.data(), descending ? 5 : 2, descending);
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (!memory[i]->intact()) return fail(ErrorCode::kInternal, "the kernel wrote beside b{}", i);
      const std::span<const std::byte> found(memory[i]->data(), memory[i]->bytes());
      if (nest.buffers[i].access != loop::Access::kOut) {
        if (!std::ranges::equal(found, buffers[i]->bytes))
          return fail(ErrorCode::kInternal, "the kernel wrote to b{}", i);
      } else if (!descending) {
        first[i].assign(found.begin(), found.end());
      } else if (!std::ranges::equal(found, first[i])) {
        return fail(ErrorCode::kInternal, "b{} depends on the grid or the order of threads", i);
      }
    }
  }
  for (size_t i = 0; i < buffers.size(); ++i)
    if (nest.buffers[i].access == loop::Access::kOut) std::ranges::copy(first[i], buffers[i]->bytes.begin());
  return {};
}

}  // namespace edge_infer::cuda::test
