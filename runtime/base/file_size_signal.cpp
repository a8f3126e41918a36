#include "runtime/base/file_size_signal.h"

#include <pthread.h>

#include <cerrno>
#include <ctime>

namespace edge_infer {
namespace {

sigset_t only_sigxfsz() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

FileSizeSignalBlock::FileSizeSignalBlock() {
  const sigset_t set = only_sigxfsz();
  sigset_t before;
  // Where it was blocked before, it may be pending already, and is not this one's to take away.
  blocks_ = ::pthread_sigmask(SIG_BLOCK, &set, &before) == 0 && sigismember(&before, SIGXFSZ) == 0;
}

FileSizeSignalBlock::~FileSizeSignalBlock() {
  if (!blocks_) return;
  const int error = errno;
  const sigset_t set = only_sigxfsz();
  const timespec at_once{};
  while (::sigtimedwait(&set, nullptr, &at_once) < 0 && errno == EINTR) {
  }
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  errno = error;
}

void ignore_file_size_signal() {
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace edge_infer
