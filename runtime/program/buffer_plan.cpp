#include "runtime/program/buffer_plan.h"

#include <algorithm>

namespace edge_infer {
namespace {

struct Lifetime {
  int32_t first = -1, last = -1;  // phases, inclusive
};

std::vector<Lifetime> lifetimes(const Program& program) {
  std::vector<Lifetime> result(program.buffers.size());
  for (size_t p = 0; p < program.phases.size(); ++p)
    for (const Call& call : program.phases[p].calls)
      for (const int32_t b : call.buffers) {
        if (b < 0) continue;
        Lifetime& life = result[static_cast<size_t>(b)];
        if (life.first < 0) life.first = static_cast<int32_t>(p);
        life.last = static_cast<int32_t>(p);
      }
  return result;
}

struct Slot {
  int32_t free_from;  // first phase in which it may be reused
  SymInt bytes;
  int64_t hint;
};

}  // namespace

SymInt buffer_bytes(const BufferDecl& buffer) {
  SymInt bytes = dtype_size(buffer.dtype);
  for (const SymInt& size : buffer.sizes) bytes = bytes * size;
  return bytes;
}

void plan_buffers(Program& program) {
  const std::vector<Lifetime> lives = lifetimes(program);
  std::map<std::string, int64_t, std::less<>> hints;
  for (const Symbol& s : program.symbols) hints[s.name] = s.hint;

  std::vector<int32_t> order;
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    program.buffers[b].slot = -1;
    if (program.buffers[b].role == BufferRole::kTemp && lives[b].first >= 0)
      order.push_back(static_cast<int32_t>(b));
  }
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return lives[static_cast<size_t>(a)].first < lives[static_cast<size_t>(b)].first;
  });

  std::vector<Slot> slots;
  for (const int32_t b : order) {
    BufferDecl& buffer = program.buffers[static_cast<size_t>(b)];
    const Lifetime& life = lives[static_cast<size_t>(b)];
    const SymInt bytes = ceildiv(buffer_bytes(buffer), 64) * 64;
    const int64_t hint = bytes.evaluate(hints).value_or(0);
    // Best fit at the hint sizes: the free slot whose size is nearest, so that one large temp does not grow a
    // small slot while a large one stands empty.
    int32_t best = -1;
    for (size_t s = 0; s < slots.size(); ++s) {
      if (slots[s].free_from > life.first) continue;
      const auto distance = [&](const Slot& slot) { return std::abs(slot.hint - hint); };
      if (best < 0 || distance(slots[s]) < distance(slots[static_cast<size_t>(best)]))
        best = static_cast<int32_t>(s);
    }
    if (best < 0) {
      best = static_cast<int32_t>(slots.size());
      slots.push_back({0, bytes, hint});
    }
    Slot& slot = slots[static_cast<size_t>(best)];
    if (!(slot.bytes == bytes)) slot.bytes = max(slot.bytes, bytes);
    slot.hint = std::max(slot.hint, hint);
    slot.free_from = life.last + 1;
    buffer.slot = best;
  }
  program.slots.clear();
  for (const Slot& slot : slots) program.slots.push_back(slot.bytes);
}

}  // namespace edge_infer
