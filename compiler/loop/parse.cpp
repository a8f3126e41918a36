#include "compiler/loop/parse.h"

#include <algorithm>

#include "compiler/loop/op_rules.h"
#include "compiler/loop/parse_expr.h"
#include "compiler/loop/text.h"

namespace edge_infer::loop {
namespace {

constexpr size_t kMaxText = size_t{1} << 20;

class NestParser {
 public:
  explicit NestParser(std::string_view text) : cursor_(text), expressions_(cursor_, nest_, defined_) {}

  Result<LoopNest> parse() {
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word("nest"));
    if (cursor_.accept("@")) {
      EDGE_INFER_ASSIGN(nest_.name, cursor_.name("a name"));
    }
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word("class"));
    EDGE_INFER_ASSIGN(nest_.accumulation_class, cursor_.name("an accumulation class"));
    if (cursor_.accept_word("symbols")) EDGE_INFER_RETURN_IF_ERROR(symbols());
    EDGE_INFER_RETURN_IF_ERROR(buffers());
    EDGE_INFER_ASSIGN(nest_.body, body(0));
    if (!cursor_.at_end()) return cursor_.error("the end of the text");
    EDGE_INFER_RETURN_IF_ERROR(check_dense(defined_.values, "value %v"));
    EDGE_INFER_RETURN_IF_ERROR(check_dense(defined_.locals, "local c"));
    return std::move(nest_);
  }

 private:
  Status check_dense(const std::vector<bool>& defined, std::string_view what) {
    const auto missing = std::find(defined.begin(), defined.end(), false);
    if (missing == defined.end()) return {};
    return cursor_.refuse(
        cursor_.at(), ErrorCode::kInvalidArgument,
        fmt::format("{}{} is not defined, expected numbers without a gap", what, missing - defined.begin()));
  }
  std::unexpected<Error> too_many(std::string_view what) {
    return cursor_.refuse(cursor_.at(), ErrorCode::kResourceExhausted,
                          fmt::format("more than {} {}", kMaxItems, what));
  }

