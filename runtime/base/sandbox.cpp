#include "runtime/base/sandbox.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <iterator>
#include <vector>

namespace edge_infer {
namespace {

void limit(__rlimit_resource resource, int64_t value) {
  // The hard limit is a step later: of CPU time, the soft one ends the process with a signal of its own.
  const rlim_t soft = static_cast<rlim_t>(value);
  const rlimit both{soft, resource == RLIMIT_CPU ? soft + 1 : soft};
  ::setrlimit(resource, &both);
}

// Landlock's interface, in the form of kernel 6.12; older kernels read a part of it.
struct LandlockRuleset {
  uint64_t handled_fs, handled_net, scoped;
};

bool enter_landlock() {
#ifdef SYS_landlock_create_ruleset
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1);
  if (abi < 1) return false;
  // The rights that each version knows; none of them is granted anywhere.
  const uint64_t fs[] = {0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
  LandlockRuleset rules{};
  rules.handled_fs = fs[abi > 5 ? 4 : abi - 1];
  if (abi >= 4) rules.handled_net = 3;
  if (abi >= 6) rules.scoped = 3;
  const size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  const long ruleset = ::syscall(SYS_landlock_create_ruleset, &rules, size, 0);
  if (ruleset < 0) return false;
  const bool on = ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  ::close(static_cast<int>(ruleset));
  return on;
#else
  return false;
#endif
}

bool enter_seccomp() {
#if !defined(EDGE_INFER_SANITIZED) && (defined(__x86_64__) || defined(__aarch64__))
#if defined(__x86_64__)
  constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
  constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif
  constexpr uint32_t kAllowed[] = {
      SYS_read,       SYS_write,     SYS_munmap,       SYS_mremap,     SYS_madvise,
      SYS_brk,        SYS_futex,     SYS_exit,         SYS_exit_group, SYS_clock_gettime,
      SYS_fstat,      SYS_getrandom, SYS_rt_sigreturn, SYS_sysinfo,
#ifdef SYS_newfstatat
      SYS_newfstatat,
#endif
  };
  constexpr uint32_t kNumber = offsetof(seccomp_data, nr), kArch = offsetof(seccomp_data, arch);
  constexpr uint32_t kProtection = offsetof(seccomp_data, args) + 2 * sizeof(uint64_t);
  const auto load = [](uint32_t offset) { return sock_filter(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); };
  const auto result = [](uint32_t value) { return sock_filter(BPF_STMT(BPF_RET | BPF_K, value)); };
  std::vector<sock_filter> program = {
      load(kArch),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      result(SECCOMP_RET_KILL_PROCESS),
      load(kNumber),
  };
  for (const uint32_t number : kAllowed) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    program.push_back(result(SECCOMP_RET_ALLOW));
  }
  // Memory may be mapped, but never made executable.
  for (const uint32_t number : {static_cast<uint32_t>(SYS_mmap), static_cast<uint32_t>(SYS_mprotect)}) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4));
    program.push_back(load(kProtection));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4 /* PROT_EXEC */, 0, 1));
    program.push_back(result(SECCOMP_RET_KILL_PROCESS));
    program.push_back(result(SECCOMP_RET_ALLOW));
  }
  program.push_back(result(SECCOMP_RET_KILL_PROCESS));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
#else
  return false;
#endif
}

}  // namespace

void limit_resources(int64_t address_space, int64_t cpu_seconds) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0);
#ifndef EDGE_INFER_SANITIZED
  if (address_space > 0) limit(RLIMIT_AS, address_space);
#else
  (void)address_space;
#endif
  limit(RLIMIT_CPU, cpu_seconds);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, 32);
}

SandboxState enter_sandbox() {
  SandboxState state;
  state.landlock = enter_landlock();
  state.seccomp = enter_seccomp();
  return state;
}

}  // namespace edge_infer
