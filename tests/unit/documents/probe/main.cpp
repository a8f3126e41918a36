// Closes the sandbox of edge-infer-read around itself, tries one thing, and says "open" if that worked.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime/base/sandbox.h"

namespace {

void say(const char* text) {
  if (::write(1, text, std::strlen(text)) < 0) ::_exit(3);
}

bool attempt(std::string_view what) {
  if (what == "open") return ::open("/etc/passwd", O_RDONLY) >= 0;
  if (what == "create") return ::open("/tmp/edge-infer-escaped", O_WRONLY | O_CREAT, 0600) >= 0;
  if (what == "socket") return ::socket(AF_INET, SOCK_STREAM, 0) >= 0;
  if (what == "fork") return ::syscall(SYS_clone, 17, 0, 0, 0, 0) >= 0;
  if (what == "exec") return ::execl("/bin/true", "true", nullptr) == 0;
  if (what == "kill") return ::syscall(SYS_kill, ::getppid(), 0) == 0;
  if (what == "code")
    return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED;
  if (what == "memory") {
    std::vector<char> much(std::size_t{200} << 20, 1);
    return much[100] == 1;
  }
  if (what == "spin") {
    for (unsigned long i = 0;; ++i) __asm__ volatile("" : : "r"(i));
  }
  return what == "nothing";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string_view what = argv[1];
  if (what == "hang") {
    ::close(1);
    while (true) ::pause();
  }
  if (what == "flood") {
    const std::vector<char> block(65536, 'x');
    while (::write(1, block.data(), block.size()) > 0) {
    }
    return 0;
  }
  if (what == "environment") {
    extern char** environ;
    for (char** entry = environ; *entry != nullptr; ++entry) say(*entry);
    for (int fd = 3; fd < 100; ++fd)
      if (::fcntl(fd, F_GETFD) >= 0) say(" leaked descriptor");
    return 0;
  }
  edge_infer::limit_resources(std::int64_t{64} << 20, 1);
  const edge_infer::SandboxState state = edge_infer::enter_sandbox();
  say(state.seccomp ? "seccomp " : "no-seccomp ");
  say(state.landlock ? "landlock " : "no-landlock ");
  try {
    say(attempt(what) ? "worked" : "refused");
  } catch (...) {
    say("bad_alloc");
  }
  ::_exit(0);
}
