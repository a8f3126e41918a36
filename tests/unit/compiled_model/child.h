// Runs this very program again, as a process of its own, for one of the tests named "DISABLED_Child.*".
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace edge_infer::test {

struct ChildSetup {
  std::string task;                    // name of the test
  std::filesystem::path model, cache;  // $EDGE_CHILD_MODEL, $EDGE_CHILD_CACHE
  std::filesystem::path output;        // where the task writes its vectors, $EDGE_CHILD_OUTPUT
  std::filesystem::path program{};     // another copy of the program; empty: this one
};

class Child {
 public:
  explicit Child(const ChildSetup& setup);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();
  // 0 where it passed; minus the signal that ended it.
  int wait();
  // Sends SIGKILL and waits.
  void kill();

 private:
  pid_t pid_ = -1;
};

// Copies this program into `dir`, where no edge-infer-cc lies beside it, and returns the copy.
std::filesystem::path copy_of_program(const std::filesystem::path& dir);

}  // namespace edge_infer::test
