#include "backends/cuda/codegen/nest_printer.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "compiler/codegen/index_text.h"

namespace edge_infer::cuda {

using loop::AxisId;
using loop::AxisKind;
using loop::Body;
using loop::Expr;
using loop::ExprId;
using loop::kNoExpr;

namespace {

bool fits_in_32_bits(const SymInt& count, std::span<const Symbol> ranges) {
  const SymRange range = count.range(ranges);
  return range.lo >= 0 && range.hi <= UINT32_MAX;
}

}  // namespace

NestPrinter::NestPrinter(const loop::LoopNest& nest, const NestPlan& plan)
    : nest_(nest),
      plan_(plan),
      out_(1),
      printer_(nest, out_,
               {.leaf = [this](ExprId e) { return leaf_text(e); },
                .value =
                    [this](int32_t value) {
                      const bool array = in_element_ && varying_[static_cast<size_t>(value)];
                      return array ? fmt::format("v{}[j]", value) : std::string();
                    },
                .axis =
                    [this](AxisId axis) {
                      const bool moves = in_element_ && vector_ &&
                                         printer_.names().axis(nest_.axis(vector_->axis).name) == axis;
                      return moves ? fmt::format("({} + j)", printer_.names().axis_name(axis))
                                   : std::string();
                    }}),
      varying_(nest.values.size(), false) {}

std::string NestPrinter::print() {
  const auto& rows = std::get<loop::For>(nest_.body.front().node);
  if (!plan_.rows) {
    print_elements(rows);
    return out_.take();
  }
  print_rows(rows);
  const std::string body = out_.take();
  print_row_variables(body);
  return out_.take() + body;
}

void NestPrinter::print_elements(const loop::For& rows) {
  const loop::Axis& work = nest_.axis(rows.axis);
  const std::string begin = printer_.index_operand(work.begin);
  const std::string first = fmt::format("(i64)blockIdx.x * {} + threadIdx.x", plan_.threads),
                    step = fmt::format("(i64)gridDim.x * {}", plan_.threads);
  if (plan_.columns < 0) {
    const std::string start = work.begin.constant() == 0 ? first : fmt::format("{} + {}", begin, first);
    out_.open("for (i64 m = {}; m < {}; m += {})", start, printer_.index_operand(work.extent), step);
    print_body(rows.body);
    out_.close();
    return;
  }
  const Spread& spread = plan_.spread(plan_.columns);
  const loop::Axis& columns = nest_.axis(plan_.columns);
  const SymInt width = columns.extent - columns.begin;
  const SymInt vectors = spread.vector == 1 ? width : SymInt(*width.constant() / spread.vector);
  const SymInt items = (work.extent - work.begin) * vectors;
  const char* suffix = fits_in_32_bits(items, nest_.symbols) ? "32" : "";
  const std::string per_row = printer_.index(vectors), i = printer_.names().axis_name(plan_.columns);
  const auto shifted = [&](std::string code, const SymInt& by) {
    return by.constant() == 0 ? code : fmt::format("{} + {}", printer_.index_operand(by), code);
  };
  out_.open("for (i64 item = {}; item < {}; item += {})", first, printer_.index_operand(items), step);
  out_.line("const i64 m = {};", shifted(fmt::format("udiv{}(item, {})", suffix, per_row), work.begin));
  const std::string column = fmt::format("umod{}(item, {})", suffix, per_row);
  out_.line(
      "const i64 {} = {};", i,
      shifted(spread.vector == 1 ? column : fmt::format("{} * {}", column, spread.vector), columns.begin));
  if (spread.vector > 1) vector_ = Vector{plan_.columns, spread.vector};
  print_body(std::get<loop::For>(rows.body.front().node).body);
  vector_.reset();
  out_.close();
}

void NestPrinter::print_row_variables(std::string_view body) {
  const int per_block = plan_.rows_per_block();
  if (names(body, "lane"))
    out_.line("const i32 lane = threadIdx.x{};", per_block > 1 ? fmt::format(" % {}", plan_.group) : "");
  if (plan_.row_shared_bytes > 0) {
    out_.line("extern __shared__ __align__(16) u8 shared[];");
    if (per_block > 1)
      out_.line("u8* const own = shared + threadIdx.x / {} * {};", plan_.group, plan_.row_shared_bytes);
  }
  for (size_t i = 0; i < nest_.locals.size(); ++i)
    if (plan_.locals[i].place == Place::kShared)
      out_.line("{0}* const c{1} = reinterpret_cast<{0}*>({2} + {3});", memory_type(nest_.locals[i].dtype), i,
                per_block > 1 ? "own" : "shared", plan_.locals[i].offset);
}

void NestPrinter::print_rows(const loop::For& rows) {
  const loop::Axis& work = nest_.axis(rows.axis);
  const int per_block = plan_.rows_per_block();
  std::string first = "blockIdx.x", step = "gridDim.x";
  if (per_block > 1) {
    first = fmt::format("(i64)blockIdx.x * {} + threadIdx.x / {}", per_block, plan_.group);
    step = fmt::format("(i64)gridDim.x * {}", per_block);
  }
  if (work.begin.constant() != 0) first = fmt::format("{} + {}", printer_.index_operand(work.begin), first);
  out_.open("for (i64 m = {}; m < {}; m += {})", first, printer_.index_operand(work.extent), step);
  in_group_ = true;
  print_body(rows.body);
  in_group_ = false;
  out_.close();
}

void NestPrinter::synchronize() {
  out_.line("{}();", plan_.group == 32 ? "__syncwarp" : "__syncthreads");
}

bool NestPrinter::touches_shared(const loop::Stmt& stmt) const {
  const auto writes = [&](const auto& self, const loop::Stmt& s) -> bool {
    if (const auto* store = std::get_if<loop::StoreLocal>(&s.node))
      return plan_.locals[static_cast<size_t>(store->local)].place == Place::kShared;
    if (const auto* loop = std::get_if<loop::For>(&s.node))
      return std::ranges::any_of(loop->body, [&](const loop::Stmt& inner) { return self(self, inner); });
    return false;
  };
  return writes(writes, stmt);
}

void NestPrinter::print_body(const Body& body) {
  for (const loop::Stmt& stmt : body) {
    // A serial loop waits in its own statements.
    const auto* loop = std::get_if<loop::For>(&stmt.node);
    const bool own_waits = loop != nullptr && nest_.axis(loop->axis).kind != AxisKind::kLane;
    const bool waits = in_group_ && !own_waits && touches_shared(stmt);
    if (waits) synchronize();
    std::visit(
        [this](const auto& node) {
          using Node = std::decay_t<decltype(node)>;
          if constexpr (!std::is_same_v<Node, loop::Gemm> && !std::is_same_v<Node, loop::Attention>)
            print(node);
        },
        stmt.node);
    if (waits) synchronize();
  }
}

void NestPrinter::serial(AxisId axis, const std::function<void()>& body) {
  const std::string i = printer_.names().axis_name(axis);
  const auto found = bounds_.find(axis);
  const std::string begin =
                        found != bounds_.end() ? found->second.first : printer_.index(nest_.axis(axis).begin),
                    end = found != bounds_.end() ? found->second.second
                                                 : printer_.index_operand(nest_.axis(axis).extent);
  out_.open("for (i64 {0} = {1}; {0} < {2}; ++{0})", i, begin, end);
  body();
  out_.close();
}

void NestPrinter::deal(AxisId id, const std::function<void()>& body) {
  const loop::Axis& axis = nest_.axis(id);
  const Spread& spread = plan_.spread(id);
  const std::string i = printer_.names().axis_name(id);
  const int width = spread.vector;
  in_group_ = false;
  if (width > 1) vector_ = Vector{id, width};
  if (spread.rounds > 0) {
    const std::string end = printer_.index_operand(axis.extent);
    const std::string scale = width > 1 ? fmt::format(" * {}", width) : "";
    if (spread.rounds == 1) {
      round_ = std::string("0");
      out_.open_block();
      out_.line("const i64 {} = lane{};", i, scale);
    } else {
      round_ = printer_.fresh("u");
      out_.line("#pragma unroll");
      out_.open("for (i32 {0} = 0; {0} < {1}; ++{0})", round_, spread.rounds);
      const std::string place = fmt::format("{} * {} + lane", round_, plan_.group);
      out_.line("const i64 {} = {};", i, width > 1 ? fmt::format("({}){}", place, scale) : place);
    }
    if (!spread.whole) out_.open("if ({} < {})", i, end);
    body();
    if (!spread.whole) out_.close();
    out_.close();
  } else {
    const std::string lane = width > 1 ? fmt::format("lane * {}", width) : "lane";
    const std::string begin =
        axis.begin.constant() == 0 ? lane : fmt::format("{} + {}", printer_.index_operand(axis.begin), lane);
    out_.open("for (i64 {0} = {1}; {0} < {2}; {0} += {3})", i, begin, printer_.index_operand(axis.extent),
              plan_.group * width);
    body();
    out_.close();
  }
  round_.clear();
  vector_.reset();
  in_group_ = true;
}

void NestPrinter::print(const loop::For& loop) {
  const auto pool = plan_.pools.find(loop.axis);
  if (in_group_ && pool != plan_.pools.end() && !loop.body.empty() &&
      is_pool(nest_, loop.body.front(), loop.axis))
    print_pool(loop, pool->second);
  else if (in_group_ && nest_.axis(loop.axis).kind == AxisKind::kLane)
    deal(loop.axis, [&] { print_body(loop.body); });
  else
    serial(loop.axis, [&] { print_body(loop.body); });
}

bool NestPrinter::varies(std::string_view symbol) const {
  if (!vector_) return false;
  if (symbol == nest_.axis(vector_->axis).name) return true;
  const int32_t value = printer_.names().value(symbol);
  return value >= 0 && varying_[static_cast<size_t>(value)];
}

bool NestPrinter::is_uniform(const SymInt& index) const {
  return std::ranges::none_of(index.symbols(), [this](const std::string& s) { return varies(s); });
}

void NestPrinter::load_vectors(std::initializer_list<ExprId> roots) {
  std::vector<ExprId> open;
  for (const ExprId root : roots)
    if (root != kNoExpr) open.push_back(root);
  std::set<ExprId> seen;
  while (!open.empty()) {
    const ExprId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const Expr& e = nest_.expr(id);
    for (const ExprId operand : e.operands)
      if (operand != kNoExpr) open.push_back(operand);
    if (e.kind != Expr::Kind::kLoad || e.operands[0] != kNoExpr) continue;
    const std::string name = printer_.fresh("t");
    const std::string place = fmt::format("b{}", e.id), index = printer_.index(e.index);
    if (is_uniform(e.index)) {
      out_.line("const {} {} = {};", scalar_type(lane_of(e.dtype)), name,
                ExprPrinter::loaded(e.dtype, fmt::format("{}[{}]", place, index)));
      loaded_[id] = name;
    } else if (is_vector_access(e.index, nest_.axis(vector_->axis).name, vector_->width,
                                [this](std::string_view s) { return varies(s); })) {
      out_.line("const Pack<{0}, {1}> {2} = load_vector<{1}>({3} + ({4}));", memory_type(e.dtype),
                vector_->width, name, place, index);
      const std::string element = ExprPrinter::loaded(e.dtype, name + ".v[j]");
      loaded_[id] = e.dtype == DType::kBool ? fmt::format("({})", element) : element;
    }
  }
}

std::string NestPrinter::held_element(const Expr& e) const {
  if (plan_.locals[static_cast<size_t>(e.id)].place != Place::kRegisters) return "";
  const std::string held = !vector_        ? round_
                           : round_ == "0" ? "j"
                                           : fmt::format("{} * {} + j", round_, vector_->width);
  return fmt::format("c{}[{}]", e.id, held);
}

std::string NestPrinter::leaf_text(ExprId id) {
  if (const auto it = loaded_.find(id); it != loaded_.end()) return it->second;
  const Expr& e = nest_.expr(id);
  return e.kind == Expr::Kind::kLocal ? held_element(e) : "";
}

void NestPrinter::statement(std::initializer_list<ExprId> roots, const std::function<void()>& body) {
  printer_.begin(roots);
  loaded_.clear();
  if (!vector_) {
    body();
    return;
  }
  load_vectors(roots);
  out_.line("#pragma unroll");
  out_.open("for (i32 j = 0; j < {}; ++j)", vector_->width);
  in_element_ = true;
  body();
  in_element_ = false;
  out_.close();
  loaded_.clear();
}

void NestPrinter::define(int32_t value) {
  varying_[static_cast<size_t>(value)] = vector_.has_value() && !dealt_vector_;
}

void NestPrinter::print(const loop::Let& let) {
  const std::string_view type = scalar_type(lane_of(nest_.values[static_cast<size_t>(let.value)].dtype));
  if (vector_) out_.line("{} v{}[{}];", type, let.value, vector_->width);
  statement({let.expr}, [&] {
    const std::string x = printer_.expression(let.expr);
    if (vector_)
      out_.line("v{}[j] = {};", let.value, x);
    else
      out_.line("const {} v{} = {};", type, let.value, x);
  });
  define(let.value);
}

void NestPrinter::print(const loop::DeclareLocal& declare) {
  const LocalPlan& placed = plan_.locals[static_cast<size_t>(declare.local)];
  const DType dtype = nest_.locals[static_cast<size_t>(declare.local)].dtype;
  if (placed.place == Place::kRegisters)
    out_.line("{} c{}[{}];", scalar_type(lane_of(dtype)), declare.local, placed.elements);
  else if (placed.place == Place::kPrivate)
    out_.line("{} c{}[{}];", memory_type(dtype), declare.local, placed.elements);
}

void NestPrinter::print(const loop::StoreLocal& store) {
  const LocalPlan& placed = plan_.locals[static_cast<size_t>(store.local)];
  const DType dtype = nest_.locals[static_cast<size_t>(store.local)].dtype;
  statement({store.expr}, [&] {
    if (placed.place == Place::kRegisters) {
      const std::string x = printer_.expression(store.expr);
      out_.line("{} = {};", held_element({.id = store.local}), x);
      return;
    }
    const std::string x = printer_.stored(dtype, store.expr);
    const std::string place = fmt::format("c{}[{}]", store.local, printer_.index(store.index));
    if (in_group_ && placed.place == Place::kShared) {
      // All have read what they need before the one writes.
      const std::string value = printer_.fresh("t");
      out_.line("const {} {} = {};", memory_type(dtype), value, x);
      synchronize();
      out_.line("if (lane == 0) {} = {};", place, value);
    } else {
      out_.line("{} = {};", place, x);
    }
  });
}

void NestPrinter::print(const loop::Store& store) {
  const DType dtype = nest_.buffers[static_cast<size_t>(store.buffer)].dtype;
  const std::string place = fmt::format("b{}", store.buffer);
  if (vector_ && store.predicate == kNoExpr &&
      is_vector_access(store.index, nest_.axis(vector_->axis).name, vector_->width,
                       [this](std::string_view s) { return varies(s); })) {
    const std::string values = printer_.fresh("t");
    out_.line("Pack<{}, {}> {};", memory_type(dtype), vector_->width, values);
    statement({store.expr}, [&] {
      const std::string x = printer_.stored(dtype, store.expr);
      out_.line("{}.v[j] = {};", values, x);
    });
    out_.line("store_vector<{}>({} + ({}), {});", vector_->width, place, printer_.index(store.index), values);
    return;
  }
  if (store.predicate == kNoExpr) {
    statement({store.expr}, [&] {
      const std::string x = printer_.stored(dtype, store.expr);
      out_.line("{}{}[{}] = {};", in_group_ ? "if (lane == 0) " : "", place, printer_.index(store.index), x);
    });
    return;
  }
  // What lies outside is not read where the predicate is false.
  statement({store.predicate}, [&] {
    const std::string predicate = printer_.operand(store.predicate);
    out_.open("if ({}{})", in_group_ ? "lane == 0 && " : "", predicate);
    printer_.begin({store.expr});
    loaded_.clear();
    const std::string x = printer_.stored(dtype, store.expr);
    out_.line("{}[{}] = {};", place, printer_.index(store.index), x);
    out_.close();
  });
}

}  // namespace edge_infer::cuda
