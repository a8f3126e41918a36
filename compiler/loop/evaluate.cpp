#include "compiler/loop/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/loop/evaluate_attention.h"
#include "compiler/loop/flat_code.h"
#include "compiler/loop/float_math.h"
#include "compiler/loop/integer_math.h"
#include "compiler/loop/op_rules.h"
#include "compiler/loop/reduce_accumulator.h"
#include "compiler/loop/register_code.h"
#include "compiler/loop/text.h"
#include "compiler/loop/verify.h"

namespace edge_infer::loop {
namespace {

constexpr int64_t kMaxLocal = int64_t{1} << 26;

class Machine {
 public:
  Machine(const LoopNest& nest, size_t variables, std::span<const int64_t> symbols,
          std::span<HostTensor* const> buffers)
      : nest_(nest),
        variables_(variables),
        values_(nest.values.size()),
        locals_(nest.locals.size()),
        weights_(nest.buffers.size()),
        first_value_(nest.symbols.size() + nest.axes.size()) {
    std::copy(symbols.begin(), symbols.end(), variables_.begin());
    for (size_t i = 0; i < buffers.size(); ++i) {
      buffers_.emplace_back(*buffers[i]);
      if (nest.buffers[i].access == Access::kPacked) weights_[i] = buffers[i]->to_doubles();
    }
  }

  Status run(const BodyCode& body) {
    for (const StmtCode& stmt : body)
      EDGE_INFER_RETURN_IF_ERROR(std::visit([this](const auto& node) { return execute(node); }, stmt.node));
    return {};
  }
  void finish() {
    for (TensorView& buffer : buffers_) buffer.finish();
  }
  int64_t index(const IndexCode& code) const { return code.evaluate(variables_); }

 private:
  struct LocalArray {
    std::vector<Cell> cells;
    std::vector<uint8_t> written;
  };

  int64_t& variable(int32_t id) { return variables_[static_cast<size_t>(id)]; }

  void define(int32_t value, Cell cell) {
    values_[static_cast<size_t>(value)] = cell;
    if (!is_floating(nest_.values[static_cast<size_t>(value)].dtype))
      variables_[first_value_ + static_cast<size_t>(value)] = cell.integer;
  }

  Status execute(const ForCode& loop) {
    const int64_t begin = index(loop.axis.begin), extent = index(loop.axis.extent);
    for (int64_t i = begin; i < extent; ++i) {
      variable(loop.axis.variable) = i;
      EDGE_INFER_RETURN_IF_ERROR(run(loop.body));
    }
    return {};
  }
  Status execute(const LetCode& let) {
    Cell cell;
    EDGE_INFER_RETURN_IF_ERROR(compute(let.expr, cell));
    define(let.value, cell);
    return {};
  }
  Status execute(const DeclareCode& declare) {
    const int64_t size = index(declare.size);
    if (size < 0 || size > kMaxLocal)
      return fail(ErrorCode::kResourceExhausted, "local c{} of {} elements, at most {} are allowed",
                  declare.local, size, kMaxLocal);
    LocalArray& local = locals_[static_cast<size_t>(declare.local)];
    local.cells.resize(static_cast<size_t>(size));
    local.written.assign(static_cast<size_t>(size), 0);
    return {};
  }
  Status execute(const StoreLocalCode& store) {
    Cell cell;
    EDGE_INFER_RETURN_IF_ERROR(compute(store.expr, cell));
    LocalArray& local = locals_[static_cast<size_t>(store.local)];
    const int64_t at = index(store.index);
    if (at < 0 || static_cast<size_t>(at) >= local.cells.size())
      return outside('c', store.local, "store", at, static_cast<int64_t>(local.cells.size()));
    const DType dtype = nest_.locals[static_cast<size_t>(store.local)].dtype;
    if (is_floating(dtype)) cell.number = round_to(dtype, cell.number);
    local.cells[static_cast<size_t>(at)] = cell;
    local.written[static_cast<size_t>(at)] = 1;
    return {};
  }
  Status execute(const StoreCode& store) {
    Cell cell;
    if (store.predicate) {
      EDGE_INFER_RETURN_IF_ERROR(compute(*store.predicate, cell));
      if (cell.integer == 0) return {};
    }
    EDGE_INFER_RETURN_IF_ERROR(compute(store.expr, cell));
    TensorView& buffer = buffers_[static_cast<size_t>(store.buffer)];
    const int64_t at = index(store.index);
    if (!buffer.contains(at)) return outside('b', store.buffer, "store", at, buffer.count());
    buffer.store(at, cell);
    return {};
  }
  static std::unexpected<Error> outside(char kind, int32_t id, const char* what, int64_t at, int64_t count) {
    return fail(ErrorCode::kInvalidArgument, "{} of {}{}[{}], expected an index below {}", what, kind, id, at,
                count);
  }

