// How a nest without gemm and attention is dealt to threads: a thread an element (or a row), or a group of
// threads a row. The plan depends on the nest alone, never on sizes that are known at run time only, so that
// the order of every sum is fixed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/codegen/cuda_target.h"
#include "compiler/loop/loop_nest.h"
#include "runtime/base/error.h"

namespace edge_infer::cuda {

// Iterations of an axis over the threads of a row: vectors of `vector` iterations, dealt in turn.
struct Spread {
  int vector = 1;
  int64_t rounds = 0;  // turns, where their number is constant and small enough to unroll; else 0
  bool whole = false;  // the last round has iterations for all threads
  friend bool operator==(const Spread&, const Spread&) = default;
};

enum class Place {
  kRegisters,  // element i belongs to the thread that iteration i is dealt to
  kPrivate,    // every thread has the whole array
  kShared,     // one array a row
};
struct LocalPlan {
  Place place = Place::kPrivate;
  int64_t elements = 0;
  int64_t offset = 0;  // bytes within the row's shared memory
  friend bool operator==(const LocalPlan&, const LocalPlan&) = default;
};

// A lane loop that begins with sums over the rows of a sequence: `parts` times `columns` threads, each a
// vector of columns and every `parts`-th block of 64 rows; the blocks' sums meet in shared memory.
struct PoolPlan {
  int vector = 1, columns = 1, parts = 1;
  int64_t offset = 0;  // bytes within the row's shared memory
  friend bool operator==(const PoolPlan&, const PoolPlan&) = default;
};

struct NestPlan {
  bool rows = false;          // groups of threads; else single threads
  int threads = 128;          // of a CTA
  int group = 1;              // threads a row: 1, 32 or `threads`
  loop::AxisId columns = -1;  // without groups: the lane axis that is dealt to threads together with the rows
  std::map<loop::AxisId, Spread> spreads;  // of lane and reduce axes that a group shares, and of `columns`
  std::map<loop::AxisId, PoolPlan> pools;  // of lane axes, for the loops over them that is_pool() begins
  std::vector<LocalPlan> locals;
  int64_t row_shared_bytes = 0;

  int rows_per_block() const { return threads / group; }
  const Spread& spread(loop::AxisId axis) const { return spreads.at(axis); }
};

// Errors: kUnsupported with the reason, short.
Result<NestPlan> plan_nest(const loop::LoopNest& nest, const CudaTarget& target);

// Registers of a thread that hold elements of locals.
int held_registers(const loop::LoopNest& nest, const NestPlan& plan);

// Whether the statement, in lanes of `around`, is the sum of floats over the rows of one sequence.
bool is_pool(const loop::LoopNest& nest, const loop::Stmt& stmt, loop::AxisId around);
// Of a reduction's axes the one that a group's threads share.
loop::AxisId shared_axis(const loop::LoopNest& nest, const loop::Reduce& reduce);
// Whether V iterations of `axis` from a multiple of V read or write V elements side by side, the first of
// them at a multiple of V. `varies` tells which symbols differ within the V, besides the axis.
bool is_vector_access(const SymInt& index, std::string_view axis, int vector,
                      const std::function<bool(std::string_view)>& varies);

}  // namespace edge_infer::cuda
