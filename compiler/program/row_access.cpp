#include "compiler/program/row_access.h"

#include <map>
#include <string>

namespace edge_infer {
namespace {

using loop::Axis;
using loop::Body;
using loop::Expr;
using loop::ExprId;
using loop::LoopNest;

class Collector {
 public:
  explicit Collector(const LoopNest& nest) : nest_(nest), work_(nest.work().name), out_(nest.buffers.size()) {
    // Ranges under which the rest of an index must stay within its row.
    symbols_ = nest.symbols;
    for (const Axis& axis : nest.axes) {
      if (axis.name == work_) continue;
      const SymRange begin = axis.begin.range(nest.symbols), end = axis.extent.range(nest.symbols);
      if (end.hi == INT64_MAX) continue;  // an unknown symbol to range(): unbounded
      symbols_.push_back({axis.name, {begin.lo, std::max(begin.lo, end.hi - 1)}, begin.lo});
    }
  }

  std::vector<RowAccess> run() {
    // Every expression of the arena counts: a load that no statement reaches does not exist in a nest.
    for (const Expr& e : nest_.exprs)
      if (e.kind == Expr::Kind::kLoad) touch(e.id, e.index, false);
    visit(nest_.body);
    return std::move(out_);
  }

 private:
  void touch(int32_t buffer, const SymInt& index, bool writes) {
    const auto b = static_cast<size_t>(buffer);
    RowAccess& access = out_[b];
    const bool first = !access.reads && !access.writes;
    (writes ? access.writes : access.reads) = true;
    std::optional<SymInt> stride = stride_of(index);
    if (first)
      access.stride = std::move(stride);
    else if (!access.stride || !stride || !(*access.stride == *stride))
      access.stride.reset();
  }
  void anywhere(int32_t buffer, bool writes) {
    if (buffer < 0) return;
    RowAccess& access = out_[static_cast<size_t>(buffer)];
    (writes ? access.writes : access.reads) = true;
    access.stride.reset();
    opaque_.push_back(buffer);
  }

  // index = stride * m + rest with 0 <= rest < stride, nothing else naming m.
  std::optional<SymInt> stride_of(const SymInt& index) const {
    const SymInt m = SymInt::symbol(work_);
    const SymInt at_zero = index.substitute({{work_, SymInt(0)}});
    SymInt stride = index.substitute({{work_, m + 1}}) - index;
    for (const std::string& name : stride.symbols())
      if (!is_size(name)) return std::nullopt;
    if (!(stride * m + at_zero == index)) return std::nullopt;
    for (const std::string& name : at_zero.symbols())
      if (!has_range(name)) return std::nullopt;
    const SymRange rest = at_zero.range(symbols_);
    const SymRange width = stride.range(symbols_);
    if (rest.lo < 0 || rest.hi >= width.lo) return std::nullopt;
    return stride;
  }
  bool is_size(const std::string& name) const {
    for (const Symbol& s : nest_.symbols)
      if (s.name == name) return true;
    return false;
  }
  bool has_range(const std::string& name) const {
    for (const Symbol& s : symbols_)
      if (s.name == name) return true;
    return false;
  }

  void visit(const Body& body) {
    for (const loop::Stmt& stmt : body) {
      if (const auto* f = std::get_if<loop::For>(&stmt.node)) visit(f->body);
      if (const auto* s = std::get_if<loop::Store>(&stmt.node)) touch(s->buffer, s->index, true);
      if (const auto* g = std::get_if<loop::Gemm>(&stmt.node)) {
        anywhere(g->weight, false);
        visit(g->body);
      }
      if (const auto* a = std::get_if<loop::Attention>(&stmt.node)) {
        for (const int32_t b : {a->q.buffer, a->k.buffer, a->v.buffer, a->cu, a->units}) anywhere(b, false);
        anywhere(a->out.buffer, true);
      }
    }
    for (const int32_t b : opaque_) out_[static_cast<size_t>(b)].stride.reset();
  }

  const LoopNest& nest_;
  std::string work_;
  std::vector<Symbol> symbols_;
  std::vector<RowAccess> out_;
  std::vector<int32_t> opaque_;
};

}  // namespace

std::vector<RowAccess> row_accesses(const LoopNest& nest) {
  return Collector(nest).run();
}

}  // namespace edge_infer