  Status symbols() {
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("("));
    do {
      if (nest_.symbols.size() >= kMaxItems) return too_many("symbols");
      Symbol symbol;
      EDGE_INFER_ASSIGN(symbol.name, cursor_.name("the name of a symbol"));
      EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word("in"));
      EDGE_INFER_ASSIGN(symbol.range.lo, cursor_.integer());
      EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(".."));
      symbol.range.hi = INT64_MAX;
      if (!cursor_.accept_word("inf")) {
        EDGE_INFER_ASSIGN(symbol.range.hi, cursor_.integer());
      }
      EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word("hint"));
      EDGE_INFER_ASSIGN(symbol.hint, cursor_.integer());
      nest_.symbols.push_back(std::move(symbol));
    } while (cursor_.accept(","));
    return cursor_.expect(")");
  }

  Status buffers() {
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("("));
    do {
      if (nest_.buffers.size() >= kMaxItems) return too_many("buffers");
      cursor_.skip_space();
      const size_t start = cursor_.at();
      EDGE_INFER_ASSIGN(const int32_t id, cursor_.numbered("b"));
      if (static_cast<size_t>(id) != nest_.buffers.size())
        return cursor_.error_at(start, fmt::format("\"b{}\"", nest_.buffers.size()));
      EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(":"));
      Buffer buffer;
      EDGE_INFER_ASSIGN(buffer.access, access());
      EDGE_INFER_ASSIGN(buffer.dtype, cursor_.dtype());
      EDGE_INFER_ASSIGN(buffer.sizes, cursor_.sizes());
      nest_.buffers.push_back(std::move(buffer));
    } while (cursor_.accept(","));
    return cursor_.expect(")");
  }

  Result<Access> access() {
    for (const Access access : {Access::kIn, Access::kOut, Access::kPacked, Access::kIndex})
      if (cursor_.accept_word(access_name(access))) return access;
    return cursor_.error("in, out, packed or index");
  }

  Result<Body> body(int depth) {
    if (depth > kMaxLoopDepth)
      return cursor_.refuse(cursor_.at(), ErrorCode::kResourceExhausted,
                            fmt::format("loops nested deeper than {}", kMaxLoopDepth));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("{"));
    Body body;
    while (!cursor_.accept("}")) {
      EDGE_INFER_ASSIGN(Stmt stmt, statement(depth));
      body.push_back(std::move(stmt));
    }
    return body;
  }

  Result<Stmt> statement(int depth) {
    const char first = cursor_.peek();
    if (first == '%') return definition();
    if (cursor_.accept_word("for")) return loop(depth);
    if (cursor_.accept_word("local")) return declare_local();
    if (cursor_.accept_word("gemm")) return gemm(depth);
    if (cursor_.accept_word("attention")) return attention();
    if (first == 'b') return store();
    if (first == 'c') return store_local();
    return cursor_.error("a statement (for, local, gemm, attention, %v, b or c) or \"}\"");
  }

  // --- Axes ---

  // `m:T`, `t:v0..v1`; a bound ends at a space. Equal axes are one.
  Result<AxisId> axis(AxisKind kind, bool kind_follows) {
    EDGE_INFER_ASSIGN(std::string name, cursor_.name("the name of an axis"));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(":"));
    constexpr std::string_view kStops = " \t\r\n,.{";
    Axis axis{std::move(name), kind, 0, 1};
    EDGE_INFER_ASSIGN(axis.extent, cursor_.size(kStops));
    if (cursor_.accept("..")) {
      axis.begin = axis.extent;
      EDGE_INFER_ASSIGN(axis.extent, cursor_.size(kStops));
    }
    if (kind_follows) {
      EDGE_INFER_ASSIGN(axis.kind, loop_kind());
    } else if (kind == AxisKind::kReduce && cursor_.accept_word("segment")) {
      axis.kind = AxisKind::kSegment;
    }
    for (size_t i = 0; i < nest_.axes.size(); ++i) {
      const Axis& other = nest_.axes[i];
      if (other.name == axis.name && other.kind == axis.kind && other.begin == axis.begin &&
          other.extent == axis.extent)
        return static_cast<AxisId>(i);
    }
    if (nest_.axes.size() >= kMaxItems) return too_many("axes");
    nest_.axes.push_back(std::move(axis));
    return static_cast<AxisId>(nest_.axes.size() - 1);
  }
  Result<AxisKind> loop_kind() {
    for (const AxisKind kind : {AxisKind::kWork, AxisKind::kLane, AxisKind::kSerial})
      if (cursor_.accept_word(axis_kind_name(kind))) return kind;
    return cursor_.error("work, lane or serial");
  }

  // --- Definitions ---

  Result<int32_t> define(std::string_view prefix, std::vector<bool>& defined) {
    cursor_.skip_space();
    const size_t start = cursor_.at();
    EDGE_INFER_ASSIGN(const int32_t id, cursor_.numbered(prefix));
    const auto position = static_cast<size_t>(id);
    if (position < defined.size() && defined[position])
      return cursor_.refuse(start, ErrorCode::kInvalidArgument,
                            fmt::format("{}{} is defined twice", prefix, id));
    if (position >= defined.size()) defined.resize(position + 1);
    return id;
  }
  void set_value(int32_t id, DType dtype) {
    const auto position = static_cast<size_t>(id);
    if (position >= nest_.values.size()) nest_.values.resize(position + 1);
    nest_.values[position].dtype = dtype;
    defined_.values[position] = true;
  }

  Result<Stmt> definition() {
    std::vector<int32_t> ids;
    do {
      EDGE_INFER_ASSIGN(const int32_t id, define("%v", defined_.values));
      if (std::find(ids.begin(), ids.end(), id) != ids.end())
        return cursor_.refuse(cursor_.at(), ErrorCode::kInvalidArgument,
                              fmt::format("%v{} is defined twice", id));
      ids.push_back(id);
    } while (ids.size() < 2 && cursor_.accept(","));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("="));
    if (cursor_.accept_word("reduce")) return reduce(std::move(ids));
    if (ids.size() > 1) return cursor_.error("\"reduce\"");
    EDGE_INFER_ASSIGN(const ExprId expr, expressions_.expr());
    set_value(ids[0], nest_.expr(expr).dtype);
    return Stmt{Let{ids[0], expr}};
  }

  Result<Stmt> reduce(std::vector<int32_t> ids) {
    const std::string_view word = cursor_.peek_word();
    const auto op = parse_reduce_op(word);
    if (!op) return cursor_.error("a reduction (sum, prod, max, min, any, all, argmax, argmin, moments)");
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word(word));
    if (ids.size() != reduce_results(*op))
      return cursor_.refuse(
          cursor_.at(), ErrorCode::kInvalidArgument,
          fmt::format("reduce {} gives {} values, found {} names", word, reduce_results(*op), ids.size()));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("("));
    const size_t start = cursor_.at();
    EDGE_INFER_ASSIGN(const ExprId expr, expressions_.expr());
    const DType dtype = nest_.expr(expr).dtype;
    if (!reduce_takes(*op, dtype))
      return cursor_.refuse(start, ErrorCode::kInvalidArgument,
                            fmt::format("reduce {} does not take {}", word, dtype_name(dtype)));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(")"));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word("over"));
    Reduce reduce{ids, *op, expr, {}};
    do {
      if (reduce.axes.size() >= kMaxItems) return too_many("axes");
      EDGE_INFER_ASSIGN(const AxisId id, axis(AxisKind::kReduce, false));
      reduce.axes.push_back(id);
    } while (cursor_.accept(","));
    for (const int32_t id : ids) set_value(id, reduce_result(*op, dtype));
    return Stmt{std::move(reduce)};
  }

  Result<Stmt> declare_local() {
    EDGE_INFER_ASSIGN(const int32_t id, define("c", defined_.locals));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(":"));
    const auto position = static_cast<size_t>(id);
    if (position >= nest_.locals.size()) nest_.locals.resize(position + 1);
    Local& local = nest_.locals[position];
    EDGE_INFER_ASSIGN(local.dtype, cursor_.dtype());
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("["));
    EDGE_INFER_ASSIGN(local.size, cursor_.size("]"));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("]"));
    defined_.locals[position] = true;
    return Stmt{DeclareLocal{id}};
  }

  // --- Statements ---

  Result<Stmt> loop(int depth) {
    For loop{};
    EDGE_INFER_ASSIGN(loop.axis, axis(AxisKind::kWork, true));
    EDGE_INFER_ASSIGN(loop.body, body(depth + 1));
    return Stmt{std::move(loop)};
  }

  Result<SymInt> element() {
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("["));
    EDGE_INFER_ASSIGN(SymInt index, cursor_.size("]"));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("]"));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("="));
    return index;
  }
  Status check_stored(size_t start, DType into, ExprId expr) {
    const DType dtype = nest_.expr(expr).dtype;
    if (dtype == into) return {};
    return cursor_.refuse(start, ErrorCode::kInvalidArgument,
                          fmt::format("a store of {}, expected {}", dtype_name(dtype), dtype_name(into)));
  }

  Result<Stmt> store() {
    const size_t start = cursor_.at();
    Store store{};
    EDGE_INFER_ASSIGN(store.buffer, buffer());
    EDGE_INFER_ASSIGN(store.index, element());
    EDGE_INFER_ASSIGN(store.expr, expressions_.expr());
    EDGE_INFER_RETURN_IF_ERROR(
        check_stored(start, nest_.buffers[static_cast<size_t>(store.buffer)].dtype, store.expr));
    if (cursor_.accept_word("if")) {
      EDGE_INFER_ASSIGN(store.predicate, expressions_.expr());
      if (nest_.expr(store.predicate).dtype != DType::kBool)
        return cursor_.refuse(
            start, ErrorCode::kInvalidArgument,
            fmt::format("a predicate of {}, expected bool", dtype_name(nest_.expr(store.predicate).dtype)));
    }
    return Stmt{std::move(store)};
  }
  Result<Stmt> store_local() {
    const size_t start = cursor_.at();
    StoreLocal store{};
    EDGE_INFER_ASSIGN(store.local, cursor_.numbered("c"));
    const auto position = static_cast<size_t>(store.local);
    if (position >= defined_.locals.size() || !defined_.locals[position])
      return cursor_.error_at(start, "a local declared before");
    EDGE_INFER_ASSIGN(store.index, element());
    EDGE_INFER_ASSIGN(store.expr, expressions_.expr());
    EDGE_INFER_RETURN_IF_ERROR(check_stored(start, nest_.locals[position].dtype, store.expr));
    return Stmt{std::move(store)};
  }

  Result<int32_t> buffer() {
    cursor_.skip_space();
    const size_t start = cursor_.at();
    EDGE_INFER_ASSIGN(const int32_t id, cursor_.numbered("b"));
    if (static_cast<size_t>(id) >= nest_.buffers.size())
      return cursor_.error_at(start, "a buffer of the nest");
    return id;
  }
  Result<int32_t> named_buffer(std::string_view name) {
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word(name));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("("));
    EDGE_INFER_ASSIGN(const int32_t id, buffer());
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(")"));
    return id;
  }

  Result<Stmt> gemm(int depth) {
    Gemm gemm{};
    EDGE_INFER_ASSIGN(gemm.value, define("%v", defined_.values));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word("over"));
    EDGE_INFER_ASSIGN(gemm.n, axis(AxisKind::kLane, false));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(","));
    EDGE_INFER_ASSIGN(gemm.k, axis(AxisKind::kReduce, false));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word("a"));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("("));
    EDGE_INFER_ASSIGN(gemm.a, expressions_.expr());
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(")"));
    EDGE_INFER_ASSIGN(gemm.weight, named_buffer("w"));
    set_value(gemm.value, DType::kF32);
    EDGE_INFER_ASSIGN(gemm.body, body(depth + 1));
    return Stmt{std::move(gemm)};
  }

  Result<int64_t> named_integer(std::string_view name) {
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word(name));
    return cursor_.integer();
  }
  Result<Attention::View> view(std::string_view name) {
    Attention::View view;
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word(name));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("("));
    EDGE_INFER_ASSIGN(view.buffer, buffer());
    EDGE_INFER_ASSIGN(view.row, named_integer("row"));
    EDGE_INFER_ASSIGN(view.offset, named_integer("offset"));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(")"));
    return view;
  }
  Result<Stmt> attention() {
    Attention a;
    EDGE_INFER_ASSIGN(a.heads, named_integer("heads"));
    EDGE_INFER_ASSIGN(a.kv_heads, named_integer("kv_heads"));
    EDGE_INFER_ASSIGN(a.dim, named_integer("dim"));
    EDGE_INFER_ASSIGN(a.block_rows, named_integer("block_rows"));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word("scale"));
    EDGE_INFER_ASSIGN(a.scale, cursor_.number());
    a.causal = cursor_.accept_word("causal");
    EDGE_INFER_ASSIGN(a.q, view("q"));
    EDGE_INFER_ASSIGN(a.k, view("k"));
    EDGE_INFER_ASSIGN(a.v, view("v"));
    EDGE_INFER_ASSIGN(a.out, view("out"));
    EDGE_INFER_ASSIGN(a.cu, named_buffer("cu"));
    EDGE_INFER_ASSIGN(a.units, named_buffer("units"));
    return Stmt{a};
  }

  TextCursor cursor_;
  LoopNest nest_;
  Defined defined_;
  ExprParser expressions_;
};

}  // namespace

Result<LoopNest> parse_nest(std::string_view text) {
  if (text.size() > kMaxText)
    return fail(ErrorCode::kResourceExhausted, "the text of a nest has {} bytes, at most {} are allowed",
                text.size(), kMaxText);
  return NestParser(text).parse();
}

}  // namespace edge_infer::loop
