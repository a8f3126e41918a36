// Runs a CTA of a translated CUDA kernel (emulated_kernel.cpp) on one thread of the host: its threads are
// fibers, its inline PTX is interpreted. What is asynchronous on a GPU happens here as late (products,
// cp.async) or as early (bulk copies) as the program allows, so that a missing wait gives a wrong result.
// Included by the translated source alone.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct uint4 {
  unsigned x, y, z, w;
};
struct float2 {
  float x, y;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

namespace emulation {

struct Index {
  unsigned x;
};
constexpr uint32_t kBase = 16;   // the window's first byte is no multiple of 1024
inline char window[240 * 1024];  // shared memory

struct Map {  // what a TMap holds
  const char* base;
  uint64_t rows, columns, box_rows, box_columns;  // elements of 2 bytes
};

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Index thread{};
  bool done = false;
  std::vector<std::vector<std::function<void()>>> copies{{}};    // cp.async groups, the last one open
  std::vector<std::vector<std::function<void()>>> products{{}};  // wgmma groups
  size_t committed = 0, completed = 0;                           // of those groups
  std::vector<std::vector<std::function<void()>>> stores{{}};    // bulk store groups
};
struct Warp {  // of 32 fibers: what they hand each other
  uint64_t words[32][8];
  int arrived = 0;
  uint64_t generation = 0;
};
struct Barrier {  // mbarrier
  int64_t expected = 0, pending = 0, bytes = 0;
  uint32_t phase = 0;
  std::vector<std::function<void()>> copies;  // that are under way
};
struct Named {
  int arrived = 0;
  uint64_t generation = 0;
};

inline std::vector<Fiber> fibers;
inline std::vector<Warp> warps;
inline std::vector<Barrier> barriers;  // by address / 8
inline Named named[16];
inline Index block, grid;
inline ucontext_t scheduler;
inline Fiber* current = nullptr;
inline int idle = 0;  // switches since something happened

[[noreturn]] inline void defect(const std::string& what) {
  std::fprintf(stderr, "emulation: %s (thread %u, block %u)\n", what.c_str(), current ? current->thread.x : 0,
               block.x);
  std::abort();
}
inline void yield() {
  if (++idle > 50 * static_cast<int>(fibers.size())) defect("deadlock");
  swapcontext(&current->context, &scheduler);
}
inline char* shared(uint64_t address) {
  if (address < kBase || address >= kBase + sizeof(window)) defect("an address outside of shared memory");
  return window + (address - kBase);
}
template <typename T>
T read(uint64_t address) {
  T x;
  std::memcpy(&x, shared(address), sizeof(T));
  return x;
}
template <typename T>
void write(uint64_t address, T x) {
  std::memcpy(shared(address), &x, sizeof(T));
}

// All 32 lanes meet; each has stored its words.
inline Warp& warp() {
  return warps[current->thread.x / 32];
}
inline unsigned lane() {
  return current->thread.x % 32;
}
inline void meet() {
  Warp& w = warp();
  const uint64_t generation = w.generation;
  idle = 0;
  if (++w.arrived == 32) {
    w.arrived = 0;
    ++w.generation;
  }
  while (w.generation == generation) yield();
}
inline void arrive(int id, int count, bool wait) {
  Named& barrier = named[id];
  const uint64_t generation = barrier.generation;
  idle = 0;
  if (++barrier.arrived == count) {
    barrier.arrived = 0;
    ++barrier.generation;
  }
  while (wait && barrier.generation == generation) yield();
}

inline float from_f16(uint16_t h) {
  _Float16 x;
  std::memcpy(&x, &h, 2);
  return static_cast<float>(x);
}
inline uint16_t to_f16(float x) {
  const auto h = static_cast<_Float16>(x);
  uint16_t bits;
  std::memcpy(&bits, &h, 2);
  return bits;
}
inline float from_bf16(uint16_t h) {
  const uint32_t bits = uint32_t{h} << 16;
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
inline uint16_t to_bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  if (x != x) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// An operand of an asm statement: its variable, or a copy of its value.
struct Operand {
  void* at;
  uint64_t value;
  uint32_t u() const { return static_cast<uint32_t>(value); }
  uint64_t now32() const {
    uint32_t x;
    std::memcpy(&x, at, 4);
    return x;
  }
  template <typename T>
  void set(T x) const {
    std::memcpy(at, &x, sizeof(T));
  }
};
template <typename T>
Operand operand(T&& x) {
  Operand o{const_cast<void*>(static_cast<const void*>(&x)), 0};
  std::memcpy(&o.value, &x, sizeof(x) < 8 ? sizeof(x) : 8);
  return o;
}
inline float as_float(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  float x;
  std::memcpy(&x, &low, 4);
  return x;
}
inline uint32_t as_bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

inline void flip(Barrier& b) {
  if (b.pending == 0 && b.bytes == 0) {
    b.pending = b.expected;
    b.phase ^= 1;
  }
}
inline void run(std::vector<std::vector<std::function<void()>>>& groups, size_t keep) {
  while (groups.size() > keep + 1) {  // the last is open
    for (const auto& action : groups.front()) action();
    groups.erase(groups.begin());
  }
}
// The warps of a warpgroup multiply together: what one of them has waited for is complete for all.
inline void wait_products(size_t keep) {
  const size_t target = current->committed - std::min(keep, current->committed);
  const size_t first = current->thread.x / 128 * 128;
  for (size_t i = first; i < std::min(first + 128, fibers.size()); ++i)
    while (fibers[i].committed < target) yield();
  for (size_t i = first; i < std::min(first + 128, fibers.size()); ++i)
    for (Fiber& f = fibers[i]; f.completed < target; ++f.completed) {
      for (const auto& action : f.products.front()) action();
      f.products.erase(f.products.begin());
    }
}
// An operand in shared memory: rows of 128 or 64 bytes, swizzled, in groups of eight.
struct Tile {
  uint64_t start, chunk, group, row;
  explicit Tile(uint64_t descriptor)
      : start((descriptor & 0x3fff) << 4),
        chunk(((descriptor >> 16) & 0x3fff) << 4),
        group(((descriptor >> 32) & 0x3fff) << 4),
        row(descriptor >> 62 == 1 ? 128 : 64) {
    if (descriptor >> 62 != 1 && descriptor >> 62 != 2) defect("a descriptor without swizzle");
  }
  uint16_t at(uint64_t address) const {
    address ^= row == 128 ? (address >> 7 & 7) << 4 : (address >> 7 & 3) << 4;
    return read<uint16_t>(address);
  }
  // Element (line, k): lines are rows, k lies along them.
  uint16_t k_major(unsigned line, unsigned k) const {
    return at(start + line / 8 * group + line % 8 * row + k * 2);
  }
  // Element (line, k): k counts rows; lines lie along them, the next ones in the next chunk.
  uint16_t line_major(unsigned line, unsigned k) const {
    const auto width = static_cast<unsigned>(row / 2);
    return at(start + line / width * chunk + k / 8 * group + k % 8 * row + line % width * 2);
  }
};

inline void matrices(const std::vector<Operand>& x, bool store, bool transposed) {
  Warp& w = warp();
  w.words[lane()][0] = x[store ? 0 : 4].value;
  if (store)
    for (size_t i = 0; i < 4; ++i) w.words[lane()][1 + i] = x[1 + i].value;
  meet();
  uint32_t loaded[4];
  for (unsigned i = 0; i < 4; ++i) {
    if (store) {  // this lane's row of matrix lane / 8: 8 elements of 4 lanes
      if (lane() / 8 != i) continue;
      for (unsigned j = 0; j < 4; ++j)
        write<uint32_t>(x[0].value + j * 4, static_cast<uint32_t>(w.words[lane() % 8 * 4 + j][1 + i]));
    } else {
      if (!transposed) {
        loaded[i] = read<uint32_t>(w.words[i * 8 + lane() / 4][0] + lane() % 4 * 4);
        continue;
      }
      const auto element = [&](unsigned row) {
        return uint32_t{read<uint16_t>(w.words[i * 8 + row][0] + lane() / 4 * 2)};
      };
      loaded[i] = element(lane() % 4 * 2) | element(lane() % 4 * 2 + 1) << 16;
    }
  }
  meet();
  if (!store)
    for (size_t i = 0; i < 4; ++i) x[i].set(loaded[i]);
}

inline void mma(const std::vector<Operand>& x, bool f16) {
  Warp& w = warp();
  for (size_t i = 0; i < 6; ++i) w.words[lane()][i] = x[4 + i].value;
  meet();
  const auto element = [&](uint64_t word, unsigned half) {
    const auto bits = static_cast<uint16_t>(word >> (16 * half));
    return f16 ? from_f16(bits) : from_bf16(bits);
  };
  float sums[4];
  for (unsigned e = 0; e < 4; ++e) {
    const unsigned row = lane() / 4 + e / 2 * 8, column = lane() % 4 * 2 + e % 2;
    float sum = as_float(x[e].value);
    for (unsigned k = 0; k < 16; ++k) {
      const float a = element(w.words[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2], k % 2);
      const float b = element(w.words[column * 4 + k % 8 / 2][4 + k / 8], k % 2);
      sum += a * b;
    }
    sums[e] = sum;
  }
  meet();
  for (size_t e = 0; e < 4; ++e) x[e].set(sums[e]);
}

// Operands: sums, then A (a descriptor or four registers), the descriptor of B, and whether to add.
inline void wgmma(const std::vector<Operand>& x, unsigned columns, bool f16, bool transposed) {
  const size_t sums = columns / 2;
  const bool in_registers = x.size() >= sums + 5;
  const size_t b_at = sums + (in_registers ? 4 : 1);
  const bool add = b_at + 1 >= x.size() || x[b_at + 1].u() != 0;
  const unsigned row = current->thread.x % 128 / 32 * 16 + lane() / 4, quad = lane() % 4;
  const auto number = [f16](uint16_t bits) { return f16 ? from_f16(bits) : from_bf16(bits); };
  std::vector<float> a(32);  // this thread's two rows, when they lie in registers
  if (in_registers) {
    Warp& w = warp();
    for (size_t i = 0; i < 4; ++i) w.words[lane()][i] = x[sums + i].value;
    meet();
    for (unsigned r = 0; r < 2; ++r)
      for (unsigned k = 0; k < 16; ++k)
        a[r * 16 + k] = number(
            static_cast<uint16_t>(w.words[lane() / 4 * 4 + k % 8 / 2][r + k / 8 * 2] >> (16 * (k % 2))));
    meet();
  }
  const uint64_t a_descriptor = x[sums].value;
  const Tile b(x[b_at].value);
  current->products.back().push_back([=] {
    for (size_t i = 0; i < sums; ++i) {
      const auto half = static_cast<unsigned>(i / 2 % 2);
      const auto c = static_cast<unsigned>(i / 4 * 8 + quad * 2 + i % 2);
      float sum = add ? as_float(x[i].now32()) : 0;
      for (unsigned k = 0; k < 16; ++k)
        sum += (in_registers ? a[half * 16 + k] : number(Tile(a_descriptor).k_major(row + half * 8, k))) *
               number(transposed ? b.line_major(c, k) : b.k_major(c, k));
      x[i].set(sum);
    }
  });
}

// As late as it may be, when its barrier is waited for, in every second CTA; in the others at once: neither
// what is read before it came nor what it overwrites too early stays unseen.
inline void bulk_copy(const std::vector<Operand>& x) {
  Map map;
  std::memcpy(&map, reinterpret_cast<const void*>(x[1].value), sizeof(map));
  const uint64_t to = x[0].value;
  const size_t number = x[2].value / 8;
  const auto column0 = static_cast<int32_t>(x[3].u()), row0 = static_cast<int32_t>(x[4].u());
  if (to % 1024 != 0) defect("a swizzled box at no multiple of 1024");
  if (map.box_columns != 64 && map.box_columns != 32) defect("a box of other than 128 or 64 bytes a row");
  const auto copy = [=] {
    for (uint64_t r = 0; r < map.box_rows; ++r)
      for (uint64_t c = 0; c < map.box_columns; ++c) {
        const uint64_t row = static_cast<uint64_t>(row0) + r, column = static_cast<uint64_t>(column0) + c;
        uint16_t value = 0;
        if (row < map.rows && column < map.columns)
          std::memcpy(&value, map.base + (row * map.columns + column) * 2, 2);
        uint64_t address = to + r * map.box_columns * 2 + c * 2;
        address ^= map.box_columns == 64 ? (address >> 7 & 7) << 4 : (address >> 7 & 3) << 4;
        write(address, value);
      }
    Barrier& barrier = barriers[number];
    barrier.bytes -= static_cast<int64_t>(map.box_rows * map.box_columns * 2);
    flip(barrier);
    idle = 0;
  };
  if (block.x % 2 == 0) return copy();
  barriers[number].copies.push_back(copy);
}
inline void finish_copies(size_t barrier) {
  const std::vector<std::function<void()>> copies = std::exchange(barriers[barrier].copies, {});
  for (const auto& copy : copies) copy();
}

// Out of shared memory, which is read as late as it may be: when the group is waited for.
inline void bulk_store(const std::vector<Operand>& x) {
  Map map;
  std::memcpy(&map, reinterpret_cast<const void*>(x[0].value), sizeof(map));
  const uint64_t from = x[1].value;
  const auto column0 = static_cast<int32_t>(x[2].u()), row0 = static_cast<int32_t>(x[3].u());
  if (from % 1024 != 0 || map.box_columns != 64)
    defect("a bulk store of other than swizzled rows of 128 bytes");
  current->stores.back().push_back([=] {
    for (uint64_t r = 0; r < map.box_rows; ++r)
      for (uint64_t c = 0; c < map.box_columns; ++c) {
        const uint64_t row = static_cast<uint64_t>(row0) + r, column = static_cast<uint64_t>(column0) + c;
        uint64_t address = from + r * map.box_columns * 2 + c * 2;
        address ^= (address >> 7 & 7) << 4;
        const auto value = read<uint16_t>(address);
        if (row < map.rows && column < map.columns)
          std::memcpy(const_cast<char*>(map.base) + (row * map.columns + column) * 2, &value, 2);
      }
  });
}

inline void ptx(std::string_view code, const std::vector<Operand>& x) {
  const auto is = [&](std::string_view start) { return code.starts_with(start); };
  const auto has = [&](std::string_view part) { return code.find(part) != std::string_view::npos; };
  if (code.empty() || is("griddepcontrol") || is("setmaxnreg") || is("fence") || is("wgmma.fence") ||
      is("prefetch"))
    return;
  if (is("ldmatrix")) return matrices(x, false, has(".trans"));
  if (is("stmatrix")) return matrices(x, true, false);
  if (is("mma.sync")) return mma(x, has("f16.f16"));
  if (has("wgmma.mma_async")) {
    const size_t n = code.find(".m64n") + 5;
    return wgmma(x, static_cast<unsigned>(std::atoi(code.data() + n)), has("f32.f16"), has("q, 1, 1, 1;}"));
  }
  if (is("wgmma.commit_group")) {
    ++current->committed;
    idle = 0;
    return current->products.emplace_back(), void();
  }
  if (is("wgmma.wait_group"))
    return wait_products(x.empty() ? static_cast<size_t>(code[code.find("aligned ") + 8] - '0') : x[0].u());
  if (is("cp.async.cg")) {
    const uint64_t to = x[0].value, from = x[1].value, bytes = x[2].u();
    if (from % 16 != 0 || to % 16 != 0) defect("cp.async off 16 bytes");
    current->copies.back().push_back([=] {
      std::memset(shared(to), 0, 16);
      std::memcpy(shared(to), reinterpret_cast<const void*>(from), bytes);
    });
    return;
  }
  if (is("cp.async.commit_group")) return current->copies.emplace_back(), void();
  if (is("cp.async.wait_group"))
    return run(current->copies, x.empty() ? static_cast<size_t>(code[code.find(' ') + 1] - '0') : x[0].u());
  if (is("cp.async.bulk.tensor")) return has(".global.shared") ? bulk_store(x) : bulk_copy(x);
  if (is("cp.async.bulk.commit_group")) return current->stores.emplace_back(), void();
  if (is("cp.async.bulk.wait_group"))
    return run(current->stores,
               x.empty() ? static_cast<size_t>(code[code.find("group ") + 6] - '0') : x[0].u());
  if (is("mbarrier.init")) {
    barriers[x[0].value / 8] = {.expected = x[1].u(), .pending = x[1].u()};
    return;
  }
  if (is("mbarrier.arrive")) {
    Barrier& barrier = barriers[x[0].value / 8];
    if (has("expect_tx")) barrier.bytes += x[1].u();
    if (--barrier.pending < 0) defect("too many arrivals");
    flip(barrier);
    idle = 0;
    return;
  }
  if (has("mbarrier.try_wait")) {
    while (finish_copies(x[0].value / 8), barriers[x[0].value / 8].phase == x[1].u()) yield();
    return;
  }
  if (is("bar.")) {
    const size_t number = code.find(' ') + 1;
    const int id = code[number] == '%' ? static_cast<int>(x[0].u()) : std::atoi(code.data() + number);
    return arrive(id, std::atoi(code.data() + code.find(',') + 1), is("bar.sync"));
  }
  if (is("ld.shared.v4")) {
    for (unsigned i = 0; i < 4; ++i) x[i].set(read<uint32_t>(x[4].value + i * 4));
    return;
  }
  if (is("st.shared.v4")) {
    for (unsigned i = 0; i < 4; ++i) write(x[0].value + i * 4, x[1 + i].u());
    return;
  }
  if (is("ld.shared.v2.f32")) {
    x[0].set(read<uint32_t>(x[2].value));
    return x[1].set(read<uint32_t>(x[2].value + 4));
  }
  if (is("ld.shared.f32")) return x[0].set(read<uint32_t>(x[1].value));
  if (is("st.shared.f32") || is("st.shared.u32")) return write(x[0].value, x[1].u());
  if (is("st.shared.u16")) return write(x[0].value, static_cast<uint16_t>(x[1].u()));
  if (is("st.global.v4")) {
    if (x[0].value % 16 != 0) defect("st.global.v4 off 16 bytes");
    for (unsigned i = 0; i < 4; ++i)
      std::memcpy(reinterpret_cast<char*>(x[0].value) + i * 4, &x[1 + i].value, 4);
    return;
  }
  if (is("mov.u32 %0, %%clock_hi")) return x[0].set(uint32_t{12345});
  if (is("xor.b32")) return x[0].set(x[1].u() ^ x[2].u());
  if (is("ex2.approx")) return x[0].set(std::exp2(as_float(x[1].value)));
  if (is("rcp.approx")) return x[0].set(1 / as_float(x[1].value));
  if (is("cvt.rn.f16x2") || is("cvt.rn.bf16x2")) {
    const auto half = [&](const Operand& o) {
      return uint32_t{has("bf16") ? to_bf16(as_float(o.value)) : to_f16(as_float(o.value))};
    };
    return x[0].set(half(x[1]) << 16 | half(x[2]));
  }
  if (is("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16")) {
    x[0].set(from_f16(static_cast<uint16_t>(x[2].u())));
    return x[1].set(from_f16(static_cast<uint16_t>(x[2].u() >> 16)));
  }
  if (is("cvt.f32.f16")) return x[0].set(from_f16(static_cast<uint16_t>(x[1].u())));
  if (is("cvt.rn.f16.f32")) return x[0].set(to_f16(as_float(x[1].value)));
  if (is("cvt.rn.bf16.f32")) return x[0].set(to_bf16(as_float(x[1].value)));
  defect("PTX without a meaning here: " + std::string(code.substr(0, 60)));
}

// Runs `kernel` with all CTAs of the grid one after another.
inline std::function<void()> body;
inline void start() {
  body();
  if (current->stores.size() > 1) defect("bulk stores that nobody waits for");
  current->done = true;
  idle = 0;
  swapcontext(&current->context, &scheduler);
}
inline void launch(unsigned blocks, unsigned threads, const std::function<void()>& kernel) {
  body = kernel;
  grid.x = blocks;
  for (block.x = 0; block.x < blocks; ++block.x) {
    std::memset(window, 0xff, sizeof(window));
    fibers = std::vector<Fiber>(threads);
    warps.assign((threads + 31) / 32, Warp{});
    barriers.assign((sizeof(window) + kBase) / 8 + 1, Barrier{});
    for (Named& n : named) n = {};
    constexpr size_t kStack = 256 * 1024;
    for (unsigned i = 0; i < threads; ++i) {
      Fiber& f = fibers[i];
      f.thread.x = i;
      f.stack = std::make_unique<char[]>(kStack);
      getcontext(&f.context);
      f.context.uc_stack.ss_sp = f.stack.get();
      f.context.uc_stack.ss_size = kStack;
      f.context.uc_link = &scheduler;
      makecontext(&f.context, start, 0);
    }
    idle = 0;
    // Warps in an order that changes from round to round.
    for (unsigned live = threads, round = 0; live > 0; ++round) {
      live = 0;
      for (unsigned i = 0; i < threads; ++i) {
        Fiber& f = fibers[(i + round % 5 * 32) % threads];
        if (f.done) continue;
        ++live;
        current = &f;
        swapcontext(&scheduler, &f.context);
      }
    }
  }
}

}  // namespace emulation

#define threadIdx (emulation::current->thread)
#define blockIdx (emulation::block)
#define gridDim (emulation::grid)
#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__
#define __CUDA_ARCH__ 900
#define __syncwarp() emulation::meet()
#define __syncthreads() emulation::arrive(0, static_cast<int>(emulation::fibers.size()), true)
#define __cvta_generic_to_shared(p) (emulation::kBase)
#define __align__(n) __attribute__((aligned(n)))
template <typename T>
T __shfl_xor_sync(unsigned, T x, int distance) {
  emulation::Warp& w = emulation::warp();
  std::memcpy(&w.words[emulation::lane()][0], &x, sizeof(T));
  emulation::meet();
  T other;
  std::memcpy(&other, &w.words[emulation::lane() ^ static_cast<unsigned>(distance)][0], sizeof(T));
  emulation::meet();
  return other;
}
inline int __any_sync(unsigned, int predicate) {
  emulation::Warp& w = emulation::warp();
  w.words[emulation::lane()][0] = predicate != 0;
  emulation::meet();
  uint64_t any = 0;
  for (auto& words : w.words) any |= words[0];
  emulation::meet();
  return static_cast<int>(any);
}
inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline float __int_as_float(int x) {
  return emulation::as_float(static_cast<unsigned>(x));
}
template <typename T>
T min(T a, T b) {
  return a < b ? a : b;
}
template <typename T>
T max(T a, T b) {
  return a > b ? a : b;
}
inline float __uint_as_float(unsigned x) {
  return emulation::as_float(x);
}
