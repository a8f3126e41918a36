// What a helper process gives up before it looks at what it was given: documents, kernel sources.
#pragma once

#include <cstdint>

namespace edge_infer {

struct SandboxState {
  bool seccomp = false;   // kill on any system call that parsing memory does not need
  bool landlock = false;  // no file system and no network
};

// At the process' start: resource limits (address space in bytes, 0 leaves it; CPU seconds; no files written,
// no core files, few descriptors), death with the parent, no new privileges, no ptrace by others.
void limit_resources(int64_t address_space, int64_t cpu_seconds);

// After everything that needs the system has been loaded: irrevocable. What the kernel lacks is left out and
// stays false in the result. Sanitizer builds keep their system calls: no seccomp there.
SandboxState enter_sandbox();

}  // namespace edge_infer
