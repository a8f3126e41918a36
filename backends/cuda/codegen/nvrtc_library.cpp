#include "backends/cuda/codegen/nvrtc_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "runtime/base/paths.h"

namespace edge_infer::cuda {

namespace fs = std::filesystem;

namespace {

using NvrtcProgram = struct OpaqueProgram*;
constexpr int kSuccess = 0;
constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

// Folders of `parent` whose name begins so, the last name first.
std::vector<fs::path> subfolders(const fs::path& parent, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error))
    if (entry.path().filename().native().starts_with(prefix)) found.push_back(entry.path());
  std::ranges::sort(found, std::greater<>());
  return found;
}

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  const fs::path own = own_folder();
  all.push_back(own);
  all.push_back(own.parent_path() / "lib");
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable)) all.push_back(fs::path(home) / "lib64");
  for (const fs::path& toolkit : subfolders("/usr/local", "cuda")) all.push_back(toolkit / "lib64");
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"})
    all.emplace_back(folder);
  std::vector<fs::path> pythons;
  const auto add_pythons = [&](const fs::path& lib) {
    for (const fs::path& python : subfolders(lib, "python3"))
      for (const char* packages : {"site-packages", "dist-packages"}) pythons.push_back(python / packages);
  };
  if (const char* environment = std::getenv("VIRTUAL_ENV")) add_pythons(fs::path(environment) / "lib");
  if (const char* home = std::getenv("HOME")) add_pythons(fs::path(home) / ".local/lib");
  add_pythons("/usr/local/lib");
  add_pythons("/usr/lib");
  pythons.push_back(own.parent_path());
  for (const fs::path& packages : pythons) {
    all.push_back(packages / "nvidia/cu13/lib");
    all.push_back(packages / "nvidia/cuda_nvrtc/lib");
  }
  return all;
}

}  // namespace

struct NvrtcLibrary::Functions {
  void* builtins = nullptr;
  void* library = nullptr;
  int (*version)(int*, int*) = nullptr;
  int (*create)(NvrtcProgram*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(NvrtcProgram*) = nullptr;
  int (*compile)(NvrtcProgram, int, const char* const*) = nullptr;
  int (*log_size)(NvrtcProgram, size_t*) = nullptr;
  int (*log)(NvrtcProgram, char*) = nullptr;
  int (*cubin_size)(NvrtcProgram, size_t*) = nullptr;
  int (*cubin)(NvrtcProgram, char*) = nullptr;
  int (*ptx_size)(NvrtcProgram, size_t*) = nullptr;
  int (*ptx)(NvrtcProgram, char*) = nullptr;
  const char* (*error_text)(int) = nullptr;

  template <typename Function>
  Status find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function == nullptr) return fail(ErrorCode::kUnsupported, "libnvrtc has no {}", name);
    return {};
  }
};

fs::path NvrtcLibrary::find() {
  std::error_code error;
  if (const char* named = std::getenv("EDGE_INFER_NVRTC"))
    return fs::is_regular_file(named, error) ? fs::path(named) : fs::path();
  const std::vector<fs::path> all = folders();
  for (const char* name : kNames)
    for (const fs::path& folder : all)
      if (fs::is_regular_file(folder / name, error)) return folder / name;
  return {};
}

std::string NvrtcLibrary::identity_of(const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) return "nvrtc-none";
  constexpr std::string_view kPrefix = "libnvrtc.so.";
  const std::string name = real.filename().native();
  const std::string version = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : "unknown";
  if (std::ranges::count(version, '.') >= 2) return fmt::format("nvrtc-{}", version);
  return fmt::format("nvrtc-{}-{}", version, fs::file_size(real, error));
}

