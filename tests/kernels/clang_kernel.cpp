#include "tests/kernels/clang_kernel.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace edge_infer::testing {
namespace {

// Files of one compilation, gone at its end: a mapped library needs no name.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "edge-kernel-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

std::string machine_flags(std::string_view features) {
  std::string flags = "-march=x86-64";
  while (!features.empty()) {
    const size_t end = std::min(features.find(','), features.size());
    flags += fmt::format(" -m{}", features.substr(0, end));
    features.remove_prefix(std::min(end + 1, features.size()));
  }
  return flags;
}

}  // namespace

Result<ClangKernel> ClangKernel::compile(const KernelSource& source) {
  const Folder folder;
  if (folder.path.empty()) return fail(ErrorCode::kIoError, "no temporary folder");
  const std::string base = (folder.path / "kernel").string();
  std::ofstream(base + ".c") << source.source;
  const char* width = source.target == "cpu.avx512" ? "512" : source.target == "cpu.avx2" ? "256" : "128";
  // -nostdlib and -z defs: a call of anything outside is an error of the linker.
  const std::string command = fmt::format(
      "clang-19 -shared -fPIC -O2 -std=gnu11 -ffreestanding -fno-builtin -ffp-contract=off -w {0} "
      "-mprefer-vector-width={1} -nostdlib -Wl,-z,defs -o {2}.so {2}.c 2> {2}.log",
      machine_flags(source.features), width, base);
  if (const int status = std::system(command.c_str()); status != 0) {  // NOLINT: a test's own command
    std::ostringstream log;
    log << std::ifstream(base + ".log").rdbuf();
    return fail(ErrorCode::kInvalidArgument, "clang-19 ended with {}: {}", status, log.str().substr(0, 1500));
  }
  ClangKernel kernel;
  kernel.library_ =
      std::shared_ptr<void>(dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL), [](void* library) {
        if (library != nullptr) dlclose(library);
      });
  if (kernel.library_ == nullptr) return fail(ErrorCode::kIoError, "{}", dlerror());
  kernel.function_ = reinterpret_cast<KernelFn>(dlsym(kernel.library_.get(), "k"));
  if (kernel.function_ == nullptr) return fail(ErrorCode::kInvalidArgument, "no function k");
  return kernel;
}

}  // namespace edge_infer::testing
