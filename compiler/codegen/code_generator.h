// CodeGenerator: a back end's compile-time half: loop nest to source text. Deterministic: equal nests (name
// aside) give equal text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/codegen/kernel_compiler.h"
#include "compiler/loop/loop_nest.h"
#include "runtime/base/error.h"

namespace edge_infer {

// One way to schedule a nest within its accumulation class: `tile=12x32;kb=0;rb=96`. Empty: the generator's
// own choice.
using Schedule = std::string;

struct GeneratedKernel {
  KernelSource source;
  int64_t row_grain = 1;  // rows are split in multiples of this
  int64_t column_grain = 1;
  bool splits_columns = false;  // LoopNest::split_columns() >= 0 and the schedule can
  double flops_per_row = 0;     // for the executor's estimate, at the hint sizes
  double bytes_per_row = 0;
};

class CodeGenerator {
 public:
  virtual ~CodeGenerator() = default;
  // KernelKey::generator: changes whenever the text for some nest does.
  virtual std::string version() const = 0;
  virtual std::string target() const = 0;    // "cpu.avx512"
  virtual std::string features() const = 0;  // KernelKey::features
  // Of Access::kPacked buffers of an element type: "nk.f32.p32"; empty where products of it are not
  // generated.
  virtual std::string packed_format(DType dtype) const = 0;
  // How products of operands of that type are summed: "f32.k1", "bf16.amx32"; empty as above.
  virtual std::string accumulation_class(DType dtype) const = 0;
  // The type of a linear's operands that is fastest on the target, among those that keep a model's quality.
  virtual DType fastest_precision() const = 0;
  // Whether generate() serves the nest; the error's message is the reason ("slot refused: ..."), short enough
  // for a record of an un-fused edge. The scheduler asks before it commits a fusion.
  virtual Status accepts(const loop::LoopNest& nest) const = 0;
  virtual Result<GeneratedKernel> generate(const loop::LoopNest& nest, const Schedule& schedule) const = 0;
  // Rows of products up to which one schedule is best, ascending; beyond the last there is one more class. A
  // program gets a form for each class. Empty: the schedule is the same for all.
  virtual std::vector<int64_t> row_classes() const { return {}; }
  // The own choice for calls of at most that many rows.
  virtual Schedule schedule_for(const loop::LoopNest& nest, int64_t rows) const {
    static_cast<void>(nest), static_cast<void>(rows);
    return {};
  }
  // At most 8, the default first, all of one accumulation class; one for nests that have no choice.
  virtual std::vector<Schedule> candidates(const loop::LoopNest& nest) const = 0;
  // The same for a row class: schedule_for() first, or what it stands for.
  virtual std::vector<Schedule> candidates_for(const loop::LoopNest& nest, int64_t rows) const {
    static_cast<void>(rows);
    return candidates(nest);
  }
};

}  // namespace edge_infer