Result<std::shared_ptr<const NvrtcLibrary>> NvrtcLibrary::load(const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) return fail(ErrorCode::kUnsupported, "no NVRTC at \"{}\": {}", file.native(), error.message());
  // Never unloaded: the compiler keeps threads and state of its own.
  auto functions = std::make_shared<Functions>();
  for (const fs::path& builtins : subfolders(real.parent_path(), "libnvrtc-builtins.so"))
    if (functions->builtins == nullptr)
      functions->builtins = ::dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
  functions->library = ::dlopen(real.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (functions->library == nullptr) return fail(ErrorCode::kUnsupported, "NVRTC: {}", ::dlerror());
  Functions& f = *functions;
  EDGE_INFER_RETURN_IF_ERROR(f.find("nvrtcVersion", f.version));
  EDGE_INFER_RETURN_IF_ERROR(f.find("nvrtcCreateProgram", f.create));
  EDGE_INFER_RETURN_IF_ERROR(f.find("nvrtcDestroyProgram", f.destroy));
  EDGE_INFER_RETURN_IF_ERROR(f.find("nvrtcCompileProgram", f.compile));
  EDGE_INFER_RETURN_IF_ERROR(f.find("nvrtcGetProgramLogSize", f.log_size));
  EDGE_INFER_RETURN_IF_ERROR(f.find("nvrtcGetProgramLog", f.log));
  EDGE_INFER_RETURN_IF_ERROR(f.find("nvrtcGetCUBINSize", f.cubin_size));
  EDGE_INFER_RETURN_IF_ERROR(f.find("nvrtcGetCUBIN", f.cubin));
  EDGE_INFER_RETURN_IF_ERROR(f.find("nvrtcGetPTXSize", f.ptx_size));
  EDGE_INFER_RETURN_IF_ERROR(f.find("nvrtcGetPTX", f.ptx));
  EDGE_INFER_RETURN_IF_ERROR(f.find("nvrtcGetErrorString", f.error_text));
  std::shared_ptr<NvrtcLibrary> made(new NvrtcLibrary);
  if (f.version(&made->major_, &made->minor_) != kSuccess)
    return fail(ErrorCode::kUnsupported, "NVRTC at \"{}\" does not tell its version", real.native());
  made->functions_ = std::move(functions);
  return made;
}

Result<NvrtcResult> NvrtcLibrary::compile(const std::string& source, std::span<const std::string> options,
                                          bool with_ptx) const {
  const Functions& f = *functions_;
  NvrtcProgram program = nullptr;
  if (const int code = f.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr); code != kSuccess)
    return fail(ErrorCode::kInternal, "NVRTC: {}", f.error_text(code));
  struct Destroy {
    const Functions& functions;
    NvrtcProgram& program;
    ~Destroy() { functions.destroy(&program); }
  } const destroy{f, program};
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  const int compiled = f.compile(program, static_cast<int>(words.size()), words.data());
  const auto text = [&](auto size_function, auto function) {
    size_t size = 0;
    std::string result;
    if (size_function(program, &size) != kSuccess || size <= 1) return result;
    result.resize(size);
    if (function(program, result.data()) != kSuccess) return std::string();
    result.resize(result.find('\0') == std::string::npos ? size : result.find('\0'));
    return result;
  };
  NvrtcResult result;
  result.log = text(f.log_size, f.log);
  if (compiled != kSuccess)
    return fail(ErrorCode::kInvalidArgument, "{}\n{}", f.error_text(compiled), result.log);
  size_t size = 0;
  if (const int code = f.cubin_size(program, &size); code != kSuccess || size == 0)
    return fail(ErrorCode::kInternal, "NVRTC gives no cubin: {}", f.error_text(code));
  result.cubin.resize(size);
  if (const int code = f.cubin(program, reinterpret_cast<char*>(result.cubin.data())); code != kSuccess)
    return fail(ErrorCode::kInternal, "NVRTC gives no cubin: {}", f.error_text(code));
  if (with_ptx) result.ptx = text(f.ptx_size, f.ptx);
  return result;
}

}  // namespace edge_infer::cuda
