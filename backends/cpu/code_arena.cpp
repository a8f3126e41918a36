#include "backends/cpu/code_arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace edge_infer {
namespace {

size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Result<CodeArena> CodeArena::map(std::span<const KernelBlob* const> blobs) {
  CodeArena arena;
  size_t end = 0;
  for (const KernelBlob* blob : blobs) {
    if (blob->entry >= blob->image.size())
      return fail(ErrorCode::kCorruption, "kernel code with its entry at {}, outside of its {} bytes",
                  blob->entry, blob->image.size());
    arena.places_.push_back({end, blob->image.size(), blob->entry});
    end = round_up(end + blob->image.size(), KernelBlob::kAlignment);
  }
  if (end == 0) return arena;
  const size_t bytes = round_up(end, static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return fail(ErrorCode::kResourceExhausted, "cannot map {} bytes for kernel code: {}", bytes,
                std::strerror(errno));
  arena.memory_ = static_cast<std::byte*>(memory);
  arena.bytes_ = bytes;
#if defined(__x86_64__)
  // int3 between the kernels: control flow that strays stops.
  std::memset(memory, 0xcc, bytes);
#endif
  for (size_t i = 0; i < blobs.size(); ++i)
    std::memcpy(arena.memory_ + arena.places_[i].start, blobs[i]->image.data(), blobs[i]->image.size());
  if (::mprotect(memory, bytes, PROT_READ | PROT_EXEC) != 0)
    return fail(ErrorCode::kUnsupported, "this system does not let kernel code be executed: {}",
                std::strerror(errno));
  __builtin___clear_cache(reinterpret_cast<char*>(arena.memory_),
                          reinterpret_cast<char*>(arena.memory_ + bytes));
  return arena;
}

CodeArena::CodeArena(CodeArena&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      places_(std::move(other.places_)) {}

CodeArena::~CodeArena() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

KernelFn CodeArena::function(size_t blob) const {
  return reinterpret_cast<KernelFn>(memory_ + places_[blob].start + places_[blob].entry);
}

std::span<const std::byte> CodeArena::image(size_t blob) const {
  return {memory_ + places_[blob].start, places_[blob].size};
}

}  // namespace edge_infer
