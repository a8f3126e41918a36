#include "tests/unit/compiled_model/child.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace edge_infer::test {

Child::Child(const ChildSetup& setup) {
  const std::string program = setup.program.empty() ? std::filesystem::read_symlink("/proc/self/exe").native()
                                                    : setup.program.native();
  std::vector<std::string> arguments = {program, "--gtest_also_run_disabled_tests", "--gtest_brief=1",
                                        "--gtest_filter=DISABLED_Child." + setup.task};
  std::vector<std::string> environment = {"EDGE_CHILD_MODEL=" + setup.model.native(),
                                          "EDGE_CHILD_CACHE=" + setup.cache.native(),
                                          "EDGE_CHILD_OUTPUT=" + setup.output.native()};
  for (char** e = environ; *e != nullptr; ++e)
    if (std::strncmp(*e, "GTEST_", 6) != 0) environment.emplace_back(*e);
  std::vector<char*> argv, env;
  for (std::string& a : arguments) argv.push_back(a.data());
  for (std::string& e : environment) env.push_back(e.data());
  argv.push_back(nullptr);
  env.push_back(nullptr);
  const int error = ::posix_spawn(&pid_, program.c_str(), nullptr, nullptr, argv.data(), env.data());
  if (error != 0) {
    ADD_FAILURE() << program << ": " << std::strerror(error);
    pid_ = -1;
  }
}

Child::~Child() {
  if (pid_ > 0) kill();
}

int Child::wait() {
  if (pid_ < 0) return -1;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void Child::kill() {
  ::kill(pid_, SIGKILL);
  wait();
}

std::filesystem::path copy_of_program(const std::filesystem::path& dir) {
  std::filesystem::create_directories(dir);
  const std::filesystem::path copy = dir / "program";
  std::filesystem::copy_file("/proc/self/exe", copy, std::filesystem::copy_options::overwrite_existing);
  return copy;
}

}  // namespace edge_infer::test
