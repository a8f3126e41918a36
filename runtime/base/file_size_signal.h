// Writing beyond RLIMIT_FSIZE raises SIGXFSZ, which ends a process that has not asked for anything else. What
// a program does about it is its own affair, so whoever writes files for a host blocks it for the thread
// while it writes: write() then fails with EFBIG, which is handled like a full disk.
#pragma once

#include <signal.h>

namespace edge_infer {

// Blocks SIGXFSZ in this thread for its lifetime, and takes away the one that its own writes raised. Nests.
class FileSizeSignalBlock {
 public:
  FileSizeSignalBlock();
  ~FileSizeSignalBlock();
  FileSizeSignalBlock(const FileSizeSignalBlock&) = delete;
  FileSizeSignalBlock& operator=(const FileSizeSignalBlock&) = delete;

 private:
  bool blocks_ = false;  // nobody did before
};

// For main(): SIGXFSZ is ignored in this process and those that it starts.
void ignore_file_size_signal();

}  // namespace edge_infer
