// Helpers that are missing, foreign, dying, hanging or lying: an error of their kernels, never a hang.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "backends/cpu/codegen/cc_compiler.h"
#include "runtime/base/paths.h"
#include "tests/unit/kernel_compiler/sources.h"

namespace edge_infer {
namespace {

using Codes = std::vector<std::string>;

CcLimits one_process() {
  CcLimits limits;
  limits.processes = 1;
  return limits;
}

// What became of each source: "ok" or the error's name.
Codes outcome(CcCompiler& compiler, const std::vector<std::string>& texts, std::string* message = nullptr) {
  std::vector<KernelSource> sources;
  for (const std::string& text : texts) sources.push_back(source_for("avx2", text));
  Codes codes;
  for (const auto& result : compiler.compile(sources)) {
    codes.push_back(result ? "ok" : error_code_name(result.error().code));
    if (!result && message != nullptr) *message = result.error().message;
  }
  return codes;
}

Codes fake(const std::vector<std::string>& texts, std::string* message = nullptr,
           CcLimits limits = one_process()) {
  CcCompiler compiler(own_folder() / "fake-cc", limits);
  return outcome(compiler, texts, message);
}

const std::string kIo = error_code_name(ErrorCode::kIoError);
const std::string kCorrupt = error_code_name(ErrorCode::kCorruption);
const std::string kExhausted = error_code_name(ErrorCode::kResourceExhausted);
const std::string kUnsupportedName = error_code_name(ErrorCode::kUnsupported);

TEST(HelperFaults, none_with_a_helper_that_does_its_work) {
  EXPECT_EQ(fake({"a", "b", "c", "d", "e"}), Codes(5, "ok"));
  EXPECT_EQ(fake({"a", "b", "c", "d", "e"}, nullptr, CcLimits{}), Codes(5, "ok"));
  EXPECT_EQ(fake({}), Codes());
}

TEST(HelperFaults, missing) {
  CcCompiler compiler("/nonexistent/edge-infer-cc", {});
  EXPECT_FALSE(compiler.available());
  std::string message;
  EXPECT_EQ(outcome(compiler, {"a", "b"}, &message), Codes(2, kUnsupportedName));
  EXPECT_NE(message.find("/nonexistent/edge-infer-cc"), std::string::npos) << message;
}

TEST(HelperFaults, of_another_build) {
  CcCompiler compiler(own_folder() / "stale-cc", one_process());
  std::string message;
  EXPECT_EQ(outcome(compiler, {"a", "b", "c"}, &message), Codes(3, kUnsupportedName));
  EXPECT_NE(message.find("clang-18"), std::string::npos) << message;
}

TEST(HelperFaults, not_a_program) {
  CcCompiler compiler("/", {});
  const Codes codes = outcome(compiler, {"a", "b"});
  for (const std::string& code : codes) EXPECT_NE(code, "ok");
}

TEST(HelperFaults, death_in_the_middle) {
  std::string message;
  EXPECT_EQ(fake({"a", "die", "b", "c"}, &message), (Codes{"ok", kIo, kIo, kIo}));
  EXPECT_NE(message.find("Killed"), std::string::npos) << message;
  EXPECT_EQ(fake({"a", "b", "c", "abort"}, &message), (Codes{"ok", "ok", "ok", kIo}));
  EXPECT_NE(message.find("assertion failed"), std::string::npos) << message;
  EXPECT_EQ(fake({"half", "a"}), Codes(2, kIo));
}

TEST(HelperFaults, one_of_two_dies) {
  // The other one takes what was not handed out yet.
  const Codes codes = fake({"die", "a", "b", "c", "d", "e", "f", "g"}, nullptr, CcLimits{});
  EXPECT_EQ(codes.size(), 8u);
  EXPECT_EQ(codes[0], kIo);
}

TEST(HelperFaults, lies) {
  EXPECT_EQ(fake({"a", "garbage", "b"}), (Codes{"ok", kCorrupt, kCorrupt}));
  EXPECT_EQ(fake({"a", "wrong id", "b"}), (Codes{"ok", kIo, kIo}));
  EXPECT_EQ(fake({"a", "bad blob", "b"}), (Codes{"ok", kCorrupt, kCorrupt}));
}

TEST(HelperFaults, hang_ends_at_the_deadline) {
  CcLimits limits = one_process();
  limits.batch_ms = 300;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(fake({"a", "hang", "b"}, nullptr, limits), (Codes{"ok", kExhausted, kExhausted}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// The helper would hang for a minute; how often the caller is asked bounds the time without a clock.
TEST(HelperFaults, a_cancelled_batch_ends_its_helper_at_once) {
  CcCompiler compiler(own_folder() / "fake-cc", one_process());
  std::vector<KernelSource> sources;
  for (const char* text : {"hang", "a", "b"}) sources.push_back(source_for("avx2", text));
  int asked = 0;
  const auto results = compiler.compile(sources, [&] { return ++asked == 5; });
  EXPECT_EQ(asked, 5);
  ASSERT_EQ(results.size(), 3u);
  for (const auto& result : results) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(HelperFaults, leave_no_process_behind) {
  fake({"die", "a"});
  fake({"garbage"});
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

// The children of this process that run the helper.
std::vector<pid_t> helpers() {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream file(entry.path() / "stat");
    std::string id, name, state, parent;
    if (file >> id >> name >> state >> parent && name == "(edge-infer-cc)" &&
        parent == std::to_string(::getpid()))
      found.push_back(pid);
  }
  return found;
}

class RealHelper : public testing::Test {
 protected:
  void SetUp() override {
#ifdef EDGE_INFER_SANITIZED
    if (!CcCompiler().available()) GTEST_SKIP() << "the release build's helper has not been built";
#endif
  }
};

TEST_F(RealHelper, killed_in_the_middle) {
  CcCompiler compiler(one_process());
  Codes codes;
  std::thread compiling([&] { codes = outcome(compiler, std::vector<std::string>(200, gemm_source(8))); });
  std::vector<pid_t> found;
  for (int i = 0; i < 5000 && found.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    found = helpers();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  for (const pid_t pid : found) ::kill(pid, SIGKILL);
  compiling.join();
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(codes.size(), 200u);
  EXPECT_EQ(codes.back(), kIo);
  size_t answered = 0;
  while (answered < codes.size() && codes[answered] == "ok") ++answered;
  for (size_t i = answered; i < codes.size(); ++i) EXPECT_EQ(codes[i], kIo) << i;
}

TEST_F(RealHelper, out_of_memory) {
  CcLimits limits = one_process();
  limits.memory_bytes = int64_t{100} << 20;
  CcCompiler compiler(limits);
  std::string message;
  // Too much for the limit, nothing for the default one.
  std::string table = "static const int table[] = {";
  for (int i = 0; i < 150'000; ++i) table += std::to_string(i * 7919 % 100'003) + ",";
  table += "};\n";
  const std::string text = kernel("*(int*)scratch = table[m0];", table);
  EXPECT_EQ(outcome(compiler, {text}, &message), Codes{kExhausted}) << message;
  CcCompiler usual;
  EXPECT_EQ(outcome(usual, {text}, &message), Codes{"ok"}) << message;
}

TEST_F(RealHelper, out_of_processor_time) {
  CcLimits limits = one_process();
  limits.cpu_seconds = 1;
  CcCompiler compiler(limits);
  std::string message;
  EXPECT_EQ(outcome(compiler, std::vector<std::string>(300, gemm_source(8)), &message).back(), kExhausted)
      << message;
}

TEST_F(RealHelper, refuses_to_be_used_by_hand) {
  const std::string command = (own_folder() / "edge-infer-cc").string() + " 2>/dev/null </dev/null";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

}  // namespace
}  // namespace edge_infer