  Status reduce_axis(const ReduceCode& code, size_t depth, ReduceAccumulator& accumulator) {
    const AxisCode& axis = code.axes[depth];
    const int64_t begin = index(axis.begin), extent = index(axis.extent);
    Cell cell;
    for (int64_t i = begin; i < extent; ++i) {
      variable(axis.variable) = i;
      if (depth + 1 < code.axes.size()) {
        EDGE_INFER_RETURN_IF_ERROR(reduce_axis(code, depth + 1, accumulator));
      } else {
        EDGE_INFER_RETURN_IF_ERROR(compute(code.expr, cell));
        accumulator.add(cell);
      }
    }
    return {};
  }
  Status execute(const ReduceCode& code) {
    ReduceAccumulator accumulator(code.reduce->op, code.dtype, code.segments);
    EDGE_INFER_RETURN_IF_ERROR(reduce_axis(code, 0, accumulator));
    EDGE_INFER_ASSIGN(const auto results, accumulator.finish());
    for (size_t i = 0; i < code.reduce->values.size(); ++i) define(code.reduce->values[i], results[i]);
    return {};
  }

  Status execute(const GemmCode& code) {
    const int64_t columns = index(code.n.extent), depth = index(code.k.extent);
    std::vector<double> row(static_cast<size_t>(depth));
    Cell cell;
    for (int64_t k = 0; k < depth; ++k) {
      variable(code.k.variable) = k;
      EDGE_INFER_RETURN_IF_ERROR(compute(code.a, cell));
      row[static_cast<size_t>(k)] = cell.number;
    }
    const double* weight = weights_[static_cast<size_t>(code.gemm->weight)].data();
    for (int64_t n = 0; n < columns; ++n) {
      variable(code.n.variable) = n;
      cell.number = 0;
      for (int64_t k = 0; k < depth; ++k) cell.number += row[static_cast<size_t>(k)] * weight[n * depth + k];
      define(code.gemm->value, cell);
      EDGE_INFER_RETURN_IF_ERROR(run(code.body));
    }
    return {};
  }
  Status execute(const AttentionCode& code) {
    return evaluate_attention(*code.attention, variable(code.work), buffers_);
  }

  // --- Expressions ---

  Status compute(const ExprCode& code, Cell& result) {
    if (registers_.size() < code.instructions.size()) registers_.resize(code.instructions.size());
    Cell* r = registers_.data();
    for (size_t i = 0; i < code.instructions.size(); ++i) {
      const Instruction& in = code.instructions[i];
      const auto operand = [&](size_t k) -> const Cell& { return r[static_cast<size_t>(in.operands[k])]; };
      switch (in.kind) {
        case Expr::Kind::kConst:
          r[i] = in.constant;
          break;
        case Expr::Kind::kSize: {
          const int64_t size = index(code.indices[static_cast<size_t>(in.index)]);
          if (is_floating(in.dtype)) {
            r[i].number = round_to(in.dtype, static_cast<double>(size));
          } else {
            r[i].integer = wrap_to(in.dtype, size);
          }
          break;
        }
        case Expr::Kind::kValue:
          r[i] = values_[static_cast<size_t>(in.id)];
          break;
        case Expr::Kind::kLoad: {
          if (in.operands[0] >= 0 && operand(0).integer == 0) {
            r[i] = operand(1);
            break;
          }
          const TensorView& buffer = buffers_[static_cast<size_t>(in.id)];
          const int64_t at = index(code.indices[static_cast<size_t>(in.index)]);
          if (!buffer.contains(at)) return outside('b', in.id, "load", at, buffer.count());
          r[i] = buffer.load(at);
          break;
        }
        case Expr::Kind::kLocal: {
          const LocalArray& local = locals_[static_cast<size_t>(in.id)];
          const int64_t at = index(code.indices[static_cast<size_t>(in.index)]);
          if (at < 0 || static_cast<size_t>(at) >= local.cells.size())
            return outside('c', in.id, "load", at, static_cast<int64_t>(local.cells.size()));
          if (local.written[static_cast<size_t>(at)] == 0)
            return fail(ErrorCode::kInvalidArgument, "load of c{}[{}], which is not written yet", in.id, at);
          r[i] = local.cells[static_cast<size_t>(at)];
          break;
        }
        case Expr::Kind::kUnary:
          if (!is_floating(in.from)) {
            r[i].integer = integer_op(in.op, in.dtype, operand(0).integer);
          } else if (in.op == ScalarOp::kIsNan) {
            r[i].integer = std::isnan(operand(0).number) ? 1 : 0;
          } else {
            r[i].number = float_op(in.op, operand(0).number);
          }
          break;
        case Expr::Kind::kBinary:
          if (is_floating(in.dtype)) {
            r[i].number = float_op(in.op, operand(0).number, operand(1).number);
          } else if (const auto value = integer_op(in.op, in.dtype, operand(0).integer, operand(1).integer)) {
            r[i].integer = *value;
          } else {
            return fail(ErrorCode::kInvalidArgument, "integer {} by zero", scalar_op_name(in.op));
          }
          break;
        case Expr::Kind::kCompare:
          r[i].integer =
              (is_floating(in.from) ? float_compare(in.op, operand(0).number, operand(1).number)
                                    : integer_compare(in.op, operand(0).integer, operand(1).integer))
                  ? 1
                  : 0;
          break;
        case Expr::Kind::kSelect:
          r[i] = operand(0).integer != 0 ? operand(1) : operand(2);
          break;
        case Expr::Kind::kCast:
          r[i] = cast(operand(0), in.from, in.dtype);
          break;
      }
    }
    result = r[code.instructions.size() - 1];
    return {};
  }
  static Cell cast(Cell x, DType from, DType to) {
    if (is_floating(from))
      return is_floating(to) ? Cell{.number = round_to(to, x.number)}
                             : Cell{.integer = to_integer(to, x.number)};
    return is_floating(to) ? Cell{.number = round_to(to, static_cast<double>(x.integer))}
                           : Cell{.integer = wrap_to(to, x.integer)};
  }

