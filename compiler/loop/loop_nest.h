// LoopNest: how one fused kernel computes (reference loop_ir.md): loops, loads, stores, reductions, and the
// GEMM and attention statements. It knows no tile, lane count, thread, instruction set or back end.
//
// Text form (loop/print.h, loop/parse.h), one kernel:
//   nest @out_ln class f32.k1 symbols(T in 1..16384 hint 128)
//       (b0: in f32[T, 384], b1: packed f32[384, 384], b2: in f32[384], b3: out f32[T, 384]) {
//     for m:T work {
//       local c0: f32[384]
//       gemm %v0 over n:384, k:384 a(b0[384*m+k]) w(b1) { c0[n] = %v0 + b2[n] }
//       %v1, %v2 = reduce moments(c0[n]) over n:384
//       %v3 = rsqrt(%v2 * 0x1.5555555555555p-9 + 1e-12)
//       for n:384 lane { b3[384*m+n] = (c0[n] - %v1) * %v3 }
//     }
//   }
//
// Differences from loop_ir.md are stated in docs/adr/0003-loop-ir.md: buffers are dense, an index is one flat
// element offset (so that views need no node), GEMM and attention are statements inside the row loop, and
// what loop_ir.md calls the slots `epi` and `row` are the statement's body and the statements that follow it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/symbolic/sym_int.h"

namespace edge_infer::loop {

enum class Access { kIn, kOut, kPacked, kIndex };

// One argument of the kernel. Dense row-major; the roles that buffers have in a program are the program's
// matter. kPacked: a constant [n, k] weight in the back end's own layout, read by `gemm` alone. kIndex: i32
// or i64 numbers that address other buffers (token ids, cu_seqlens, unit lists), checked where the batch is
// made.
struct Buffer {
  Access access = Access::kIn;
  DType dtype = DType::kF32;
  std::vector<SymInt> sizes;
};

// Inside index expressions an axis, a size symbol and an integer Value ("v3") are SymInt symbols of that
// name. Names of axes and values never collide with size symbols: axes are one lower-case letter with
// optional digits chosen by the lowering, values are "v" and a number; size symbols that would collide are
// renamed by the lowering.
enum class AxisKind {
  kWork,     // independent iterations that the executor may split; the outermost loop, exactly one a nest
  kLane,     // independent, inside a row
  kSerial,   // ascending
  kReduce,   // the axis of a Reduce
  kSegment,  // as kReduce, from `begin` to `extent`: rows of one sequence, ascending in blocks of 64 from
             // begin
};
struct Axis {
  std::string name;
  AxisKind kind = AxisKind::kWork;
  SymInt begin = 0;
  SymInt extent = 1;  // one beyond the last iteration
};
using AxisId = int32_t;

enum class ScalarOp : uint8_t {
  // unary
  kNeg,
  kAbs,
  kSqrt,
  kRsqrt,
  kRcp,
  kExp,
  kExp2,
  kLog,
  kLog1p,
  kTanh,
  kErf,
  kSin,
  kCos,
  kFloor,
  kCeil,
  kRound,
  kIsNan,
  kNot,
  // binary; integer kDiv truncates as in C, kFloorDiv and kMod follow the divisor's sign (also for floats);
  // kMin and kMax propagate NaN; kAnd, kOr, kXor are bitwise for integers and logical for bool
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMin,
  kMax,
  kPow,
  kAtan2,
  kFloorDiv,
  kMod,
  kAnd,
  kOr,
  kXor,
  kShl,
  kShr,
  // compare -> bool
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
};
const char* scalar_op_name(ScalarOp op);  // "add", "rsqrt", ...

using ExprId = int32_t;
constexpr ExprId kNoExpr = -1;

// An expression node of a nest; immutable, shared within the nest (equal nodes are one node).
struct Expr {
  enum class Kind : uint8_t {
    kConst,  // number (floating dtypes) or integer (integer dtypes and bool)
    kSize,   // the integer value of `index` as `dtype`: sizes, axes as numbers (arange)
    kValue,  // result `id` of a Let, Reduce, Gemm or Attention
    kLoad,   // buffer `id` at element `index`; operands {predicate, other} where it may lie outside
    kLocal,  // local `id` at element `index`
    kUnary,
    kBinary,
    kCompare,  // op on operands; both operands of one dtype
    kSelect,   // operands {condition (bool), a, b}
    // operand 0 as `dtype`: nearest even into f16 and bf16, towards zero (saturating, NaN 0) into integers, x
    // != 0 into bool
    kCast,
  };
  Kind kind = Kind::kConst;
  DType dtype = DType::kF32;  // of the result
  ScalarOp op = ScalarOp::kAdd;
  std::array<ExprId, 3> operands{kNoExpr, kNoExpr, kNoExpr};
  int32_t id = -1;
  double number = 0;
  int64_t integer = 0;
  SymInt index = 0;
};

// What a Let, Reduce, Gemm or Attention defines, by position: value k is named "v<k>".
struct Value {
  DType dtype = DType::kF32;
};
// A row-sized array, computed once and read many times, in registers, L1 or scratch.
struct Local {
  DType dtype = DType::kF32;
  SymInt size = 1;
};

enum class ReduceOp { kSum, kProd, kMax, kMin, kAny, kAll, kArgMax, kArgMin, kMoments };
const char* reduce_op_name(ReduceOp op);  // "sum", "moments", ...

struct Stmt;
using Body = std::vector<Stmt>;

struct For {
  AxisId axis;
  Body body;
};
struct Let {
  int32_t value;
  ExprId expr;
};
struct DeclareLocal {
  int32_t local;
};
struct StoreLocal {
  int32_t local;
  SymInt index;
  ExprId expr;
};
struct Store {
  int32_t buffer;
  SymInt index;
  ExprId expr;
  ExprId predicate = kNoExpr;
};
// values = op over all iterations of `axes` (kReduce or kSegment) of expr. One value; kArgMax and kArgMin
// give the lowest index (i64) of the extreme, counted over the axes row-major; kMoments gives mean and sum of
// squared distances from it, two sweeps over held values.
struct Reduce {
  std::vector<int32_t> values;
  ReduceOp op;
  ExprId expr;
  std::vector<AxisId> axes;
};
// For each n: value = sum over ascending k of a(m, k) * w[n, k] in f32, then `body` (statements over n: Let,
// Store, StoreLocal; no Reduce). `a` is f32, f16 or bf16, as the weight; it reads at (m, k), (m), (k); m is
// the work axis. Class f32.k1: one chain of fma.
struct Gemm {
  int32_t value;
  AxisId n, k;
  ExprId a;
  int32_t weight;  // kPacked buffer [N, K]
  Body body;
};
// Block-diagonal softmax(q k^T * scale) v over packed sequences. Work axis: units x heads, flattened
// unit-major: m = unit * heads + head. q, k, v and the result are rows of `row` elements, at `offset` of
// their buffer, head h at column h * dim. A unit is {sequence, first row in it} of the kIndex buffer `units`
// [U, 2]; sequence s has rows cu[s] .. cu[s+1]. Query rows of a unit: `block_rows`, or fewer at the
// sequence's end. causal: row i sees keys 0..i.
struct Attention {
  struct View {
    int32_t buffer = -1;
    int64_t row = 0, offset = 0;
  };
  View q, k, v, out;
  int32_t cu = -1, units = -1;
  int64_t heads = 1, kv_heads = 1, dim = 1, block_rows = 32;
  double scale = 1;
  bool causal = false;
};

struct Stmt {
  std::variant<For, Let, DeclareLocal, StoreLocal, Store, Reduce, Gemm, Attention> node;
};

struct LoopNest {
  std::string name;                // for people; not part of a kernel's identity
  std::string accumulation_class;  // "f32.k1"
  std::vector<Symbol> symbols;     // that sizes and indices name; the kernel's integers, in this order
  std::vector<Buffer> buffers;     // the kernel's buffers, in this order
  std::vector<Axis> axes;
  std::vector<Expr> exprs;
  std::vector<Value> values;
  std::vector<Local> locals;
  Body body;  // one For over the work axis

