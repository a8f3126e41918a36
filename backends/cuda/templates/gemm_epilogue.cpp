#include "backends/cuda/templates/gemm_epilogue.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "backends/cuda/codegen/expr_printer.h"

namespace edge_infer::cuda {
namespace {

using loop::Expr;
using loop::ExprId;
using loop::kNoExpr;

constexpr int kMostTiles = 2;    // operands, and results, that pass through shared memory
constexpr int kMostColumns = 2;  // column operands that do

enum class Way {
  kElement,  // by element() itself
  kColumn,   // of a column, for all rows: a pair of elements
  kPair,     // two elements of a row at once
  kTile,     // through shared memory
};
bool is_half(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

class EpilogueText {
 public:
  EpilogueText(const loop::LoopNest& nest, const GemmNest& product, int tile_columns, bool stages_columns,
               bool in_bulk)
      : nest_(nest),
        product_(product),
        guarded_(product.n % tile_columns != 0),
        paired_(product.n % 2 == 0),
        stages_columns_(stages_columns),
        in_bulk_(in_bulk),
        printer_(nest, lines_,
                 {.leaf = [this](ExprId e) { return load(e); },
                  .node = [this](ExprId e) { return cheaper(e); },
                  .value = [this](int32_t v) { return v == product_.gemm->value ? "sum" : ""; },
                  .store = [this](const loop::Store& s) { return store(s); }}) {
    half_results_ = std::ranges::all_of(product.gemm->body, [&](const loop::Stmt& stmt) {
      const auto* store = std::get_if<loop::Store>(&stmt.node);
      return store == nullptr || is_half(nest_.buffers[static_cast<size_t>(store->buffer)].dtype);
    });
  }

  GemmEpilogue text() {
    for (const loop::Let* let : product_.before) printer_.print(*let);
    printer_.print(product_.gemm->body);
    const std::string element = element_function(lines_.take()), pairs = pair_function(),
                      tiles = tile_functions();
    GemmEpilogue result{
        .tile_loads = tile_loads_, .tile_stores = tile_stores_, .column_loads = column_loads_};
    const auto stores = std::ranges::count_if(product_.gemm->body, [](const loop::Stmt& stmt) {
      return std::holds_alternative<loop::Store>(stmt.node);
    });
    result.results_only =
        tile_loads_ == 0 && tile_stores_ == stores && std::ranges::all_of(stores_, [&](const Move& move) {
          return move.at.offset + product_.n <= move.at.row;
        });
    std::string fields, from;
    const auto add = [&](const std::string& type, const std::string& name) {
      if (!names(element + pairs + tiles, name)) return;
      fields += fmt::format("  {} {};\n", type, name);
      from += fmt::format("{}{}", from.empty() ? "" : ", ", name);
    };
    for (size_t i = 0; i < nest_.buffers.size(); ++i) add(pointer_type(i), fmt::format("b{}", i));
    for (size_t i = 0; i < nest_.symbols.size(); ++i) add("i64", fmt::format("s{}", i));
    for (const Move& move : stores_)
      if (in_bulk_ && move.way == Way::kTile) {
        fields += fmt::format("  const TMap* map{};\n", move.tile);
        from += fmt::format("{}&map{}", from.empty() ? "" : ", ", result.maps.size() + 2);
        result.maps.push_back({move.buffer, buffer(move.buffer).dtype, move.at.row, 64, 16, 128});
      }
    result.slots = fmt::format("{{{}}}", from);
    result.text = fmt::format("// What the epilogue reads and writes.\nstruct Slots {{\n{}}};\n", fields) +
                  tiles + element + pairs;
    return result;
  }

 private:
  // One access that is not element()'s own.
  struct Move {
    Way way = Way::kElement;
    int32_t buffer = -1;
    RowMajor at;
    int tile = -1;  // number among those that are staged
    std::string name;
  };

  std::string pointer_type(size_t buffer) const {
    const loop::Buffer& b = nest_.buffers[buffer];
    return fmt::format("{}{}*", b.access == loop::Access::kOut ? "" : "const ", memory_type(b.dtype));
  }
  const loop::Buffer& buffer(int32_t id) const { return nest_.buffers[static_cast<size_t>(id)]; }

  Way way_of(int32_t id, const std::optional<RowMajor>& at, bool is_load, int tiles) const {
    const DType dtype = buffer(id).dtype;
    if (!at || at->column != 1 || !paired_ || at->offset % 2 != 0 || at->row % 2 != 0 || at->row < 0 ||
        at->offset < 0 || (!is_half(dtype) && dtype != DType::kF32))
      return Way::kElement;
    if (at->row == 0) return is_load ? Way::kColumn : Way::kElement;
    const bool pieces = product_.n % 8 == 0 && at->offset % 8 == 0 && at->row % 8 == 0;
    return is_half(dtype) && pieces && tiles < kMostTiles ? Way::kTile : Way::kPair;
  }

  // Hooks of the printer.
  std::string load(ExprId id) {
    const Expr& e = nest_.expr(id);
    if (e.kind != Expr::Kind::kLoad || e.operands[0] != kNoExpr) return "";
    if (const auto known = loads_.find(id); known != loads_.end()) return known->second.name;
    const std::optional<RowMajor> at = row_major(nest_, e.index, product_.gemm->n);
    Move move{.way = way_of(e.id, at, true, tile_loads_), .buffer = e.id};
    if (move.way == Way::kElement) return "";
    move.at = *at;
    if (move.way == Way::kTile) move.tile = tile_loads_++;
    if (move.way == Way::kColumn && stages_columns_ && column_loads_ < kMostColumns &&
        buffer(e.id).dtype == DType::kF32 && product_.n % 4 == 0 && at->offset % 4 == 0)
      move.tile = column_loads_++;
    move.name = fmt::format("x{}", loads_.size());
    order_.push_back(id);
    return loads_[id].name = (loads_[id] = move).name;
  }
  bool store(const loop::Store& s) {
    const std::optional<RowMajor> at = row_major(nest_, s.index, product_.gemm->n);
    Move move{.way = s.predicate == kNoExpr ? way_of(s.buffer, at, false, tile_stores_) : Way::kElement,
              .buffer = s.buffer};
    const DType dtype = buffer(s.buffer).dtype;
    if (move.way == Way::kElement) {
      inside_ = true;
      lines_.open("if (inside{})",
                  s.predicate == kNoExpr ? "" : fmt::format(" && {}", printer_.operand(s.predicate)));
      const std::string x = printer_.stored(dtype, s.expr);
      lines_.line("b{}[{}] = {};", s.buffer, printer_.index(s.index), x);
      lines_.close();
      return true;
    }
    move.at = *at;
    if (move.way == Way::kTile) move.tile = tile_stores_++;
    if (move.way == Way::kPair) inside_ = true;
    move.name = fmt::format("y{}", stores_.size());
    // The pair is rounded as a whole.
    const Expr& e = nest_.expr(s.expr);
    const bool rounds =
        e.kind == Expr::Kind::kCast && is_half(dtype) && nest_.expr(e.operands[0]).dtype == DType::kF32;
    const std::string x = printer_.expression(rounds ? e.operands[0] : s.expr);
    lines_.line("{} = {};", move.name, x);
    stores_.push_back(move);
    return true;
  }
  bool is_constant(ExprId id, double number) const {
    const Expr& e = nest_.expr(id);
    return e.kind == Expr::Kind::kConst && e.dtype == DType::kF32 && std::abs(e.number - number) <= 1e-7;
  }
  // The other operand of an f32 `op` with this number; kNoExpr where `id` is something else.
  ExprId beside(ExprId id, loop::ScalarOp op, double number) const {
    const Expr& e = nest_.expr(id);
    if (e.kind != Expr::Kind::kBinary || e.op != op || e.dtype != DType::kF32) return kNoExpr;
    if (is_constant(e.operands[1], number)) return e.operands[0];
    return is_constant(e.operands[0], number) ? e.operands[1] : kNoExpr;
  }
  // x of erf(x) in f32.
  ExprId under_erf(ExprId id) const {
    if (id == kNoExpr) return kNoExpr;
    const Expr& e = nest_.expr(id);
    return e.kind == Expr::Kind::kUnary && e.op == loop::ScalarOp::kErf && e.dtype == DType::kF32
               ? e.operands[0]
               : kNoExpr;
  }
  // x of (x / 2) (erf(x / sqrt(2)) + 1).
  ExprId under_gelu(ExprId id) const {
    const Expr& e = nest_.expr(id);
    if (e.kind != Expr::Kind::kBinary || e.op != loop::ScalarOp::kMul) return kNoExpr;
    for (const size_t first : {0, 1}) {
      const ExprId x = beside(e.operands[first], loop::ScalarOp::kMul, 0.5);
      const ExprId scaled = under_erf(beside(e.operands[1 - first], loop::ScalarOp::kAdd, 1));
      if (x != kNoExpr && scaled != kNoExpr && beside(scaled, loop::ScalarOp::kMul, M_SQRT1_2) == x) return x;
    }
    return kNoExpr;
  }
  // erf at the grade of results of 16 bits.
  std::string cheaper(ExprId id) {
    if (!half_results_) return "";
    if (const ExprId x = under_gelu(id); x != kNoExpr) return fmt::format("gelu({})", printer_.expression(x));
    if (const ExprId x = under_erf(id); x != kNoExpr)
      return fmt::format("fast_erf({})", printer_.expression(x));
    if (const ExprId x = under_erf(beside(id, loop::ScalarOp::kAdd, 1)); x != kNoExpr)
      return fmt::format("erf_plus_one({})", printer_.expression(x));
    return "";
  }

  // The value of the epilogue in one row and column.
  std::string element_function(const std::string& body) {
    const std::string column = printer_.names().axis_name(product_.gemm->n);
    std::string head = fmt::format(
        "// One element: row m, column {}.\nFN void element(const Slots& c, i64 m, i64 {}, ", column, column);
    if (inside_) head += "bool inside, ";
    head += "float sum";
    for (const ExprId id : order_) head += fmt::format(", float {}", loads_.at(id).name);
    for (const Move& move : stores_) head += fmt::format(", float& {}", move.name);
    head += ") {\n";
    for (size_t i = 0; i < nest_.buffers.size(); ++i)
      if (const std::string name = fmt::format("b{}", i); names(body, name))
        head += fmt::format("  {0} {1} = c.{1};\n", pointer_type(i), name);
    for (size_t i = 0; i < nest_.symbols.size(); ++i)
      if (const std::string name = fmt::format("s{}", i); names(body, name))
        head += fmt::format("  const i64 {0} = c.{0};\n", name);
    std::string indented;
    for (std::string_view rest = body; !rest.empty();) {
      const size_t end = rest.find('\n') + 1;
      indented += "  ";
      indented += rest.substr(0, end);
      rest.remove_prefix(end);
    }
    return head + indented + "}\n";
  }

  std::string address(const Move& move, std::string_view m, std::string_view n) const {
    std::string text = fmt::format("c.b{}", move.buffer);
    if (move.at.row != 0) text += fmt::format(" + (i64){} * {}", m, move.at.row);
    text += fmt::format(" + {}", n);
    if (move.at.offset != 0) text += fmt::format(" + {}", move.at.offset);
    return text;
  }
  std::string load_pair(const Move& move) const {
    const DType dtype = buffer(move.buffer).dtype;
    if (move.way == Way::kTile)
      return fmt::format("pair_from_{}(in[{}][h + r])", dtype_name(dtype), move.tile);
    if (move.tile >= 0) return fmt::format("load_pair(columns + {} * kTileN * 4 + n0 * 4)", move.tile);
    const std::string from = address(move, "m0", "n0");
    if (dtype == DType::kF32) return fmt::format("*(const float2*)({})", from);
    return fmt::format("pair_from_{}(*(const u32*)({}))", dtype_name(dtype), from);
  }
  std::string store_pair(const Move& move) const {
    const DType dtype = buffer(move.buffer).dtype;
    const std::string value =
        is_half(dtype) ? fmt::format("{}_from_pair({})", dtype_name(dtype), move.name) : move.name;
    if (move.way == Way::kTile) return fmt::format("out[{}][h + r] = {};", move.tile, value);
    return fmt::format("if (inside) *({}*)({}) = {};", is_half(dtype) ? "u32" : "float2",
                       address(move, "m0", "n0"), value);
  }

  // The slot itself.
  std::string pair_function() {
    Lines out(0);
    out.line(
        "// Columns n and n + 1 of rows m and m + 8: sums v, staged operands and results in[.][h] and [h + "
        "1].");
    out.line("FN void epilogue(const Slots& c, i32 m, i32 n, i32 rows, const float* v, const u32 (*in)[4],");
    out.open("                 u32 (*out)[4], i32 h, u32 columns)");
    // Beyond the last column the nearest one is computed, and not stored.
    if (guarded_)
      out.line("const i32 n0 = least(n, kN - {}){};", paired_ ? 2 : 1,
               paired_ ? ", n1 = n0 + 1" : ", n1 = least(n + 1, kN - 1)");
    else
      out.line("const i32 n0 = n, n1 = n + 1;");
    for (const ExprId id : order_)
      if (const Move& move = loads_.at(id); move.way == Way::kColumn)
        out.line("const float2 {} = {};", move.name, load_pair(move));
    out.line("#pragma unroll");
    out.open("for (i32 r = 0; r < 2; r++)");
    out.line("const i32 m0 = least(m + r * 8, rows - 1);");
    if (inside_) out.line("const bool inside = m + r * 8 < rows{};", guarded_ ? " && n < kN" : "");
    for (const ExprId id : order_)
      if (const Move& move = loads_.at(id); move.way != Way::kColumn)
        out.line("const float2 {} = {};", move.name, load_pair(move));
    std::string results;
    for (const Move& move : stores_) results += fmt::format("{}{}", results.empty() ? "" : ", ", move.name);
    if (!results.empty()) out.line("float2 {};", results);
    for (const char part : {'x', 'y'}) {
      const bool second = part == 'y';
      std::string call = fmt::format("element(c, m0, n{}, ", second ? 1 : 0);
      if (inside_) call += second && !paired_ ? "inside && n + 1 < kN, " : "inside, ";
      call += fmt::format("v[r * 2 + {}]", second ? 1 : 0);
      for (const ExprId id : order_) call += fmt::format(", {}.{}", loads_.at(id).name, part);
      for (const Move& move : stores_) call += fmt::format(", {}.{}", move.name, part);
      out.line("{});", call);
    }
    for (const Move& move : stores_) out.line("{}", store_pair(move));
    out.close();
    out.close();
    return out.take();
  }

  std::string tile_functions() const {
    std::vector<const Move*> in, out, columns;
    for (const ExprId id : order_) {
      const Move& move = loads_.at(id);
      if (move.way == Way::kTile) in.push_back(&move);
      if (move.way == Way::kColumn && move.tile >= 0) columns.push_back(&move);
    }
    for (const Move& move : stores_)
      if (move.way == Way::kTile) out.push_back(&move);
    // By number among `moves`, the text of each.
    const auto choice = [](const std::vector<const Move*>& moves, std::string_view number, const auto& of) {
      if (moves.empty()) return std::string("0");
      std::string text;
      for (size_t i = 0; i + 1 < moves.size(); ++i)
        text += fmt::format("{} == {} ? {} : ", number, i, of(*moves[i]));
      return text + of(*moves.back());
    };
    const auto place = [&](const Move& move) { return address(move, "m", "n"); };
    const auto map = [](const Move& move) { return fmt::format("c.map{}", move.tile); };
    const auto column = [](const Move& move) { return fmt::format("n + {}", move.at.offset); };
    return fmt::format(
        "// Where staged operands and results lie.\n"
        "FN const float* column_operand(const Slots& c, i32 operand, i32 n) {{\n  return {};\n}}\n"
        "FN const u16* tile_operand(const Slots& c, i32 tile, i32 m, i32 n) {{\n  return {};\n}}\n"
        "FN u16* tile_result(const Slots& c, i32 tile, i32 m, i32 n) {{\n  return {};\n}}\n"
        "FN const {}* result_map(const Slots& c, i32 tile) {{\n  return {};\n}}\n"
        "FN i32 result_column(i32 tile, i32 n) {{\n  return {};\n}}\n",
        choice(columns, "operand", place), choice(in, "tile", place), choice(out, "tile", place),
        in_bulk_ ? "TMap" : "void", in_bulk_ ? choice(out, "tile", map) : "0",
        in_bulk_ ? choice(out, "tile", column) : "n");
  }

  const loop::LoopNest& nest_;
  const GemmNest& product_;
  bool guarded_, paired_, stages_columns_, in_bulk_;
  bool half_results_ = false;
  bool inside_ = false;
  int tile_loads_ = 0, tile_stores_ = 0, column_loads_ = 0;
  std::map<ExprId, Move> loads_;
  std::vector<ExprId> order_;  // of loads_, as met
  std::vector<Move> stores_;
  Lines lines_;
  ExprPrinter printer_;
};

}  // namespace

int GemmEpilogue::warp_blocks() const {
  const int set = std::max(tile_loads, tile_stores);
  return tile_loads > 0 ? 2 * set : set;
}

Status accepts_epilogue(const loop::LoopNest& nest, const GemmNest& product) {
  for (const loop::Stmt& stmt : product.gemm->body) {
    if (std::holds_alternative<loop::StoreLocal>(stmt.node))
      return fail(ErrorCode::kUnsupported, "slot refused: row needs BN = N");
    if (!std::holds_alternative<loop::Let>(stmt.node) && !std::holds_alternative<loop::Store>(stmt.node))
      return fail(ErrorCode::kUnsupported, "slot refused: epilogue with loops or reductions");
  }
  if (!product.after.empty()) return fail(ErrorCode::kUnsupported, "slot refused: row needs BN = N");
  for (const Expr& e : nest.exprs)
    if (e.kind == Expr::Kind::kLocal) return fail(ErrorCode::kUnsupported, "slot refused: row needs BN = N");
  return {};
}

GemmEpilogue gemm_epilogue(const loop::LoopNest& nest, const GemmNest& product, int tile_columns,
                           bool stages_columns, bool in_bulk) {
  return EpilogueText(nest, product, tile_columns, stages_columns, in_bulk).text();
}

}  // namespace edge_infer::cuda
