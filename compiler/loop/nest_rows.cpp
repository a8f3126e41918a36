// Which rows a nest runs over, and what follows for its members: columns, stages, costs.
#include <algorithm>

#include "compiler/graph/op_table.h"
#include "compiler/loop/nest_emitter.h"
#include "compiler/loop/pointwise.h"

namespace edge_infer::loop {

int64_t NestEmitter::at_hints(const SymInt& e) const {
  std::map<std::string, int64_t, std::less<>> values;
  for (const Symbol& s : g_.graph.symbols()) values[s.name] = s.hint;
  return e.evaluate(values).value_or(INT64_MAX);
}

// Rows that a node cannot do without: a gemm's, and those of a reduction over the last dimensions.
std::optional<SymInt> NestEmitter::fixed_rows(NodeId id) const {
  const Node& n = node(id);
  const Sizes& out = type(n.outputs[0]).sizes;
  switch (g_.kind(id)) {
    case NodeKind::kGemm:
      return product(std::span(out).first(out.size() - 1));
    case NodeKind::kPool:
      return out[0];
    case NodeKind::kReduce: {
      const Sizes& in = type(n.inputs[0]).sizes;
      const std::vector<size_t> reduced = g_.reduced(n);
      size_t first = in.size();
      SymInt kept = 1;
      for (size_t d = in.size(); d-- > 0;) {
        const bool is_reduced = std::binary_search(reduced.begin(), reduced.end(), d);
        if (!is_reduced && in[d].constant() != 1) break;
        first = d;
      }
      for (const size_t d : reduced)
        if (d < first && in[d].constant() != 1) return std::nullopt;
      for (size_t d = 0; d < first; ++d) kept = kept * in[d];
      return kept;
    }
    default:
      return std::nullopt;
  }
}

std::optional<Refusal> NestEmitter::choose_rows() {
  std::optional<SymInt> fixed;
  int gemms = 0;
  for (const NodeId id : nodes_) {
    if (g_.kind(id) == NodeKind::kGemm) {
      gemm_ = id;
      if (++gemms > 1) return "slot refused: one gemm a nest";
    }
    const auto rows = fixed_rows(id);
    if (!rows) continue;
    if (fixed && !(*fixed == *rows)) return "different map";
    fixed = rows;
  }
  const auto fits = [&](const SymInt& rows) {
    rows_ = rows;
    return std::all_of(stored_.begin(), stored_.end(), [&](ValueId v) { return columns_of(v).has_value(); });
  };
  if (fixed) return fits(*fixed) ? std::nullopt : std::optional<Refusal>("different map");
  // The rows of the largest value first: all of its dimensions but the last.
  std::vector<ValueId> by_size = stored_;
  const auto elements = [&](ValueId v) { return at_hints(type(v).elements()); };
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](ValueId a, ValueId b) { return elements(a) > elements(b); });
  const auto rows_of = [&](ValueId v) {
    const Sizes& sizes = type(v).sizes;
    size_t last = sizes.size();
    while (last > 0 && sizes[last - 1].constant() == 1) --last;
    return product(std::span(sizes).first(last > 0 ? last - 1 : 0));
  };
  for (const ValueId v : by_size) {
    const SymInt rows = rows_of(v);
    if (!fits(rows)) continue;
    // One row of several lengths would leave nothing to split.
    const bool equal = std::all_of(stored_.begin(), stored_.end(), [&](ValueId other) {
      return type(other).elements() == type(stored_[0]).elements();
    });
    if (rows.constant() == 1 && !equal) return fit_one_row();
    find_other_rows();
    return std::nullopt;
  }
  return fit_one_row();
}

std::optional<Refusal> NestEmitter::fit_one_row() {
  if (!is_small()) return "different map";
  rows_ = 1;
  return std::nullopt;
}