  const LoopNest& nest_;
  std::vector<int64_t> variables_;
  std::vector<Cell> values_, registers_;
  std::vector<LocalArray> locals_;
  std::vector<std::vector<double>> weights_;
  std::vector<TensorView> buffers_;
  size_t first_value_;
};

Status check_arguments(const LoopNest& nest, const CodeBuilder& builder, std::span<const int64_t> symbols,
                       std::span<HostTensor* const> buffers) {
  if (symbols.size() != nest.symbols.size() || buffers.size() != nest.buffers.size())
    return fail(ErrorCode::kInvalidArgument, "{} symbols and {} buffers, expected {} and {}", symbols.size(),
                buffers.size(), nest.symbols.size(), nest.buffers.size());
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i] < nest.symbols[i].range.lo || symbols[i] > nest.symbols[i].range.hi)
      return fail(ErrorCode::kInvalidArgument, "symbol {} is {}, expected {}..{}", nest.symbols[i].name,
                  symbols[i], nest.symbols[i].range.lo, nest.symbols[i].range.hi);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = nest.buffers[i];
    int64_t count = 1;
    for (const SymInt& size : buffer.sizes) {
      EDGE_INFER_ASSIGN(const IndexCode code, builder.index(size));
      const int64_t value = code.evaluate(symbols);
      if (value < 0 || __builtin_mul_overflow(count, value, &count))
        return fail(ErrorCode::kInvalidArgument, "size {} of b{} is {}", size.str(), i, value);
    }
    const HostTensor& tensor = *buffers[i];
    if (tensor.dtype != buffer.dtype || tensor.elements() != count ||
        static_cast<int64_t>(tensor.bytes.size()) != count * dtype_size(tensor.dtype))
      return fail(ErrorCode::kInvalidArgument, "b{} is {}{}, expected {} = {} elements", i,
                  dtype_name(tensor.dtype), print_sizes(tensor.sizes), type_text(buffer.dtype, buffer.sizes),
                  count);
  }
  return {};
}

}  // namespace

Status evaluate(const LoopNest& nest, std::span<const int64_t> symbols,
                std::span<HostTensor* const> buffers) {
  EDGE_INFER_RETURN_IF_ERROR(verify(nest));
  const auto run = [&]() -> Status {
    Flattener flattener(nest);
    EDGE_INFER_RETURN_IF_ERROR(check_arguments(nest, flattener.builder(), symbols, buffers));
    EDGE_INFER_ASSIGN(const BodyCode body, flattener.body(nest.body));
    Machine machine(nest, flattener.variables(), symbols, buffers);
    EDGE_INFER_RETURN_IF_ERROR(machine.run(body));
    machine.finish();
    return {};
  };
  if (const Status status = run(); !status)
    return fail_with_context(status.error(), "nest " + plain_name(nest.name));
  return {};
}

}  // namespace edge_infer::loop
