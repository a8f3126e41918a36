// Kernels that others are compiling: waited for while they live, for a bounded time in all; never for the
// dead.
#include "compiler/obtain_kernels.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/unit/cache/support.h"

namespace edge_infer {
namespace {

using namespace testing_support;
using namespace std::chrono_literals;

class AnyCode final : public Device {
 public:
  const Target& target() const override { return target_; }
  Result<LoadedKernel> load_kernel(std::string_view name) const override {
    return fail(ErrorCode::kNotFound, "{}", name);
  }
  Result<std::vector<LoadedKernel>> load_code(std::span<const NamedBlob> blobs) const override {
    return std::vector<LoadedKernel>(blobs.size());
  }
  Result<std::unique_ptr<Executable>> bind(Program, ConstantSource&) const override {
    return fail(ErrorCode::kUnsupported, "nothing runs here");
  }
  Result<size_t> packed_bytes(std::string_view, int64_t, int64_t) const override { return 0; }
  Status pack(std::string_view, std::span<const Rows>, int64_t, std::span<std::byte>) const override {
    return {};
  }

 private:
  Target target_{.name = "any"};
};

class AnyCompiler final : public KernelCompiler {
 public:
  std::string identity() const override { return "any"; }
  std::string options() const override { return ""; }
  Status available() const override { return {}; }
  std::vector<Result<CompiledKernel>> compile(std::span<const KernelSource> sources,
                                              const std::function<bool()>&) override {
    compiled += sources.size();
    std::vector<Result<CompiledKernel>> results;
    for (size_t i = 0; i < sources.size(); ++i)
      results.emplace_back(CompiledKernel{kernel_blob(static_cast<int>(i), 100), "", 0});
    return results;
  }
  size_t compiled = 0;
};

constexpr int kKernels = 6;

struct Obtained {
  Result<ObtainReport> report;
  int waits = 0;  // times that it asked whether to go on: at least once a wait
};

std::vector<KernelKey> keys() {
  std::vector<KernelKey> result;
  for (int k = 0; k < kKernels; ++k) result.push_back(kernel_key(k));
  return result;
}

Obtained obtain(KernelCache& cache, AnyCompiler& compiler, std::chrono::milliseconds patience) {
  std::vector<KernelPlan> plans(kKernels);
  for (int k = 0; k < kKernels; ++k) {
    plans[static_cast<size_t>(k)].key = kernel_key(k);
    plans[static_cast<size_t>(k)].name = "kernel:" + kernel_key(k).id();
  }
  Obtained result{fail(ErrorCode::kInternal, "not run"), 0};
  const AnyCode device;
  result.report = obtain_kernels(
      plans, device, compiler, &cache,
      [&] {
        ++result.waits;
        return false;
      },
      patience);
  return result;
}

TEST(ObtainKernels, a_dead_owner_is_not_waited_for) {
  const TemporaryDir dir;
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto cache = open_cache(dir.path() / "c");
    const KernelClaim claim = cache->claim(keys());
    const char count = static_cast<char>(claim.owned().size());
    if (::write(ready[1], &count, 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  char claimed = 0;
  ASSERT_EQ(::read(ready[0], &claimed, 1), 1);
  ASSERT_EQ(claimed, kKernels);
  ::kill(pid, SIGKILL);
  siginfo_t end{};
  // Nobody reaps it until the end: it is there, and dead.
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT), 0);
  const auto cache = open_cache(dir.path() / "c");
  AnyCompiler compiler;
  const Obtained obtained = obtain(*cache, compiler, 1h);
  ASSERT_TRUE(obtained.report) << obtained.report.error().message;
  EXPECT_EQ(obtained.report->compiled, kKernels);
  EXPECT_LE(obtained.waits, 2) << "asked before compiling, and nothing to wait for";
  EXPECT_TRUE(WIFSIGNALED(wait_for(pid)));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(ObtainKernels, an_owner_that_hangs_is_waited_for_once_and_not_once_a_kernel) {
  const TemporaryDir dir;
  const auto cache = open_cache(dir.path() / "c"), other = open_cache(dir.path() / "c");
  const KernelClaim hangs = other->claim(keys());
  ASSERT_EQ(hangs.owned().size(), static_cast<size_t>(kKernels));
  AnyCompiler compiler;
  const Obtained obtained = obtain(*cache, compiler, 200ms);
  ASSERT_TRUE(obtained.report) << obtained.report.error().message;
  EXPECT_EQ(compiler.compiled, static_cast<size_t>(kKernels));
  // Waits of 50 ms up to the patience, then a look at each kernel, then the compiler.
  EXPECT_LE(obtained.waits, 200 / 50 + 1 + kKernels + 1);
  EXPECT_GE(obtained.waits, kKernels);
}

TEST(ObtainKernels, what_another_process_compiled_is_loaded) {
  const TemporaryDir dir;
  const auto cache = open_cache(dir.path() / "c"), other = open_cache(dir.path() / "c");
  for (int k = 0; k < kKernels; ++k) other->put_kernel(kernel_key(k), kernel_blob(k, 100));
  AnyCompiler compiler;
  const Obtained obtained = obtain(*cache, compiler, 1h);
  ASSERT_TRUE(obtained.report);
  EXPECT_EQ(obtained.report->from_cache, kKernels);
  EXPECT_EQ(compiler.compiled, 0u);
}

}  // namespace
}  // namespace edge_infer