bool NestEmitter::is_small() const {
  const auto fits = [&](ValueId v) {
    return type(v).elements().range(g_.graph.symbols()).hi <= options_.least_split_elements;
  };
  return std::all_of(nodes_.begin(), nodes_.end(), [&](NodeId id) {
    const Node& n = node(id);
    const NodeKind kind = g_.kind(id);
    if (kind == NodeKind::kGemm || kind == NodeKind::kPool) return false;
    if (kind == NodeKind::kReduce && !fits(n.inputs[0])) return false;
    return std::all_of(n.outputs.begin(), n.outputs.end(), fits);
  });
}

// Those that a reduction over middle dimensions or a scan leaves whole; then coarser ones, for what is read
// across the rows of the finest.
void NestEmitter::find_other_rows() {
  const SymInt chosen = rows_;
  const auto consider = [&](const SymInt& rows) {
    rows_ = rows;
    const bool fits =
        std::all_of(stored_.begin(), stored_.end(), [&](ValueId v) { return columns_of(v).has_value(); });
    if (fits && !(rows == chosen) &&
        std::find(other_rows_.begin(), other_rows_.end(), rows) == other_rows_.end())
      other_rows_.push_back(rows);
  };
  for (const NodeId id : nodes_) {
    const std::span sizes = type(node(id).inputs.empty() ? stored_[0] : node(id).inputs[0]).sizes;
    if (g_.kind(id) == NodeKind::kScan) consider(product(sizes.first(scanned(node(id)))));
    if (g_.kind(id) == NodeKind::kReduce && !g_.reduced(node(id)).empty())
      consider(product(sizes.first(g_.reduced(node(id)).front())));
  }
  const ValueId largest = *std::max_element(stored_.begin(), stored_.end(), [&](ValueId a, ValueId b) {
    return at_hints(type(a).elements()) < at_hints(type(b).elements());
  });
  const std::span sizes = type(largest).sizes;
  for (size_t whole = sizes.size(); whole-- > 1;) {
    const SymInt rows = product(sizes.first(whole));
    if (product(sizes.subspan(whole)).range(g_.graph.symbols()).hi > options_.row_limit) break;
    if (at_hints(rows) < at_hints(chosen)) consider(rows);
  }
  if (is_small()) consider(1);
  rows_ = chosen;
}

std::optional<SymInt> NestEmitter::columns_of(ValueId v) {
  const Sizes& sizes = type(v).sizes;
  SymInt prefix = 1;
  for (size_t d = 0; d <= sizes.size(); ++d) {
    if (prefix == rows_) return product(std::span(sizes).subspan(d));
    if (d < sizes.size()) prefix = prefix * sizes[d];
  }
  const SymInt elements = type(v).elements(), columns = floordiv(elements, rows_);
  if (columns * rows_ == elements) return columns;
  return std::nullopt;
}

NestEmitter::Place NestEmitter::locate(ValueId v, const Index& index) {
  const Sizes rows_and_columns = {rows_, *columns_of(v)};
  const Index place = reshape(index, type(v).sizes, rows_and_columns, bounds_);
  return {place[0], place[1]};
}

Index NestEmitter::index_of(ValueId v, const SymInt& row, const SymInt& column) {
  const Sizes rows_and_columns = {rows_, *columns_of(v)};
  const Index place = {row, column};
  return reshape(place, rows_and_columns, type(v).sizes, bounds_);
}

bool NestEmitter::is_row_reduction(NodeId id) {
  if (g_.kind(id) != NodeKind::kReduce) return false;
  const auto columns = columns_of(node(id).outputs[0]);
  return columns && columns->constant() == 1;
}

// Row reductions on the way to the value: values of one stage may share a loop.
int NestEmitter::stage(ValueId v) {
  v = g_.base(v);
  const NodeId id = g_.source(v);
  if (!contains(id)) return 0;
  const auto known = stages_.find(v);
  if (known != stages_.end()) return known->second;
  int result = 0;
  for (const ValueId input : node(id).inputs)
    if (input != kNoValue) result = std::max(result, stage(input));
  if (is_row_reduction(id) || g_.kind(id) == NodeKind::kScan) ++result;
  stages_[v] = result;
  return result;
}

