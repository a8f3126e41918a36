// Marks for ThreadSanitizer around hand-overs inside of oneTBB, whose library is not instrumented: what was
// written before release(p) is visible after acquire(p). Nothing in other builds.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EDGE_INFER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define EDGE_INFER_TSAN 1
#endif

#ifdef EDGE_INFER_TSAN
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace edge_infer {

inline void tsan_acquire([[maybe_unused]] void* address) {
#ifdef EDGE_INFER_TSAN
  __tsan_acquire(address);
#endif
}

inline void tsan_release([[maybe_unused]] void* address) {
#ifdef EDGE_INFER_TSAN
  __tsan_release(address);
#endif
}

}  // namespace edge_infer
