// Stands in for CUDA where a generated kernel is compiled as C++ and run on the CPU by tests: threads of a
// CTA are fibers, CTAs run one after another. Enough for kernels of plain CUDA C++ (shared memory, barriers,
// shuffles, conversions), not for tensor cores or asynchronous copies. A barrier that not all threads reach
// ends the process with a message. Fibers run in ascending or descending order, so that a missing barrier
// shows as a difference between the two.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __shared__ static  // one CTA at a time

namespace emulation {

struct Dim {
  unsigned x = 0;
};

struct Barrier {
  int arrived = 0;
  unsigned generation = 0;
};

struct Block {
  static constexpr size_t kStack = 256 * 1024;
  int threads = 0;
  bool descending = false;
  Dim block, grid;
  std::vector<ucontext_t> contexts;
  std::vector<std::unique_ptr<char[]>> stacks;
  std::vector<char> ended;
  std::vector<Barrier> warps;
  std::vector<std::vector<uint64_t>> slots;  // a shuffle's operands
  Barrier all;
  ucontext_t scheduler;
  int current = 0;
  bool moved = false;  // since the last look, some thread got past a barrier or ended
  std::vector<uint8_t> shared;
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
};
inline Block* now = nullptr;

inline Dim thread_index() {
  return {static_cast<unsigned>(now->current)};
}

inline void wait(Barrier& barrier, int members) {
  const unsigned generation = barrier.generation;
  if (++barrier.arrived == members) {
    barrier.arrived = 0;
    ++barrier.generation;
    now->moved = true;
    return;
  }
  while (barrier.generation == generation) swapcontext(&now->contexts[now->current], &now->scheduler);
  now->moved = true;
}
inline int warp_members(int warp) {
  const int left = now->threads - warp * 32;
  return left < 32 ? left : 32;
}
inline void wait_warp() {
  wait(now->warps[now->current / 32], warp_members(now->current / 32));
}

inline void run_fiber() {
  now->body(now->argument);
  now->ended[now->current] = 1;
  now->moved = true;
  swapcontext(&now->contexts[now->current], &now->scheduler);
}

// One CTA, all of its threads to their end.
inline void run_block(Block& b) {
  now = &b;
  b.contexts.resize(b.threads);
  while (static_cast<int>(b.stacks.size()) < b.threads) b.stacks.emplace_back(new char[Block::kStack]);
  b.ended.assign(b.threads, 0);
  b.warps.assign((b.threads + 31) / 32, {});
  b.slots.assign((b.threads + 31) / 32, std::vector<uint64_t>(32));
  b.all = {};
  for (int t = 0; t < b.threads; ++t) {
    getcontext(&b.contexts[t]);
    b.contexts[t].uc_stack.ss_sp = b.stacks[t].get();
    b.contexts[t].uc_stack.ss_size = Block::kStack;
    b.contexts[t].uc_link = nullptr;
    makecontext(&b.contexts[t], run_fiber, 0);
  }
  for (int left = b.threads; left > 0;) {
    b.moved = false;
    left = 0;
    for (int i = 0; i < b.threads; ++i) {
      const int t = b.descending ? b.threads - 1 - i : i;
      if (b.ended[t]) continue;
      ++left;
      b.current = t;
      swapcontext(&b.scheduler, &b.contexts[t]);
    }
    if (left > 0 && !b.moved) {
      fprintf(stderr, "emulation: %d threads wait at a barrier that others do not reach\n", left);
      abort();
    }
  }
}

template <class T>
T shuffle_xor(T x, int distance) {
  static_assert(sizeof(T) <= 8);
  std::vector<uint64_t>& slots = now->slots[now->current / 32];
  memcpy(&slots[now->current % 32], &x, sizeof(T));
  wait_warp();
  T other;
  memcpy(&other, &slots[(now->current % 32) ^ distance], sizeof(T));
  wait_warp();
  return other;
}

template <class To, class From>
To bits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  memcpy(&y, &x, sizeof(y));
  return y;
}

template <class To, class From>
To saturated(From x) {
  if (x != x) return std::numeric_limits<To>::min();  // as the instruction does for 64 bits
  if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (x >= -static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::max();
  return static_cast<To>(x);
}

inline float from_half(unsigned short h) {
  return static_cast<float>(bits<_Float16>(h));
}
inline unsigned short to_half(float x) {
  return bits<unsigned short>(static_cast<_Float16>(x));
}
inline unsigned short to_bf16(float x) {
  const uint32_t u = bits<uint32_t>(x);
  if (x != x) return static_cast<unsigned short>(0x7fff);
  return static_cast<unsigned short>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

template <class... A, size_t... I>
void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
  kernel(static_cast<A>(arguments[I])...);
}

// All CTAs of a launch. `arguments`: one pointer each.
template <class... A>
void launch(void (*kernel)(A...), void** arguments, unsigned grid, int threads, size_t shared_bytes,
            bool descending) {
  struct Call {
    void (*kernel)(A...);
    void** arguments;
  } call_data{kernel, arguments};
  Block b;
  b.threads = threads;
  b.descending = descending;
  b.grid.x = grid;
  b.shared.resize(shared_bytes + 16);
  b.argument = &call_data;
  b.body = [](void* p) {
    auto* c = static_cast<Call*>(p);
    call(c->kernel, c->arguments, std::index_sequence_for<A...>());
  };
  for (unsigned i = 0; i < grid; ++i) {
    b.block.x = descending ? grid - 1 - i : i;
    memset(b.shared.data(), 0xff, b.shared.size());  // NaN
    run_block(b);
  }
}

inline unsigned char* shared_memory() {
  return reinterpret_cast<unsigned char*>((reinterpret_cast<uintptr_t>(now->shared.data()) + 15) &
                                          ~uintptr_t{15});
}

}  // namespace emulation

#define threadIdx (emulation::thread_index())
#define blockIdx (emulation::now->block)
#define gridDim (emulation::now->grid)

inline void __syncthreads() {
  emulation::wait(emulation::now->all, emulation::now->threads);
}
inline void __syncwarp(unsigned = 0) {
  emulation::wait_warp();
}
template <class T>
T __shfl_xor_sync(unsigned, T x, int distance) {
  return emulation::shuffle_xor(x, distance);
}
inline float __uint_as_float(unsigned x) {
  return emulation::bits<float>(x);
}
inline unsigned __float_as_uint(float x) {
  return emulation::bits<unsigned>(x);
}
inline float __int_as_float(int x) {
  return emulation::bits<float>(x);
}
inline double __longlong_as_double(long long x) {
  return emulation::bits<double>(x);
}
inline int __float2int_rz(float x) {
  return emulation::saturated<int>(x);
}
inline int __double2int_rz(double x) {
  return emulation::saturated<int>(x);
}
inline long long __float2ll_rz(float x) {
  return emulation::saturated<long long>(x);
}
inline long long __double2ll_rz(double x) {
  return emulation::saturated<long long>(x);
}
inline float __double2float_rz(double x) {
  const float f = static_cast<float>(x);
  return fabs(static_cast<double>(f)) > fabs(x) ? nextafterf(f, 0.0f) : f;
}
inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