  const Expr& expr(ExprId id) const { return exprs[static_cast<size_t>(id)]; }
  const Axis& axis(AxisId id) const { return axes[static_cast<size_t>(id)]; }
  // The work axis of body.
  const Axis& work() const;
  // The lane axis whose iterations the executor may split as well: the nest is nothing but `for m work { for
  // n lane { Let, Store } }` or `for m work { gemm { Let, Store } }`. -1 where rows must stay whole.
  AxisId split_columns() const;
};

// Makes nodes of `nest` with equal ones shared, constants folded where that is exact, and types checked (a
// mismatch is a defect of the caller and asserts in debug builds).
class ExprBuilder {
 public:
  explicit ExprBuilder(LoopNest& nest) : nest_(nest) {}
  ExprId number(double value, DType dtype = DType::kF32);  // floating dtypes
  ExprId integer(int64_t value, DType dtype);              // integer dtypes and bool
  ExprId size(SymInt value, DType dtype);
  ExprId value(int32_t id);
  ExprId load(int32_t buffer, SymInt index, ExprId predicate = kNoExpr, ExprId other = kNoExpr);
  ExprId local(int32_t id, SymInt index);
  ExprId unary(ScalarOp op, ExprId a);
  ExprId binary(ScalarOp op, ExprId a, ExprId b);  // also compares
  ExprId select(ExprId condition, ExprId a, ExprId b);
  ExprId cast(ExprId a, DType dtype);
  // `expr` as it is, shared but neither folded nor checked (the parser's way in).
  ExprId node(Expr expr);
  DType dtype(ExprId e) const { return nest_.expr(e).dtype; }

 private:
  LoopNest& nest_;
  std::unordered_multimap<size_t, ExprId> known_;  // by hash
  size_t indexed_ = 0;                             // nodes of the nest that known_ holds
};

}  // namespace edge_infer::loop
