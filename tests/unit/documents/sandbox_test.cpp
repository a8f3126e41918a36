#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>

#include "apps/documents/child_process.h"
#include "tests/unit/documents/support.h"

namespace edge_infer {
namespace {

ChildOutcome probe(const std::string& what, int64_t time_ms = 20'000, int64_t output = 4096) {
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ChildRun run{bin_folder() / "sandbox-probe", {what}, input, output, time_ms};
  Result<ChildOutcome> outcome = run_child(run);
  ::close(input);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return outcome ? *outcome : ChildOutcome{};
}

bool seccomp_here() {
  static const bool on = probe("nothing").output.starts_with("seccomp");
  return on;
}

TEST(Sandbox, lets_the_process_compute_and_answer) {
  const ChildOutcome outcome = probe("nothing");
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_TRUE(outcome.output.ends_with("worked")) << outcome.output;
}

TEST(Sandbox, kills_a_process_that_reaches_for_the_system) {
  if (!seccomp_here()) GTEST_SKIP() << "no seccomp here (sanitizers, or a container without it)";
  for (const char* what : {"open", "create", "socket", "fork", "exec", "kill", "code"}) {
    const ChildOutcome outcome = probe(what);
    EXPECT_EQ(outcome.signal, SIGSYS) << what << ": " << outcome.output;
    EXPECT_FALSE(outcome.output.ends_with("worked")) << what;
  }
  EXPECT_FALSE(std::filesystem::exists("/tmp/edge-infer-escaped"));
}

#ifndef EDGE_INFER_SANITIZED
TEST(Sandbox, bounds_memory) {
  EXPECT_TRUE(probe("memory").output.ends_with("bad_alloc"));
}
#endif

TEST(Sandbox, bounds_cpu_time) {
  const ChildOutcome outcome = probe("spin");
  EXPECT_TRUE(outcome.signal == SIGXCPU || outcome.signal == SIGKILL) << outcome.signal;
  EXPECT_FALSE(outcome.timed_out);
}

TEST(ChildProcess, kills_at_the_deadline_even_when_the_pipe_was_closed) {
  const auto start = std::chrono::steady_clock::now();
  const ChildOutcome outcome = probe("hang", 300);
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(ChildProcess, bounds_the_output) {
  const ChildOutcome outcome = probe("flood", 20'000, 100'000);
  EXPECT_TRUE(outcome.too_much_output);
  EXPECT_LE(outcome.output.size(), 100'000u);
}

TEST(ChildProcess, passes_on_neither_environment_nor_descriptors) {
  const int leak = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as a careless host would
  ASSERT_GE(leak, 0);
  EXPECT_EQ(probe("environment").output, "TZ=UTC0");
  ::close(leak);
}

TEST(ChildProcess, names_a_program_that_cannot_be_started) {
  Result<ChildOutcome> outcome = run_child({"/nonexistent/program", {}, 0, 100, 1000});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kInternal);
  EXPECT_NE(outcome.error().message.find("/nonexistent/program"), std::string::npos);
}

}  // namespace
}  // namespace edge_infer
