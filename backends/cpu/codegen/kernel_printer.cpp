#include "backends/cpu/codegen/kernel_printer.h"

#include <algorithm>
#include <set>
#include <variant>

namespace edge_infer::cpu_codegen {

using loop::AxisId;
using loop::AxisKind;
using loop::Body;
using loop::ExprId;
using loop::kNoExpr;

KernelPrinter::KernelPrinter(const loop::LoopNest& nest, int depth)
    : nest_(nest), out_(depth), names_(nest), forms_(nest.values.size(), Form::kUndefined) {
  index_ = {.name = [this](std::string_view name) { return symbol_name(name, false); },
            .ranges = names_.ranges()};
  lane_index_ = {.name = [this](std::string_view name) { return symbol_name(name, true); },
                 .ranges = names_.ranges()};
}

std::string KernelPrinter::fresh(std::string_view prefix) {
  return fmt::format("{}{}", prefix, fresh_++);
}

void KernelPrinter::define_value(int32_t id, bool vector) {
  forms_[static_cast<size_t>(id)] = vector ? Form::kVector : Form::kScalar;
}

void KernelPrinter::define(int32_t value, const std::string& code, bool vector) {
  const Lane lane = lane_of(nest_.values[static_cast<size_t>(value)].dtype);
  out_.line("const {} v{} = {};", vector ? vector_type(lane) : scalar_type(lane), value, code);
  define_value(value, vector);
}

KernelPrinter::Range KernelPrinter::range_of(AxisId id) const {
  if (const auto it = bounds_.find(id); it != bounds_.end()) return it->second;
  const loop::Axis& axis = nest_.axis(id);
  return {.begin = index_.operand(axis.begin),
          .end = index_.operand(axis.extent),
          .extent = (axis.extent - axis.begin).constant(),
          .aligned = axis.begin.constant() == 0};
}

void KernelPrinter::lane_loop(AxisId axis, const Range& range, const std::function<void()>& body) {
  const std::string i = names_.axis_name(axis);
  const std::optional<Lanes> outer = lanes_;
  const bool vectors = !range.extent || *range.extent >= 16;
  const bool rest = !range.extent || *range.extent % 16 != 0;
  const auto print_vectors = [&](std::string_view declaration) {
    out_.open("for ({}; {} + 16 <= {}; {} += 16)", declaration, i, range.end, i);
    lanes_ = Lanes{.axis = axis, .whole = true, .aligned = range.aligned};
    body();
    out_.close();
  };
  if (range.extent && *range.extent <= 0) return;
  if (!rest) {
    print_vectors(fmt::format("int64_t {} = {}", i, range.begin));
  } else {
    out_.open_block();
    out_.line("int64_t {} = {};", i, range.begin);
    if (vectors) print_vectors("");
    out_.open("if ({} < {})", i, range.end);
    out_.line("const int64_t lanes = {} - {};", range.end, i);
    lanes_ = Lanes{.axis = axis, .whole = false, .aligned = range.aligned};
    body();
    out_.close();
    out_.close();
  }
  lanes_ = outer;
}

// What may run in the lanes of `axis`: no local of its own, no further vectors inside, and loads that go
// along the axis rather than along a reduction inside.
bool KernelPrinter::lanes_fit(AxisId axis, const Body& body) const {
  int along = 0, across = 0;
  const auto weigh = [&](ExprId root, const std::string& inner) {
    std::vector<ExprId> open{root};
    while (!open.empty()) {
      const loop::Expr& e = nest_.expr(open.back());
      open.pop_back();
      for (const ExprId operand : e.operands)
        if (operand != kNoExpr) open.push_back(operand);
      if (e.kind != loop::Expr::Kind::kLoad && e.kind != loop::Expr::Kind::kLocal) continue;
      const auto unit = [&](const std::string& name) {
        const auto step = lane_step(e.index, name, 1, [&](std::string_view s) { return s == name; });
        return step && step->constant() == 1;
      };
      if (unit(nest_.axis(axis).name)) ++along;
      if (unit(inner)) ++across;
    }
  };
  // Bounds of inner loops must be the same in all lanes; a value defined in here may not be.
  std::set<std::string> varying{nest_.axis(axis).name};
  const auto uniform = [&](AxisId inner) {
    const auto same = [&](const SymInt& bound) {
      return std::ranges::none_of(bound.symbols(), [&](const std::string& s) { return varying.contains(s); });
    };
    return same(nest_.axis(inner).begin) && same(nest_.axis(inner).extent);
  };
  std::function<bool(const Body&)> fits = [&](const Body& statements) {
    return std::ranges::all_of(statements, [&](const loop::Stmt& stmt) {
      if (const auto* let = std::get_if<loop::Let>(&stmt.node))
        varying.insert(fmt::format("v{}", let->value));
      if (const auto* inner = std::get_if<loop::For>(&stmt.node))
        return nest_.axis(inner->axis).kind == AxisKind::kSerial && uniform(inner->axis) && fits(inner->body);
      if (const auto* reduce = std::get_if<loop::Reduce>(&stmt.node)) {
        if (!std::ranges::all_of(reduce->axes, uniform)) return false;
        for (const int32_t value : reduce->values) varying.insert(fmt::format("v{}", value));
        weigh(reduce->expr, nest_.axis(reduce->axes.back()).name);
      }
      return !std::holds_alternative<loop::DeclareLocal>(stmt.node) &&
             !std::holds_alternative<loop::Gemm>(stmt.node) &&
             !std::holds_alternative<loop::Attention>(stmt.node);
    });
  };
  return fits(body) && along >= across;
}

bool KernelPrinter::work_in_lanes() const {
  const auto& work = std::get<loop::For>(nest_.body.front().node);
  const bool flat = std::ranges::none_of(work.body, [](const loop::Stmt& stmt) {
    return std::holds_alternative<loop::For>(stmt.node) ||
           std::holds_alternative<loop::StoreLocal>(stmt.node);
  });
  return flat && lanes_fit(work.axis, work.body);
}

void KernelPrinter::print_rows() {
  const auto& work = std::get<loop::For>(nest_.body.front().node);
  if (work_in_lanes()) {
    lane_loop(work.axis, {.begin = "m0", .end = "m1", .extent = {}, .aligned = false},
              [&] { print_body(work.body); });
    return;
  }
  if (const AxisId columns = nest_.split_columns(); columns >= 0) {
    // Whole vectors end at the axis' extent: the executor cuts at multiples of 16.
    const auto extent = nest_.axis(columns).extent.constant();
    const bool vectors = extent && *extent % 16 == 0 && nest_.axis(columns).begin.constant() == 0;
    bounds_[columns] = {.begin = "n0",
                        .end = "n1",
                        .extent = vectors ? std::optional<int64_t>(*extent) : std::nullopt,
                        .aligned = nest_.axis(columns).begin.constant() == 0};
  }
  out_.open("for (int64_t m = m0; m < m1; ++m)");
  print_body(work.body);
  out_.close();
}

void KernelPrinter::print_lanes(AxisId axis, bool whole, bool aligned, const Body& body) {
  const std::optional<Lanes> outer = lanes_;
  lanes_ = Lanes{.axis = axis, .whole = whole, .aligned = aligned};
  print_body(body);
  lanes_ = outer;
}

void KernelPrinter::print_row(AxisId axis, ExprId e, const std::string& pointer) {
  lane_loop(axis, range_of(axis), [&] {
    store_element(nest_.expr(e).dtype, pointer, SymInt::symbol(nest_.axis(axis).name), e, kNoExpr);
  });
}

void KernelPrinter::print_body(const Body& body) {
  for (const loop::Stmt& stmt : body) print_statement(stmt);
}

void KernelPrinter::print_statement(const loop::Stmt& stmt) {
  std::visit(
      [this](const auto& node) {
        using Node = std::decay_t<decltype(node)>;
        // Locals are declared with the function's other pointers; gemm and attention are templates around the
        // slots.
        if constexpr (!std::is_same_v<Node, loop::DeclareLocal> && !std::is_same_v<Node, loop::Gemm> &&
                      !std::is_same_v<Node, loop::Attention>)
          print(node);
      },
      stmt.node);
}

void KernelPrinter::print(const loop::For& loop) {
  const Range range = range_of(loop.axis);
  if (nest_.axis(loop.axis).kind == AxisKind::kLane && !lanes_ && lanes_fit(loop.axis, loop.body)) {
    lane_loop(loop.axis, range, [&] { print_body(loop.body); });
    return;
  }
  const std::string i = names_.axis_name(loop.axis);
  out_.open("for (int64_t {0} = {1}; {0} < {2}; ++{0})", i, range.begin, range.end);
  print_body(loop.body);
  out_.close();
}

void KernelPrinter::print(const loop::Let& let) {
  begin_statement({let.expr});
  const Text x = emit(let.expr);
  define(let.value, x.code, x.vector);
}

void KernelPrinter::print(const loop::StoreLocal& store) {
  store_element(nest_.locals[static_cast<size_t>(store.local)].dtype, fmt::format("c{}", store.local),
                store.index, store.expr, kNoExpr);
}

void KernelPrinter::print(const loop::Store& store) {
  store_element(nest_.buffers[static_cast<size_t>(store.buffer)].dtype, fmt::format("b{}", store.buffer),
                store.index, store.expr, store.predicate);
}

void KernelPrinter::store_element(DType dtype, const std::string& pointer, const SymInt& index, ExprId value,
                                  ExprId predicate) {
  begin_statement({value, predicate});
  const std::string_view type = dtype_name(dtype);
  const Lane lane = lane_of(dtype);
  const auto at = [&] { return fmt::format("{} + {}", pointer, index_.operand(index)); };
  if (!lanes_) {
    const Text condition = predicate != kNoExpr ? emit(predicate) : Text{};
    if (predicate != kNoExpr) out_.open("if ({})", condition.code);
    out_.line("store1_{}({}, {});", type, at(), emit(value).code);
    if (predicate != kNoExpr) out_.close();
    return;
  }
  const std::optional<SymInt> step = step_of(index);
  Text mask = predicate != kNoExpr ? emit(predicate) : Text{};
  if (predicate != kNoExpr && !mask.vector) {  // all lanes or none
    out_.open("if ({})", mask.code);
    known_.clear();
  }
  const Text x = emit(value);
  if (step && step->constant() == 1) {
    const std::string code = as_vector(x, lane);
    if (mask.vector) {
      const std::string lanes =
          lanes_->whole ? mask.code : fmt::format("{} & below(lanes)", as_operand(mask));
      out_.line("store_if_{}({}, {}, {});", type, at(), code, lanes);
    } else if (lanes_->whole) {
      out_.line("store_{}({}, {});", type, at(), code);
    } else {
      out_.line("store_n_{}({}, {}, lanes);", type, at(), code);
    }
  } else {
    const Text values = named({.code = as_vector(x, lane), .vector = true, .atomic = false}, lane);
    if (mask.vector) mask = named(mask, Lane::kBool);
    out_.open("for (int64_t l = 0; l < {}; ++l)", lane_end());
    const std::string place =
        step ? fmt::format("{} + l * {}", index_.print(index), index_.operand(*step)) : index_in_lane(index);
    out_.line("{}store1_{}({} + ({}), {}[l]);", mask.vector ? fmt::format("if ({}[l]) ", mask.code) : "",
              type, pointer, place, values.code);
    out_.close();
  }
  if (predicate != kNoExpr && !mask.vector) {
    out_.close();
    known_.clear();
  }
}

}  // namespace edge_infer::cpu_codegen
