#include "tests/unit/loop_lower/interpret.h"

#include <algorithm>
#include <cmath>

#include "compiler/graph/arithmetic.h"
#include "compiler/graph/op_table.h"

namespace edge_infer::loop::test {
namespace {

struct Number {
  double d = 0;
  int64_t i = 0;
};

// A buffer or Local: numbers in doubles or int64, as its type says.
struct Memory {
  DType dtype = DType::kF32;
  std::vector<double> d;
  std::vector<int64_t> i;
  size_t size() const { return is_floating(dtype) ? d.size() : i.size(); }
  void resize(size_t n) {
    if (is_floating(dtype)) {
      d.assign(n, std::nan(""));
    } else {
      i.assign(n, 77);
    }
  }
};

int64_t wrap(DType dtype, int64_t v) {
  switch (dtype) {
    case DType::kI32:
      return static_cast<int32_t>(v);
    case DType::kI16:
      return static_cast<int16_t>(v);
    case DType::kI8:
      return static_cast<int8_t>(v);
    case DType::kU8:
      return static_cast<uint8_t>(v);
    case DType::kBool:
      return v != 0;
    default:
      return v;
  }
}

Number cast(Number x, DType from, DType to) {
  if (is_floating(from) && is_floating(to)) return {round_to(to, x.d), 0};
  if (is_floating(to)) return {round_to(to, static_cast<double>(x.i)), 0};
  if (!is_floating(from)) return {0, wrap(to, x.i)};
  HostTensor t{to, {1}, std::vector<std::byte>(static_cast<size_t>(dtype_size(to)))};
  t.store(std::vector<double>{x.d});
  return {0, t.to_integers()[0]};
}

double unary(ScalarOp op, double x) {
  switch (op) {
    case ScalarOp::kNeg:
      return -x;
    case ScalarOp::kAbs:
      return std::fabs(x);
    case ScalarOp::kSqrt:
      return std::sqrt(x);
    case ScalarOp::kRsqrt:
      return 1 / std::sqrt(x);
    case ScalarOp::kRcp:
      return 1 / x;
    case ScalarOp::kExp:
      return std::exp(x);
    case ScalarOp::kExp2:
      return std::exp2(x);
    case ScalarOp::kLog:
      return std::log(x);
    case ScalarOp::kLog1p:
      return std::log1p(x);
    case ScalarOp::kTanh:
      return std::tanh(x);
    case ScalarOp::kErf:
      return std::erf(x);
    case ScalarOp::kSin:
      return std::sin(x);
    case ScalarOp::kCos:
      return std::cos(x);
    case ScalarOp::kFloor:
      return std::floor(x);
    case ScalarOp::kCeil:
      return std::ceil(x);
    case ScalarOp::kRound:
      return std::nearbyint(x);
    default:
      return std::nan("");
  }
}
double binary(ScalarOp op, double a, double b) {
  const bool nan = std::isnan(a) || std::isnan(b);
  switch (op) {
    case ScalarOp::kAdd:
      return a + b;
    case ScalarOp::kSub:
      return a - b;
    case ScalarOp::kMul:
      return a * b;
    case ScalarOp::kDiv:
      return a / b;
    case ScalarOp::kMin:
      return nan ? std::nan("") : std::min(a, b);
    case ScalarOp::kMax:
      return nan ? std::nan("") : std::max(a, b);
    case ScalarOp::kPow:
      return std::pow(a, b);
    case ScalarOp::kAtan2:
      return std::atan2(a, b);
    case ScalarOp::kMod: {
      const double r = std::fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    default:
      return std::nan("");
  }
}
int64_t binary(ScalarOp op, int64_t a, int64_t b) {
  switch (op) {
    case ScalarOp::kAdd:
      return wrapping_add(a, b);
    case ScalarOp::kSub:
      return wrapping_sub(a, b);
    case ScalarOp::kMul:
      return wrapping_mul(a, b);
    case ScalarOp::kMin:
      return std::min(a, b);
    case ScalarOp::kMax:
      return std::max(a, b);
    case ScalarOp::kPow:
      return wrapping_pow(a, b);
    case ScalarOp::kMod:
      return b == 0 ? 0 : floor_remainder(a, b);
    case ScalarOp::kAnd:
      return a & b;
    case ScalarOp::kOr:
      return a | b;
    case ScalarOp::kXor:
      return a ^ b;
    default:
      return 0;
  }
}
template <typename T>
bool compare(ScalarOp op, T a, T b) {
  switch (op) {
    case ScalarOp::kEq:
      return a == b;
    case ScalarOp::kNe:
      return a != b;
    case ScalarOp::kLt:
      return a < b;
    case ScalarOp::kLe:
      return a <= b;
    case ScalarOp::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

class Interpreter {
 public:
  Interpreter(const LoopNest& nest, std::vector<Memory*> buffers, const std::vector<int64_t>& symbols)
      : nest_(nest), buffers_(std::move(buffers)), locals_(nest.locals.size()) {
    names_ = nest.symbols;
    for (const Axis& axis : nest.axes) names_.push_back({axis.name, {}, 0});
    for (size_t v = 0; v < nest.values.size(); ++v) names_.push_back({fmt::format("v{}", v), {}, 0});
    environment_ = symbols;
    environment_.resize(names_.size());
    values_.resize(nest.values.size());
    codes_.resize(nest.exprs.size());
  }

  Status run() {
    body(nest_.body);
    if (!error_.empty()) return fail(ErrorCode::kInternal, "{}: {}", nest_.name, error_);
    return {};
  }

 private:
  int64_t evaluate(const SymInt& e) {
    const auto code = SymCode::compile(e, names_);
    if (!code) {
      error_ = code.error().message;
      return 0;
    }
    return code->evaluate(environment_);
  }
  int64_t index_of(ExprId id) {
    auto& code = codes_[static_cast<size_t>(id)];
    if (!code) {
      auto made = SymCode::compile(nest_.expr(id).index, names_);
      if (!made) {
        error_ = made.error().message;
        return 0;
      }
      code = *made;
    }
    return code->evaluate(environment_);
  }
  int64_t index_of(const SymInt& e, const void* statement) {
    auto [it, is_new] = statement_codes_.try_emplace(statement);
    if (is_new) {
      auto made = SymCode::compile(e, names_);
      if (!made) {
        error_ = made.error().message;
        return 0;
      }
      it->second = *made;
    }
    return it->second.evaluate(environment_);
  }
  void set_axis(AxisId axis, int64_t v) {
    environment_[nest_.symbols.size() + static_cast<size_t>(axis)] = v;
  }
  void set_value(int32_t id, Number x) {
    values_[static_cast<size_t>(id)] = x;
    environment_[nest_.symbols.size() + nest_.axes.size() + static_cast<size_t>(id)] = x.i;
  }
  Number read(const Memory& memory, int64_t index) {
    if (index < 0 || index >= static_cast<int64_t>(memory.size())) {
      error_ = fmt::format("read of element {} of {}", index, memory.size());
      return {};
    }
    const auto i = static_cast<size_t>(index);
    return is_floating(memory.dtype) ? Number{memory.d[i], 0} : Number{0, memory.i[i]};
  }
  void write(Memory& memory, int64_t index, Number x) {
    if (index < 0 || index >= static_cast<int64_t>(memory.size())) {
      error_ = fmt::format("write of element {} of {}", index, memory.size());
      return;
    }
    const auto i = static_cast<size_t>(index);
    if (is_floating(memory.dtype)) {
      memory.d[i] = round_to(memory.dtype, x.d);
    } else {
      memory.i[i] = wrap(memory.dtype, x.i);
    }
  }

  Number value(ExprId id) {
    const Expr& e = nest_.expr(id);
    const bool floating = is_floating(e.dtype);
    switch (e.kind) {
      case Expr::Kind::kConst:
        return {e.number, e.integer};
      case Expr::Kind::kSize: {
        const int64_t v = index_of(id);
        return floating ? Number{static_cast<double>(v), 0} : Number{0, wrap(e.dtype, v)};
      }
      case Expr::Kind::kValue:
        return values_[static_cast<size_t>(e.id)];
      case Expr::Kind::kLoad:
        if (e.operands[0] != kNoExpr && value(e.operands[0]).i == 0) return value(e.operands[1]);
        return read(*buffers_[static_cast<size_t>(e.id)], index_of(id));
      case Expr::Kind::kLocal:
        return read(locals_[static_cast<size_t>(e.id)], index_of(id));
      case Expr::Kind::kCast:
        return cast(value(e.operands[0]), nest_.expr(e.operands[0]).dtype, e.dtype);
      case Expr::Kind::kSelect:
        return value(e.operands[0]).i != 0 ? value(e.operands[1]) : value(e.operands[2]);
      case Expr::Kind::kUnary: {
        const Number x = value(e.operands[0]);
        if (e.op == ScalarOp::kIsNan) return {0, std::isnan(x.d)};
        if (floating) return {unary(e.op, x.d), 0};
        if (e.op == ScalarOp::kNot) return {0, e.dtype == DType::kBool ? x.i == 0 : ~x.i};
        return {0, wrap(e.dtype, e.op == ScalarOp::kNeg || x.i < 0 ? wrapping_sub(0, x.i) : x.i)};
      }
      case Expr::Kind::kBinary: {
        const Number a = value(e.operands[0]), b = value(e.operands[1]);
        return floating ? Number{binary(e.op, a.d, b.d), 0}
                        : Number{0, wrap(e.dtype, binary(e.op, a.i, b.i))};
      }
      case Expr::Kind::kCompare: {
        const Number a = value(e.operands[0]), b = value(e.operands[1]);
        const bool of_floats = is_floating(nest_.expr(e.operands[0]).dtype);
        return {0, of_floats ? compare(e.op, a.d, b.d) : compare(e.op, a.i, b.i)};
      }
    }
    return {};
  }

  template <typename F>
  void over(std::span<const AxisId> axes, F&& f) {
    if (axes.empty()) return f();
    const Axis& axis = nest_.axis(axes[0]);
    const int64_t begin = evaluate(axis.begin), end = evaluate(axis.extent);
    for (int64_t v = begin; v < end && error_.empty(); ++v) {
      set_axis(axes[0], v);
      over(axes.subspan(1), f);
    }
  }

  void body(const Body& statements) {
    for (const Stmt& s : statements) {
      if (!error_.empty()) return;
      std::visit([&](const auto& node) { run(node); }, s.node);
    }
  }
  void run(const For& loop) {
    const AxisId axes[] = {loop.axis};
    over(axes, [&] { body(loop.body); });
  }
  void run(const Let& let) { set_value(let.value, value(let.expr)); }
  void run(const DeclareLocal& declare) {
    const auto i = static_cast<size_t>(declare.local);
    locals_[i].dtype = nest_.locals[i].dtype;
    locals_[i].resize(static_cast<size_t>(evaluate(nest_.locals[i].size)));
  }
  void run(const StoreLocal& s) {
    write(locals_[static_cast<size_t>(s.local)], index_of(s.index, &s), value(s.expr));
  }
  void run(const Store& s) {
    write(*buffers_[static_cast<size_t>(s.buffer)], index_of(s.index, &s), value(s.expr));
  }
  void run(const Reduce& reduce) {
    std::vector<Number> elements;
    over(reduce.axes, [&] { elements.push_back(value(reduce.expr)); });
    const DType dtype = nest_.expr(reduce.expr).dtype;
    const bool floating = is_floating(dtype);
    Number result;
    switch (reduce.op) {
      case ReduceOp::kSum:
        for (const Number x : elements) result = {result.d + x.d, wrapping_add(result.i, x.i)};
        break;
      case ReduceOp::kProd:
        result = {1, 1};
        for (const Number x : elements) result = {result.d * x.d, wrapping_mul(result.i, x.i)};
        break;
      case ReduceOp::kAny:
        for (const Number x : elements) result.i |= x.i;
        break;
      case ReduceOp::kAll:
        result.i = 1;
        for (const Number x : elements) result.i &= x.i;
        break;
      case ReduceOp::kMax:
      case ReduceOp::kMin: {
        const ScalarOp op = reduce.op == ReduceOp::kMax ? ScalarOp::kMax : ScalarOp::kMin;
        if (!elements.empty()) result = elements[0];
        for (const Number x : elements) result = {binary(op, result.d, x.d), binary(op, result.i, x.i)};
        break;
      }
      case ReduceOp::kArgMax:
      case ReduceOp::kArgMin: {
        size_t best = 0;
        const bool max = reduce.op == ReduceOp::kArgMax;
        for (size_t i = 1; i < elements.size(); ++i) {
          const Number a = elements[i], b = elements[best];
          const bool better = floating
                                  ? !std::isnan(b.d) && (std::isnan(a.d) || (max ? a.d > b.d : a.d < b.d))
                                  : (max ? a.i > b.i : a.i < b.i);
          if (better) best = i;
        }
        result.i = static_cast<int64_t>(best);
        break;
      }
      case ReduceOp::kMoments: {
        double mean = 0, m2 = 0;
        for (const Number x : elements) mean += x.d;
        mean /= static_cast<double>(elements.size());
        for (const Number x : elements) m2 += (x.d - mean) * (x.d - mean);
        set_value(reduce.values[0], {mean, 0});
        set_value(reduce.values[1], {m2, 0});
        return;
      }
    }
    set_value(reduce.values[0], result);
  }
  void run(const Gemm& gemm) {
    const int64_t n_extent = evaluate(nest_.axis(gemm.n).extent),
                  k_extent = evaluate(nest_.axis(gemm.k).extent);
    std::vector<double> a;
    for (int64_t k = 0; k < k_extent; ++k) {
      set_axis(gemm.k, k);
      a.push_back(value(gemm.a).d);
    }
    for (int64_t n = 0; n < n_extent; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < k_extent; ++k)
        sum +=
            a[static_cast<size_t>(k)] * read(*buffers_[static_cast<size_t>(gemm.weight)], n * k_extent + k).d;
      set_axis(gemm.n, n);
      set_value(gemm.value, {sum, 0});
      body(gemm.body);
    }
  }
  void run(const Attention& t) {
    const int64_t m =
        environment_[nest_.symbols.size() + static_cast<size_t>(std::get<For>(nest_.body[0].node).axis)];
    const int64_t unit = m / t.heads, head = m % t.heads, kv = head / (t.heads / t.kv_heads);
    const auto at = [&](int32_t b, int64_t i) { return read(*buffers_[static_cast<size_t>(b)], i); };
    const int64_t seq = at(t.units, 2 * unit).i, first = at(t.units, 2 * unit + 1).i;
    const int64_t begin = at(t.cu, seq).i, length = at(t.cu, seq + 1).i - begin;
    for (int64_t i = first; i < std::min(first + t.block_rows, length); ++i) {
      std::vector<double> p;
      double largest = -HUGE_VAL, sum = 0;
      for (int64_t j = 0; j < (t.causal ? i + 1 : length); ++j) {
        double dot = 0;
        for (int64_t d = 0; d < t.dim; ++d)
          dot += at(t.q.buffer, (begin + i) * t.q.row + t.q.offset + head * t.dim + d).d *
                 at(t.k.buffer, (begin + j) * t.k.row + t.k.offset + kv * t.dim + d).d;
        p.push_back(dot * t.scale);
        largest = std::max(largest, p.back());
      }
      for (double& x : p) sum += x = std::exp(x - largest);
      for (int64_t d = 0; d < t.dim; ++d) {
        double out = 0;
        for (size_t j = 0; j < p.size(); ++j)
          out += p[j] / sum *
                 at(t.v.buffer, (begin + static_cast<int64_t>(j)) * t.v.row + t.v.offset + kv * t.dim + d).d;
        write(*buffers_[static_cast<size_t>(t.out.buffer)],
              (begin + i) * t.out.row + t.out.offset + head * t.dim + d, {out, 0});
      }
    }
  }

  const LoopNest& nest_;
  std::vector<Memory*> buffers_;
  std::vector<Memory> locals_;
  std::vector<Symbol> names_;
  std::vector<int64_t> environment_;
  std::vector<Number> values_;
  std::vector<std::optional<SymCode>> codes_;
  std::map<const void*, SymCode> statement_codes_;
  std::string error_;
};

Memory memory_of(const HostTensor& t) {
  Memory m{t.dtype, {}, {}};
  if (is_floating(t.dtype)) {
    m.d = t.to_doubles();
  } else {
    m.i = t.to_integers();
  }
  return m;
}

Result<HostTensor> tensor_of(const Memory& m, std::vector<int64_t> sizes) {
  EDGE_INFER_ASSIGN(HostTensor t, make_host_tensor(m.dtype, std::move(sizes)));
  if (t.elements() != static_cast<int64_t>(m.size()))
    return fail(ErrorCode::kInternal, "{} elements, expected {}", m.size(), t.elements());
  if (is_floating(m.dtype)) {
    t.store(m.d);
  } else {
    t.store(m.i);
  }
  return t;
}

Result<std::vector<int64_t>> sizes_of(const std::vector<SymInt>& sizes, const SymbolValues& symbols) {
  std::vector<int64_t> result;
  for (const SymInt& size : sizes) {
    EDGE_INFER_ASSIGN(const int64_t v, size.evaluate(symbols));
    result.push_back(v);
  }
  return result;
}

}  // namespace

Result<std::vector<HostTensor>> interpret(const LoopProgram& program, const Graph& graph,
                                          std::span<const HostTensor> inputs, const TensorMap& constants) {
  std::vector<std::vector<int64_t>> input_sizes;
  for (const HostTensor& t : inputs) input_sizes.push_back(t.sizes);
  EDGE_INFER_ASSIGN(SymbolValues symbols, bind_symbols(graph, input_sizes));
  std::vector<Memory> buffers(program.buffers.size());
  size_t next_input = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const ProgramBuffer& b = program.buffers[i];
    if (b.role == Role::kInput) buffers[i] = memory_of(inputs[next_input++]);
    if (b.role == Role::kConstant) {
      buffers[i].dtype = b.dtype;
      for (const ValueId source : b.sources) {
        const Memory part = memory_of(constants.find(graph.value(source).name)->second);
        buffers[i].d.insert(buffers[i].d.end(), part.d.begin(), part.d.end());
        buffers[i].i.insert(buffers[i].i.end(), part.i.begin(), part.i.end());
      }
    }
    if (b.role == Role::kUnits) {
      buffers[i].dtype = DType::kI32;
      size_t cu = 0;
      while (program.buffers[cu].role != Role::kInput || program.buffers[cu].value != b.value) ++cu;
      const std::vector<int64_t>& offsets = buffers[cu].i;
      for (size_t s = 0; s + 1 < offsets.size(); ++s)
        for (int64_t first = 0; first < offsets[s + 1] - offsets[s]; first += b.block_rows) {
          buffers[i].i.push_back(static_cast<int64_t>(s));
          buffers[i].i.push_back(first);
        }
      symbols[b.count] = static_cast<int64_t>(buffers[i].i.size()) / 2;
    }
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const ProgramBuffer& b = program.buffers[i];
    if (b.role != Role::kOutput && b.role != Role::kTemp) continue;
    EDGE_INFER_ASSIGN(const auto sizes, sizes_of(b.sizes, symbols));
    buffers[i].dtype = b.dtype;
    int64_t n = 1;
    for (const int64_t s : sizes) n *= s;
    buffers[i].resize(static_cast<size_t>(n));
  }
  for (const Step& step : program.steps) {
    if (step.nest >= 0) {
      std::vector<Memory*> arguments;
      for (const int32_t b : step.buffers) arguments.push_back(&buffers[static_cast<size_t>(b)]);
      std::vector<int64_t> values;
      for (const SymInt& s : step.symbols) {
        EDGE_INFER_ASSIGN(const int64_t v, s.evaluate(symbols));
        values.push_back(v);
      }
      EDGE_INFER_RETURN_IF_ERROR(
          Interpreter(program.nests[static_cast<size_t>(step.nest)], std::move(arguments), values).run());
      continue;
    }
    const Node& node = graph.node(step.nodes.front());
    std::vector<HostTensor> operands(node.inputs.size()), outputs;
    std::vector<const HostTensor*> pointers(node.inputs.size(), nullptr);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      EDGE_INFER_ASSIGN(auto sizes, sizes_of(graph.value(node.inputs[i]).type.sizes, symbols));
      EDGE_INFER_ASSIGN(operands[i],
                        tensor_of(buffers[static_cast<size_t>(step.buffers[i])], std::move(sizes)));
      pointers[i] = &operands[i];
    }
    for (const ValueId v : node.outputs) {
      EDGE_INFER_ASSIGN(auto sizes, sizes_of(graph.value(v).type.sizes, symbols));
      EDGE_INFER_ASSIGN(HostTensor t, make_host_tensor(graph.value(v).type.dtype, std::move(sizes)));
      outputs.push_back(std::move(t));
    }
    EDGE_INFER_RETURN_IF_ERROR(node.op->evaluate({node, pointers, outputs, symbols}));
    for (size_t i = 0; i < outputs.size(); ++i)
      buffers[static_cast<size_t>(step.buffers[node.inputs.size() + i])] = memory_of(outputs[i]);
  }
  std::vector<HostTensor> results;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (program.buffers[i].role != Role::kOutput) continue;
    EDGE_INFER_ASSIGN(auto sizes, sizes_of(program.buffers[i].sizes, symbols));
    EDGE_INFER_ASSIGN(HostTensor t, tensor_of(buffers[i], std::move(sizes)));
    results.push_back(std::move(t));
  }
  return results;
}

}  // namespace edge_infer::loop::test
