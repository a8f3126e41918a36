// Reductions as C. Out of lanes the last axis runs in sixteen lanes, which are folded by halves at the end;
// inside of lanes each lane reduces for itself, floating sums and products in sixteen partial results, so
// that both orders are one: iteration i goes to partial i mod 16. Segments are summed in blocks of 64
// iterations from their first.
#include <algorithm>

#include "backends/cpu/codegen/kernel_printer.h"

namespace edge_infer::cpu_codegen {

using loop::AxisId;
using loop::AxisKind;
using loop::Reduce;
using loop::ReduceOp;

namespace {

constexpr int64_t kSegmentBlock = 64;

std::string identity(ReduceOp op, DType dtype) {
  return codegen::identity_literal(op, dtype, kLiterals);
}

std::string combined(ReduceOp op, Lane lane, const std::string& a, const std::string& b) {
  switch (op) {
    case ReduceOp::kProd:
      return fmt::format("{} * {}", a, b);
    case ReduceOp::kMax:
    case ReduceOp::kMin:
      if (lane == Lane::kBool) return fmt::format("{} {} {}", a, op == ReduceOp::kMax ? "|" : "&", b);
      return fmt::format("{}_{}({}, {})", op == ReduceOp::kMax ? "max" : "min", lane_name(lane), a, b);
    case ReduceOp::kAny:
      return fmt::format("{} | {}", a, b);
    case ReduceOp::kAll:
      return fmt::format("{} & {}", a, b);
    default:
      return fmt::format("{} + {}", a, b);
  }
}

std::string fold_name(ReduceOp op, Lane lane) {
  if (lane == Lane::kBool) return op == ReduceOp::kMax || op == ReduceOp::kAny ? "fold_any" : "fold_all";
  return fmt::format("fold_{}_{}", loop::reduce_op_name(op), lane_name(lane));
}

}  // namespace

void KernelPrinter::reduce_loops(std::span<const AxisId> axes, const std::function<void()>& inner) {
  if (axes.empty()) {
    inner();
    return;
  }
  const AxisId axis = axes.front();
  const Range range = range_of(axis);
  if (axes.size() == 1 && !lanes_) {
    lane_loop(axis, range, inner);
    return;
  }
  out_.open("for (int64_t {0} = {1}; {0} < {2}; ++{0})", axis_name(axis), range.begin, range.end);
  reduce_loops(axes.subspan(1), inner);
  out_.close();
}

std::string KernelPrinter::count_of(const Reduce& reduce) const {
  SymInt count = 1;
  for (const AxisId axis : reduce.axes) count = count * (nest_.axis(axis).extent - nest_.axis(axis).begin);
  return index_.operand(count);
}

std::string KernelPrinter::accumulate(const Reduce& reduce, ReduceOp op, Lane lane,
                                      const std::function<Text(const std::string&)>& step) {
  const bool in_lanes = lanes_.has_value();
  const bool ordered = is_float(lane) && (op == ReduceOp::kSum || op == ReduceOp::kProd);
  const auto segment = std::ranges::find_if(
      reduce.axes, [&](AxisId axis) { return nest_.axis(axis).kind == AxisKind::kSegment; });
  const bool blocks = ordered && segment != reduce.axes.end();
  const DType dtype = nest_.values[static_cast<size_t>(reduce.values.front())].dtype;
  const DType element =
      op == ReduceOp::kSum && reduce.op == ReduceOp::kMoments ? nest_.expr(reduce.expr).dtype : dtype;
  const std::string_view type = vector_type(lane);
  const std::string start = fmt::format("splat_{}({})", lane_name(lane), identity(op, element));

  const std::string total = fresh("a");
  std::string partial = total;
  std::string counter;
  const bool partials = ordered && in_lanes && !blocks;
  if (partials) {
    counter = fresh("e");
    out_.line("{} {}[16];", type, total);
    out_.line("for (int l = 0; l < 16; ++l) {}[l] = {};", total, start);
    out_.line("int64_t {} = 0;", counter);
    partial = fmt::format("{}[{} & 15]", total, counter);
  } else {
    out_.line("{} {} = {};", type, total, start);
  }
  const auto inner = [&] {
    const Text next = step(partial);
    // Lanes beyond the last iteration hold garbage.
    if (!in_lanes && !lanes_->whole)
      out_.line("{} = select_{}(below(lanes), {}, {});", partial, lane_name(lane), next.code, partial);
    else
      out_.line("{} = {};", partial, next.code);
    if (partials) out_.line("++{};", counter);
  };
  if (blocks) {
    const AxisId axis = *segment;
    const Range whole = range_of(axis);
    const std::string first = fresh("block"), end = fresh("end");
    out_.open("for (int64_t {0} = {1}; {0} < {2}; {0} += {3})", first, whole.begin, whole.end, kSegmentBlock);
    out_.line("const int64_t {} = min1_i64({} + {}, {});", end, first, kSegmentBlock, whole.end);
    partial = fresh("a");
    out_.line("{} {} = {};", type, partial, start);
    bounds_[axis] = {.begin = first, .end = end, .extent = {}, .aligned = false};
    reduce_loops(reduce.axes, inner);
    bounds_.erase(axis);
    out_.line("{} = {};", total, combined(op, lane, total, partial));
    out_.close();
  } else {
    reduce_loops(reduce.axes, inner);
  }
  if (partials) {
    out_.line("for (int h = 8; h > 0; h >>= 1)");
    out_.line("  for (int l = 0; l < h; ++l) {0}[l] = {1};", total,
              combined(op, lane, total + "[l]", total + "[l + h]"));
    return total + "[0]";
  }
  return in_lanes ? total : fmt::format("{}({})", fold_name(op, lane), total);
}

void KernelPrinter::print(const Reduce& reduce) {
  if (reduce.op == ReduceOp::kArgMax || reduce.op == ReduceOp::kArgMin) return print_extreme_index(reduce);
  if (reduce.op == ReduceOp::kMoments) return print_moments(reduce);
  const DType dtype = nest_.values[static_cast<size_t>(reduce.values.front())].dtype;
  const Lane lane = lane_of(dtype);
  const bool vector = lanes_.has_value();
  std::string result = accumulate(reduce, reduce.op, lane, [&](const std::string& accumulator) -> Text {
    const loop::Expr& e = nest_.expr(reduce.expr);
    const bool product = reduce.op == ReduceOp::kSum && is_float(lane) &&
                         e.kind == loop::Expr::Kind::kBinary && e.op == loop::ScalarOp::kMul;
    begin_statement({reduce.expr});
    if (product) {
      const Text a = emit(e.operands[0]), b = emit(e.operands[1]);
      return {.code = fmt::format("fma_{}({}, {}, {})", lane_name(lane), as_vector(a, lane),
                                  as_vector(b, lane), accumulator),
              .vector = true};
    }
    const Text x = emit(reduce.expr);
    const Text operand{.code = as_vector(x, lane), .vector = true, .atomic = x.atomic || !x.vector};
    return {.code = combined(reduce.op, lane, accumulator, as_operand(operand)), .vector = true};
  });
  const std::string_view narrow = dtype_name(dtype);
  if (lane == Lane::kI32 && dtype != DType::kI32 &&
      (reduce.op == ReduceOp::kSum || reduce.op == ReduceOp::kProd))
    result = vector ? fmt::format("wrap_{}({})", narrow, result)
                    : fmt::format("first_i32(wrap_{}(splat_i32({})))", narrow, result);
  define(reduce.values.front(), result, vector);
}

void KernelPrinter::print_extreme_index(const Reduce& reduce) {
  const bool in_lanes = lanes_.has_value();
  const DType dtype = nest_.expr(reduce.expr).dtype;
  const std::string_view name = loop::reduce_op_name(reduce.op);
  // bool is compared as integers.
  const Lane lane = lane_of(dtype) == Lane::kBool ? Lane::kI32 : lane_of(dtype);
  const std::string best = fresh("a"), index = fresh("a");
  out_.line("{} {} = splat_{}(0);", vector_type(lane), best, lane_name(lane));
  out_.line("i64x16 {} = splat_i64(-1);", index);
  // Iterations counted over the axes row-major.
  std::string count;
  for (const AxisId axis : reduce.axes) {
    const loop::Axis& a = nest_.axis(axis);
    const std::string at = a.begin.constant() == 0
                               ? axis_name(axis)
                               : fmt::format("({} - {})", axis_name(axis), index_.operand(a.begin));
    count = count.empty() ? at : fmt::format("({}) * {} + {}", count, index_.operand(a.extent - a.begin), at);
  }
  reduce_loops(reduce.axes, [&] {
    begin_statement({reduce.expr});
    const Text raw = emit(reduce.expr);
    const Text cast_value = lane_of(dtype) == Lane::kBool ? cast(raw, DType::kBool, DType::kI32) : raw;
    const Text x = named({.code = as_vector(cast_value, lane), .vector = true, .atomic = false}, lane);
    std::string better = fmt::format("narrow_mask({} < splat_i64(0)) | better_{}_{}({}, {})", index, name,
                                     lane_name(lane), x.code, best);
    if (!in_lanes && !lanes_->whole) better = fmt::format("below(lanes) & ({})", better);
    const Text take = named({.code = better, .vector = true, .atomic = false}, Lane::kBool);
    out_.line("{0} = select_{1}({2}, {3}, {0});", best, lane_name(lane), take.code, x.code);
    out_.line("{0} = select_i64({1}, splat_i64({2}){3}, {0});", index, take.code, count,
              in_lanes ? "" : " + iota_i64()");
  });
  const std::string result = in_lanes ? fmt::format("max_i64({}, splat_i64(0))", index)
                                      : fmt::format("fold_{}_{}({}, {})", name, lane_name(lane), best, index);
  define(reduce.values.front(), result, in_lanes);
}

// Two sweeps: the mean, then the squared distances from it.
void KernelPrinter::print_moments(const Reduce& reduce) {
  const bool in_lanes = lanes_.has_value();
  const Lane lane = lane_of(nest_.expr(reduce.expr).dtype);
  const std::string_view suffix = lane_name(lane);
  const std::string sum =
      accumulate(reduce, ReduceOp::kSum, lane, [&](const std::string& accumulator) -> Text {
        begin_statement({reduce.expr});
        const Text x = emit(reduce.expr);
        const Text operand{.code = as_vector(x, lane), .vector = true, .atomic = x.atomic || !x.vector};
        return {.code = combined(ReduceOp::kSum, lane, accumulator, as_operand(operand)), .vector = true};
      });
  const std::string count = fmt::format("({}){}", scalar_type(lane), count_of(reduce));
  define(reduce.values[0],
         in_lanes ? fmt::format("{} / splat_{}({})", sum, suffix, count) : fmt::format("{} / {}", sum, count),
         in_lanes);
  const Text mean{.code = fmt::format("v{}", reduce.values[0]), .vector = in_lanes};
  const std::string squares =
      accumulate(reduce, ReduceOp::kSum, lane, [&](const std::string& accumulator) -> Text {
        begin_statement({reduce.expr});
        const Text x = emit(reduce.expr);
        const Text operand{.code = as_vector(x, lane), .vector = true, .atomic = x.atomic || !x.vector};
        const Text distance =
            named({.code = fmt::format("{} - {}", as_operand(operand), as_vector(mean, lane)),
                   .vector = true,
                   .atomic = false},
                  lane);
        return {.code = fmt::format("fma_{0}({1}, {1}, {2})", suffix, distance.code, accumulator),
                .vector = true};
      });
  define(reduce.values[1], squares, in_lanes);
}

}  // namespace edge_infer::cpu_codegen
