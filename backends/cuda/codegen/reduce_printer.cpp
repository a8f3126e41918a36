// Reductions as CUDA C++. A group's threads share the iterations of one axis, each ascending, and combine by
// halves within warps, then warp by warp; a thread alone (an accumulator for each element of its vector)
// takes all iterations ascending, sequences in blocks of 64 rows. The order depends on the nest alone.
#include <algorithm>

#include "backends/cuda/codegen/nest_printer.h"

namespace edge_infer::cuda {

using loop::AxisId;
using loop::AxisKind;
using loop::Expr;
using loop::Reduce;
using loop::ReduceOp;

namespace {

constexpr int kSegmentBlock = 64;

std::string identity(ReduceOp op, DType dtype) {
  return codegen::identity_literal(op, dtype, kLiterals);
}

std::string combined(ReduceOp op, Lane lane, const std::string& a, const std::string& b) {
  switch (op) {
    case ReduceOp::kProd:
      return fmt::format("{} * {}", a, b);
    case ReduceOp::kMax:
      return lane == Lane::kBool ? fmt::format("{} || {}", a, b)
                                 : fmt::format("max_of<{}>({}, {})", scalar_type(lane), a, b);
    case ReduceOp::kMin:
      return lane == Lane::kBool ? fmt::format("{} && {}", a, b)
                                 : fmt::format("min_of<{}>({}, {})", scalar_type(lane), a, b);
    case ReduceOp::kAny:
      return fmt::format("{} || {}", a, b);
    case ReduceOp::kAll:
      return fmt::format("{} && {}", a, b);
    default:
      return fmt::format("{} + {}", a, b);
  }
}

const char* functor(ReduceOp op) {
  switch (op) {
    case ReduceOp::kProd:
      return "Prod";
    case ReduceOp::kMax:
    case ReduceOp::kAny:
      return "Max";
    case ReduceOp::kMin:
    case ReduceOp::kAll:
      return "Min";
    case ReduceOp::kArgMax:
      return "ArgMax";
    case ReduceOp::kArgMin:
      return "ArgMin";
    default:
      return "Sum";
  }
}

}  // namespace

void NestPrinter::declare(const std::string& type, const std::string& name, const std::string& start) {
  if (!vector_ || dealt_vector_) {
    out_.line("{} {} = {};", type, name, start);
    return;
  }
  out_.line("{} {}[{}];", type, name, vector_->width);
  out_.line("#pragma unroll");
  out_.line("for (i32 j = 0; j < {}; ++j) {}[j] = {};", vector_->width, name, start);
}

std::string NestPrinter::group_reduce(const std::string& value, const char* op) const {
  if (plan_.group == 32) return fmt::format("warp_reduce({}, {}{{}})", value, op);
  return fmt::format("block_reduce<{}>({}, {}{{}})", plan_.group / 32, value, op);
}

std::string NestPrinter::count_of(const Reduce& reduce) const {
  SymInt count = 1;
  for (const AxisId axis : reduce.axes) count = count * (nest_.axis(axis).extent - nest_.axis(axis).begin);
  return printer_.index_operand(count);
}

void NestPrinter::reduce_loops(std::span<const AxisId> axes, AxisId shared,
                               const std::function<void()>& inner) {
  if (axes.empty()) {
    inner();
    return;
  }
  const auto rest = [&] { reduce_loops(axes.subspan(1), shared, inner); };
  if (axes.front() == shared) {
    deal(shared, [&] {
      dealt_vector_ = true;
      rest();
      dealt_vector_ = false;
    });
    return;
  }
  if (axes.size() == 1 && shared < 0) out_.line("#pragma unroll 4");
  serial(axes.front(), rest);
}

void NestPrinter::accumulate(const Reduce& reduce, ReduceOp op, Lane lane, const std::string& name,
                             const std::function<void(const std::string&)>& element) {
  const bool group = in_group_;
  const AxisId shared = group ? shared_axis(nest_, reduce) : -1;
  const DType dtype = op == ReduceOp::kSum ? nest_.expr(reduce.expr).dtype
                                           : nest_.values[static_cast<size_t>(reduce.values.front())].dtype;
  const std::string type(scalar_type(lane)), start = identity(op, dtype);
  const auto accumulator = [&](const std::string& variable) {
    return vector_ && !dealt_vector_ ? variable + "[j]" : variable;
  };
  const auto segment = std::ranges::find_if(
      reduce.axes, [&](AxisId axis) { return nest_.axis(axis).kind == AxisKind::kSegment; });
  const bool blocks = !group && op == ReduceOp::kSum && is_float(lane) && segment != reduce.axes.end();
  declare(type, name, start);
  if (!blocks) {
    reduce_loops(reduce.axes, shared, [&] { element(accumulator(name)); });
    return;
  }
  const loop::Axis& axis = nest_.axis(*segment);
  const std::string first = printer_.fresh("block"), partial = printer_.fresh("a"),
                    end = printer_.index_operand(axis.extent), block_end = printer_.fresh("end");
  out_.open("for (i64 {0} = {1}; {0} < {2}; {0} += {3})", first, printer_.index(axis.begin), end,
            kSegmentBlock);
  out_.line("const i64 {} = min1_i64({} + {}, {});", block_end, first, kSegmentBlock, end);
  declare(type, partial, start);
  bounds_[*segment] = {first, block_end};
  reduce_loops(reduce.axes, shared, [&] { element(accumulator(partial)); });
  bounds_.erase(*segment);
  const std::string sum = combined(op, lane, accumulator(name), accumulator(partial));
  if (vector_) out_.line("#pragma unroll");
  out_.line("{}{} = {};", vector_ ? fmt::format("for (i32 j = 0; j < {}; ++j) ", vector_->width) : "",
            accumulator(name), sum);
  out_.close();
}

void NestPrinter::print(const Reduce& reduce) {
  if (reduce.op == ReduceOp::kArgMax || reduce.op == ReduceOp::kArgMin)
    reduce_index(reduce);
  else if (reduce.op == ReduceOp::kMoments)
    reduce_moments(reduce);
  else
    reduce_value(reduce);
  for (const int32_t value : reduce.values) define(value);
}

void NestPrinter::add_element(const Reduce& reduce, ReduceOp op, Lane lane, const std::string& accumulator) {
  const Expr& e = nest_.expr(reduce.expr);
  if (op == ReduceOp::kSum && is_float(lane) && e.kind == Expr::Kind::kBinary &&
      e.op == loop::ScalarOp::kMul) {
    const std::string a = printer_.operand(e.operands[0]), b = printer_.operand(e.operands[1]);
    out_.line("{0} = fma{1}({2}, {3}, {0});", accumulator, lane == Lane::kF32 ? "f" : "", a, b);
    return;
  }
  // A type for templates: literals would be others.
  std::string x = printer_.operand(reduce.expr);
  if (e.kind == Expr::Kind::kConst) x = fmt::format("({})({})", scalar_type(lane), x);
  out_.line("{} = {};", accumulator, combined(op, lane, accumulator, x));
}

void NestPrinter::reduce_value(const Reduce& reduce) {
  const DType dtype = nest_.values[static_cast<size_t>(reduce.values.front())].dtype;
  const Lane lane = lane_of(dtype);
  const bool group = in_group_;
  const std::string result = fmt::format("v{}", reduce.values.front());
  const std::string name = group ? printer_.fresh("a") : result;
  accumulate(reduce, reduce.op, lane, name, [&](const std::string& accumulator) {
    statement({reduce.expr}, [&] { add_element(reduce, reduce.op, lane, accumulator); });
  });
  const bool wraps = lane == Lane::kI32 && dtype != DType::kI32 &&
                     (reduce.op == ReduceOp::kSum || reduce.op == ReduceOp::kProd);
  const auto wrapped = [&](const std::string& x) {
    return wraps ? fmt::format("(i32)({})({})", dtype_name(dtype), x) : x;
  };
  if (group) {
    const bool logical = lane == Lane::kBool;
    const std::string all = group_reduce(logical ? fmt::format("(i32){}", name) : name, functor(reduce.op));
    out_.line("const {} {} = {};", scalar_type(lane), result, logical ? all + " != 0" : wrapped(all));
  } else if (wraps) {
    if (vector_) out_.line("#pragma unroll");
    const std::string element = element_of(result);
    out_.line("{}{} = {};", vector_ ? fmt::format("for (i32 j = 0; j < {}; ++j) ", vector_->width) : "",
              element, wrapped(element));
  }
}

void NestPrinter::reduce_index(const Reduce& reduce) {
  const DType dtype = nest_.expr(reduce.expr).dtype;
  // bool is compared as integers.
  const Lane lane = lane_of(dtype) == Lane::kBool ? Lane::kI32 : lane_of(dtype);
  const bool group = in_group_;
  const char* op = functor(reduce.op);
  const std::string best = printer_.fresh("a"), type = fmt::format("Best<{}>", scalar_type(lane));
  // Iterations counted over the axes row-major.
  SymInt count = 0;
  for (const AxisId id : reduce.axes) {
    const loop::Axis& axis = nest_.axis(id);
    count = count * (axis.extent - axis.begin) + (SymInt::symbol(axis.name) - axis.begin);
  }
  const std::string result = fmt::format("v{}", reduce.values.front());
  if (vector_) out_.line("i64 {}[{}];", result, vector_->width);
  declare(type, best, "{0, -1}");
  reduce_loops(reduce.axes, group ? shared_axis(nest_, reduce) : -1, [&] {
    statement({reduce.expr}, [&] {
      const std::string accumulator = vector_ && !dealt_vector_ ? best + "[j]" : best;
      const std::string x = printer_.expression(reduce.expr);
      out_.line("{0} = {1}{{}}({0}, {2}{{{3}, {4}}});", accumulator, op, type,
                lane_of(dtype) == Lane::kBool ? fmt::format("({}) ? 1 : 0", x) : x, printer_.index(count));
    });
  });
  if (group) {
    out_.line("const i64 {} = max1_i64({}.at, 0);", result, group_reduce(best, op));
  } else if (vector_) {
    out_.line("#pragma unroll");
    out_.line("for (i32 j = 0; j < {}; ++j) {}[j] = max1_i64({}[j].at, 0);", vector_->width, result, best);
  } else {
    out_.line("const i64 {} = max1_i64({}.at, 0);", result, best);
  }
}

// Two sweeps: the mean, then the squared distances from it.
void NestPrinter::reduce_moments(const Reduce& reduce) {
  const Lane lane = lane_of(nest_.expr(reduce.expr).dtype);
  const bool group = in_group_;
  const char* suffix = lane == Lane::kF32 ? "f" : "";
  const std::string type(scalar_type(lane)), mean = fmt::format("v{}", reduce.values[0]),
                                             squares = fmt::format("v{}", reduce.values[1]);
  const std::string sum = group ? printer_.fresh("a") : mean;
  const std::string count = fmt::format("({}){}", type, count_of(reduce));
  accumulate(reduce, ReduceOp::kSum, lane, sum, [&](const std::string& accumulator) {
    statement({reduce.expr}, [&] {
      const std::string x = printer_.operand(reduce.expr);
      out_.line("{0} = {0} + {1};", accumulator, x);
    });
  });
  if (group) {
    out_.line("const {} {} = {} / {};", type, mean, group_reduce(sum, "Sum"), count);
  } else {
    if (vector_) out_.line("#pragma unroll");
    const std::string element = element_of(mean);
    out_.line("{0}{1} = {1} / {2};",
              vector_ ? fmt::format("for (i32 j = 0; j < {}; ++j) ", vector_->width) : "", element, count);
  }
  const std::string distances = group ? printer_.fresh("a") : squares;
  accumulate(reduce, ReduceOp::kSum, lane, distances, [&](const std::string& accumulator) {
    statement({reduce.expr}, [&] {
      const std::string x = printer_.operand(reduce.expr), d = printer_.fresh("t");
      out_.line("const {} {} = {} - {};", type, d, x, vector_ && !dealt_vector_ ? mean + "[j]" : mean);
      out_.line("{0} = fma{1}({2}, {2}, {0});", accumulator, suffix, d);
    });
  });
  if (group) out_.line("const {} {} = {};", type, squares, group_reduce(distances, "Sum"));
}

}  // namespace edge_infer::cuda