bool NestEmitter::depends_on_gemm(ValueId v) {
  v = g_.base(v);
  const NodeId id = g_.source(v);
  if (gemm_ == kNoNode || !contains(id)) return false;
  if (id == gemm_) return true;
  if (g_.kind(id) != NodeKind::kPure) return false;
  const auto known = gemm_dependence_.find(v);
  if (known != gemm_dependence_.end()) return known->second;
  const auto& inputs = node(id).inputs;
  const bool result = std::any_of(inputs.begin(), inputs.end(),
                                  [&](ValueId input) { return input != kNoValue && depends_on_gemm(input); });
  gemm_dependence_[v] = result;
  return result;
}

bool NestEmitter::is_of_gemm_loop(ValueId v) {
  if (!depends_on_gemm(v) || stage(v) != 0 || apart_.count(v) > 0) return false;
  const auto columns = columns_of(v);
  return columns && *columns == type(node(gemm_).outputs[0]).sizes.back();
}

bool NestEmitter::reads_gemm(ValueId v) {
  v = g_.base(v);
  const NodeId id = g_.source(v);
  if (!depends_on_gemm(v)) return false;
  if (id == gemm_) return true;
  const auto known = reads_.find(v);
  if (known != reads_.end()) return known->second;
  const auto& inputs = node(id).inputs;
  const bool result = std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
    return input != kNoValue && !is_held(g_.base(input)) && reads_gemm(input);
  });
  reads_[v] = result;
  return result;
}

// A value of several uses serves them all; what is computed from it alone need not be held besides.
ValueId NestEmitter::worth_holding(ValueId v) {
  // Products that are summed are not rounded in between, whoever computes their factors.
  const auto is_summed = [&](ValueId product) {
    const auto& users = g_.users_of(product);
    return node(producer(product)).op->name == "aten.mul" &&
           std::any_of(users.begin(), users.end(), [&](NodeId u) { return node(u).op->name == "aten.sum"; });
  };
  if (is_summed(v))
    for (const ValueId input : node(producer(v)).inputs)
      if (!is_held(g_.base(input)) && reads_gemm(input)) return worth_holding(g_.base(input));
  for (ValueId w = v;;) {
    if (g_.users_of(w).size() > 1 || is_stored(w)) return w;
    if (g_.kind(producer(w)) != NodeKind::kPure) return v;
    std::set<ValueId> behind;
    for (const ValueId input : node(producer(w)).inputs)
      if (input != kNoValue && !is_held(g_.base(input)) && reads_gemm(input)) behind.insert(g_.base(input));
    if (behind.size() != 1) return v;
    w = *behind.begin();
  }
}

std::pair<int, int> NestEmitter::cost(ValueId v) {
  v = g_.base(v);
  const NodeId id = g_.source(v);
  if (!contains(id)) return {0, 1};
  if (is_held(v)) return {0, 0};
  if (g_.kind(id) != NodeKind::kPure) return is_row_reduction(id) ? std::pair{0, 0} : std::pair{1 << 10, 1};
  if (const auto known = costs_.find(v); known != costs_.end()) return known->second;
  std::pair<int, int> sum{node(id).op->kind == OpKind::kPointwise ? pointwise_cost(node(id)) : 1, 0};
  for (const ValueId input : node(id).inputs) {
    if (input == kNoValue) continue;
    const auto [operations, loads] = cost(input);
    sum.first = std::min(sum.first + operations, 1 << 20);
    sum.second = std::min(sum.second + loads, 1 << 20);
  }
  costs_[v] = sum;
  return sum;
}

bool NestEmitter::is_cheap(ValueId v) {
  const auto [operations, loads] = cost(v);
  return operations <= 4 && loads <= 1;
}

}  // namespace edge_infer::loop
