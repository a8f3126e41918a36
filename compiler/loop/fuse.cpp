#include "compiler/loop/fuse.h"

#include <algorithm>
#include <tuple>

#include "compiler/graph/op_table.h"
#include "compiler/loop/pointwise.h"

namespace edge_infer::loop {
namespace {

using GroupId = int32_t;
using Trial = std::expected<Group, Refusal>;

class Scheduler {
 public:
  Scheduler(const Expansion& graph, const LowerOptions& options) : g_(graph), options_(options) {
    for (const Symbol& s : g_.graph.symbols()) hints_[s.name] = s.hint;
    home_.assign(g_.graph.nodes().size(), -1);
    copied_.assign(g_.graph.nodes().size(), {});
    for (const GraphOutput& o : g_.graph.outputs()) outputs_.insert(o.value);
  }

  Result<Schedule> run() {
    make_first_groups();
    Schedule result;
    result.refused = refused_;
    if (!refused_.empty()) return result;
    if (options_.fuse) {
      copy_cheap_values(1, 0);
      fuse_all();
      copy_cheap_values(4, 1);
      fuse_all();
    }
    EDGE_INFER_RETURN_IF_ERROR(order(result));
    record_unfused(result);
    return result;
  }

 private:
  bool is_fusible(NodeKind kind) const {
    return kind == NodeKind::kPure || kind == NodeKind::kReduce || kind == NodeKind::kScan ||
           kind == NodeKind::kPool || kind == NodeKind::kGemm;
  }
  bool is_fusible(GroupId g) const {
    return !group(g).nodes.empty() && is_fusible(g_.kind(group(g).nodes.front()));
  }
  Group& group(GroupId g) { return groups_[static_cast<size_t>(g)]; }
  const Group& group(GroupId g) const { return groups_[static_cast<size_t>(g)]; }
  const Node& node(NodeId id) const { return g_.graph.node(id); }
  int64_t at_hints(const SymInt& e) const { return e.evaluate(hints_).value_or(int64_t{1} << 40); }
  int64_t bytes(ValueId v) const {
    const TensorType& type = g_.graph.value(v).type;
    return at_hints(type.elements()) * dtype_size(type.dtype);
  }

  // --- The values that a set of nodes must store: outputs, and what is read where it is not computed
  bool computes(const Group& group, NodeId id) const {
    return std::binary_search(group.nodes.begin(), group.nodes.end(), id) ||
           std::binary_search(group.copies.begin(), group.copies.end(), id);
  }
  std::vector<GroupId> groups_of(NodeId id) const {
    std::vector<GroupId> result = copied_[static_cast<size_t>(id)];
    if (const GroupId home = home_[static_cast<size_t>(id)]; home >= 0 && computes(group(home), id))
      result.push_back(home);
    return result;
  }
  // `merged` stands for the groups in `replaced`.
  std::vector<ValueId> stored_values(const Group& merged, const std::set<GroupId>& replaced) const {
    std::vector<ValueId> result;
    for (const NodeId id : merged.nodes)
      for (const ValueId v : node(id).outputs) {
        bool stored = outputs_.count(v) > 0;
        for (const NodeId user : g_.users_of(v)) {
          if (stored) break;
          const auto readers = groups_of(user);
          stored = std::any_of(readers.begin(), readers.end(),
                               [&](GroupId g) { return replaced.count(g) == 0 && !computes(group(g), id); });
        }
        if (stored) result.push_back(v);
      }
    return result;
  }

  // Nodes without an effect fall away.
  void drop_unused(Group& merged) const {
    std::set<NodeId> wanted;
    std::vector<NodeId> open;
    const auto want = [&](NodeId id) {
      if (id != kNoNode && computes(merged, id) && wanted.insert(id).second) open.push_back(id);
    };
    for (const ValueId v : merged.stored) want(g_.source(v));
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      for (const ValueId v : node(id).inputs)
        if (v != kNoValue) want(g_.source(v));
    }
    std::erase_if(merged.copies, [&](NodeId id) { return wanted.count(id) == 0; });
    std::erase_if(merged.nodes, [&](NodeId id) { return wanted.count(id) == 0; });
  }

  Trial emitted(Group merged, const std::set<GroupId>& replaced, bool is_limited) const {
    merged.stored = stored_values(merged, replaced);
    drop_unused(merged);
    if (merged.stored.empty()) return merged;
    std::vector<NodeId> nodes;
    std::merge(merged.nodes.begin(), merged.nodes.end(), merged.copies.begin(), merged.copies.end(),
               std::back_inserter(nodes));
    Emitted nest = NestEmitter(g_, options_, std::move(nodes), merged.stored).run();
    if (!nest) return std::unexpected(nest.error());
    if (is_limited) {
      const auto buffers = static_cast<int>(nest->nest.buffers.size()) - nest->operands - twins(merged);
      if (count_operations(nest->nest) > options_.max_ops || buffers > options_.max_buffers ||
          static_cast<int>(nest->nest.values.size()) > options_.max_values)
        return std::unexpected("too large");
    }
    if (options_.accepts)
      if (const Status status = options_.accepts(nest->nest); !status)
        return std::unexpected(slot_refused(status.error()));
    merged.emitted = *std::move(nest);
    return merged;
  }
  // Stored values that are stored in a wider type as well.
  int twins(const Group& of) const {
    return static_cast<int>(std::count_if(of.stored.begin(), of.stored.end(), [&](ValueId v) {
      const NodeId id = g_.graph.value(v).producer;
      return is_narrowing(id) &&
             std::find(of.stored.begin(), of.stored.end(), g_.base(node(id).inputs[0])) != of.stored.end();
    }));
  }
  static std::string slot_refused(const Error& error) {
    constexpr std::string_view kPrefix = "slot refused: ";
    return error.message.starts_with(kPrefix) || error.message == "class"
               ? error.message
               : std::string(kPrefix) + error.message;
  }

  // --- First groups: the parts of one op, or each part by itself where they make no nest together
  void make_first_groups() {
    std::map<NodeId, std::vector<NodeId>> by_origin;
    const auto count = static_cast<NodeId>(g_.graph.nodes().size());
    for (NodeId id = 0; id < count; ++id) {
      const NodeKind kind = g_.kind(id);
      if (kind == NodeKind::kView || kind == NodeKind::kConstant) continue;
      const NodeId origin = g_.origin[static_cast<size_t>(id)];
      if (is_fusible(kind) && origin != kNoNode && !is_copy(id)) {
        by_origin[origin].push_back(id);
      } else {
        add_group({id});
      }
    }
    for (auto& [origin, ids] : by_origin) add_group(ids);
    for (GroupId g = 0; g < static_cast<GroupId>(groups_.size()); ++g) {
      if (!is_fusible(g)) {
        group(g).stored = node(group(g).nodes.front()).outputs;
        continue;
      }
      Trial trial = emitted(group(g), {g}, false);
      if (trial) {
        replace(g, *std::move(trial));
        continue;
      }
      const NodeId origin = g_.origin[static_cast<size_t>(group(g).nodes.front())];
      if (group(g).nodes.size() == 1 || g_.inseparable.count(origin) > 0) {
        refused_.insert(origin);
        continue;
      }
      const std::vector<NodeId> ids = group(g).nodes;
      group(g).nodes = {ids[0]};
      for (size_t i = 1; i < ids.size(); ++i) add_group({ids[i]});
      --g;
    }
  }
  bool is_copy(NodeId id) const { return node(id).op->name == "aten.clone"; }
  void add_group(std::vector<NodeId> ids) {
    for (const NodeId id : ids) home_[static_cast<size_t>(id)] = static_cast<GroupId>(groups_.size());
    groups_.push_back({std::move(ids), {}, {}, std::nullopt});
  }

  // --- Edges between groups
  std::set<GroupId> predecessors(GroupId g) const {
    std::set<GroupId> result;
    const Group& own = group(g);
    for (const auto* ids : {&own.nodes, &own.copies})
      for (const NodeId id : *ids)
        for (const ValueId v : node(id).inputs) {
          if (v == kNoValue) continue;
          const NodeId source = g_.source(v);
          const GroupId home = source == kNoNode ? -1 : home_[static_cast<size_t>(source)];
          if (home >= 0 && !computes(own, source)) result.insert(home);
        }
    return result;
  }
  // Whether a path leads from `from` to `to` through another group.
  bool has_detour(GroupId from, GroupId to) const {
    std::set<GroupId> seen;
    std::vector<GroupId> open;
    for (const GroupId g : predecessors(to))
      if (g != from && seen.insert(g).second) open.push_back(g);
    while (!open.empty()) {
      const GroupId g = open.back();
      open.pop_back();
      if (g == from) return true;
      for (const GroupId p : predecessors(g))
        if (p != to && seen.insert(p).second) open.push_back(p);
    }
    return false;
  }

  // --- Fusion
  struct Candidate {
    int into_template = 0;
    int64_t saved = 0;
    NodeId distance = 0;
    NodeId producer = kNoNode, consumer = kNoNode;
    bool is_horizontal = false;
    auto key() const { return std::tuple(-into_template, -saved, distance, producer, consumer); }
  };
  bool has_gemm(GroupId g) const {
    return std::any_of(group(g).nodes.begin(), group(g).nodes.end(),
                       [&](NodeId id) { return g_.kind(id) == NodeKind::kGemm; });
  }

  bool is_narrowing(NodeId id) const {
    const Node& n = node(id);
    if (n.op->name != "aten._to_copy") return false;
    const DType from = g_.graph.value(n.inputs[0]).type.dtype, to = g_.graph.value(n.outputs[0]).type.dtype;
    return is_floating(from) && is_floating(to) && dtype_size(to) < dtype_size(from);
  }

  bool has_gemm(GroupId g, DType operands) const {
    return std::any_of(group(g).nodes.begin(), group(g).nodes.end(), [&](NodeId id) {
      return g_.kind(id) == NodeKind::kGemm && g_.graph.value(node(id).inputs[1]).type.dtype == operands;
    });
  }

  std::vector<Candidate> candidates() const {
    std::vector<Candidate> result;
    for (NodeId p = 0; p < static_cast<NodeId>(home_.size()); ++p) {
      const GroupId from = home_[static_cast<size_t>(p)];
      if (from < 0 || !is_fusible(from)) continue;
      for (const ValueId v : node(p).outputs)
        for (const NodeId u : g_.users_of(v)) {
          const GroupId to = home_[static_cast<size_t>(u)];
          if (to < 0 || to == from || !is_fusible(to)) continue;
          // An epilogue is computed once an element, a prologue once a tile, or, of a bf16 gemm, once a range
          // of columns. What is rounded to a narrower type is best stored in that.
          const int into = is_narrowing(u)             ? 3
                           : has_gemm(from)            ? 2
                           : has_gemm(to, DType::kF32) ? 1
                           : has_gemm(to)              ? -1
                                                       : 0;
          result.push_back({into, bytes(v), u - p, p, u, false});
        }
    }
    add_horizontal(result);
    std::sort(result.begin(), result.end(),
              [](const Candidate& a, const Candidate& b) { return a.key() < b.key(); });
    return result;
  }

  // Row nests of equal rows that read the same wide rows.
  void add_horizontal(std::vector<Candidate>& result) const {
    std::map<ValueId, std::vector<GroupId>> readers;
    for (GroupId g = 0; g < static_cast<GroupId>(groups_.size()); ++g) {
      if (group(g).nodes.empty() || !group(g).emitted || has_gemm(g)) continue;
      const EmittedNest& own = *group(g).emitted;
      for (size_t i = 0; i < own.arguments.size(); ++i)
        if (own.nest.buffers[i].access == Access::kIn) readers[own.arguments[i]].push_back(g);
    }
    constexpr int64_t kLeastBytes = 64;  // of a row
    for (const auto& [v, ids] : readers)
      for (size_t i = 0; i < ids.size(); ++i)
        for (size_t j = i + 1; j < ids.size(); ++j) {
          const SymInt& rows = group(ids[i]).emitted->nest.work().extent;
          if (!(rows == group(ids[j]).emitted->nest.work().extent)) continue;
          const int64_t shared = bytes(v);
          if (shared / std::max<int64_t>(at_hints(rows), 1) < kLeastBytes) continue;
          const NodeId a = group(ids[i]).nodes.front(), b = group(ids[j]).nodes.front();
          result.push_back({0, shared, std::abs(b - a), std::min(a, b), std::max(a, b), true});
        }
  }

  void fuse_all() {
    constexpr int kMaxRounds = 10;
    bool changed = true;
    for (int round = 0; round < kMaxRounds && changed; ++round) {
      changed = false;
      for (const Candidate& c : candidates()) changed = fuse(c) || changed;
    }
  }

  bool fuse(const Candidate& c) {
    const GroupId from = home_[static_cast<size_t>(c.producer)], to = home_[static_cast<size_t>(c.consumer)];
    if (from < 0 || to < 0 || from == to) return false;
    const auto refuse = [&](const std::string& reason) {
      if (!c.is_horizontal) reasons_[{c.producer, c.consumer}] = reason;
      return false;
    };
    const auto tried = std::pair{std::pair{from, version_[from]}, std::pair{to, version_[to]}};
    if (const auto known = failed_.find(tried); known != failed_.end()) return refuse(known->second);
    if (has_detour(from, to) || (c.is_horizontal && has_detour(to, from))) return refuse("would cycle");
    if (c.is_horizontal && (predecessors(to).count(from) > 0 || predecessors(from).count(to) > 0))
      return false;
    Group merged;
    std::merge(group(from).nodes.begin(), group(from).nodes.end(), group(to).nodes.begin(),
               group(to).nodes.end(), std::back_inserter(merged.nodes));
    for (const GroupId g : {from, to})
      for (const NodeId id : group(g).copies)
        if (!std::binary_search(merged.nodes.begin(), merged.nodes.end(), id)) merged.copies.push_back(id);
    std::sort(merged.copies.begin(), merged.copies.end());
    merged.copies.erase(std::unique(merged.copies.begin(), merged.copies.end()), merged.copies.end());
    Trial trial = emitted(std::move(merged), {from, to}, true);
    // A map that fits neither of the two shows in its divisions.
    if (trial && trial->emitted &&
        count_divisions(trial->emitted->nest) >
            count_divisions(group(from).emitted->nest) + count_divisions(group(to).emitted->nest))
      trial = std::unexpected("different map");
    if (!trial) {
      failed_[tried] = trial.error();
      return refuse(trial.error());
    }
    // Of the two the earlier id stays.
    const GroupId kept = std::min(from, to), gone = std::max(from, to);
    replace(gone, Group{});
    replace(kept, *std::move(trial));
    return true;
  }

  // --- Values that are cheaper computed again than stored and loaded
  void copy_cheap_values(int most_operations, int most_loads) {
    for (NodeId id = 0; id < static_cast<NodeId>(home_.size()); ++id) {
      const GroupId home = home_[static_cast<size_t>(id)];
      if (home < 0 || g_.kind(id) != NodeKind::kPure || node(id).outputs.size() != 1 || is_narrowing(id))
        continue;
      const ValueId v = node(id).outputs[0];
      const auto& stored = group(home).stored;
      if (outputs_.count(v) > 0 || std::find(stored.begin(), stored.end(), v) == stored.end()) continue;
      std::set<NodeId> needed;
      int operations = 0, loads = 0;
      if (!collect(id, home, true, needed, operations, loads)) continue;
      if (operations > most_operations || loads > most_loads) continue;
      copy_into_users(id, home, needed);
    }
  }

  // The pure nodes of the group behind `id`, down to what has a buffer.
  bool collect(NodeId id, GroupId home, bool is_root, std::set<NodeId>& needed, int& operations,
               int& loads) const {
    const auto& stored = group(home).stored;
    if (!is_root && std::find(stored.begin(), stored.end(), node(id).outputs[0]) != stored.end()) {
      ++loads;
      return true;
    }
    if (g_.kind(id) != NodeKind::kPure) return false;
    needed.insert(id);
    operations += node(id).op->kind == OpKind::kPointwise ? pointwise_cost(node(id)) : 1;
    for (const ValueId v : node(id).inputs) {
      if (v == kNoValue) continue;
      const NodeId source = g_.source(v);
      if (source == kNoNode || !computes(group(home), source)) {
        ++loads;
      } else if (!collect(source, home, false, needed, operations, loads)) {
        return false;
      }
    }
    return true;
  }

  void copy_into_users(NodeId id, GroupId home, const std::set<NodeId>& needed) {
    std::set<GroupId> readers;
    for (const NodeId user : g_.users_of(node(id).outputs[0]))
      for (const GroupId g : groups_of(user))
        if (!computes(group(g), id)) readers.insert(g);
    std::vector<std::pair<GroupId, Group>> changed;
    for (const GroupId g : readers) {
      if (!is_fusible(g)) return;
      Group with = group(g);
      for (const NodeId n : needed)
        if (!computes(with, n))
          with.copies.insert(std::upper_bound(with.copies.begin(), with.copies.end(), n), n);
      Trial trial = emitted(std::move(with), {g}, true);
      if (!trial) return;
      changed.emplace_back(g, *std::move(trial));
    }
    for (auto& [g, with] : changed) replace(g, std::move(with));
    // What nothing reads any more is not computed at home, either.
    Trial rest = emitted(group(home), {home}, false);
    if (!rest) return;
    replace(home, rest->stored.empty() ? Group{} : *std::move(rest));
  }

  void replace(GroupId g, Group by) {
    for (const NodeId id : group(g).nodes) home_[static_cast<size_t>(id)] = -1;
    for (const NodeId id : group(g).copies) std::erase(copied_[static_cast<size_t>(id)], g);
    group(g) = std::move(by);
    for (const NodeId id : group(g).nodes) home_[static_cast<size_t>(id)] = g;
    for (const NodeId id : group(g).copies) copied_[static_cast<size_t>(id)].push_back(g);
    ++version_[g];
  }

  // --- Results
  Status order(Schedule& result) {
    std::vector<GroupId> waiting;
    for (GroupId g = 0; g < static_cast<GroupId>(groups_.size()); ++g)
      if (!group(g).nodes.empty()) waiting.push_back(g);
    std::sort(waiting.begin(), waiting.end(),
              [&](GroupId a, GroupId b) { return group(a).nodes.front() < group(b).nodes.front(); });
    std::set<GroupId> done;
    while (!waiting.empty()) {
      const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](GroupId g) {
        const auto before = predecessors(g);
        return std::all_of(before.begin(), before.end(), [&](GroupId p) { return done.count(p) > 0; });
      });
      if (ready == waiting.end())
        return fail(ErrorCode::kInternal, "the groups of @{} form a cycle", g_.graph.name());
      done.insert(*ready);
      // What other groups store may have changed since the nest was made.
      if (is_fusible(*ready)) {
        Trial last = emitted(group(*ready), {*ready}, false);
        if (!last)
          return fail(ErrorCode::kInternal, "a fused nest of @{} is lost: {}", g_.graph.name(), last.error());
        group(*ready) = *std::move(last);
      }
      order_.push_back(*ready);
      waiting.erase(ready);
    }
    for (const GroupId g : order_) result.groups.push_back(group(g));
    return {};
  }

  void record_unfused(Schedule& result) const {
    std::map<std::pair<NodeId, NodeId>, std::string> found;
    for (NodeId p = 0; p < static_cast<NodeId>(g_.graph.nodes().size()); ++p) {
      if (g_.kind(p) == NodeKind::kView || g_.kind(p) == NodeKind::kConstant) continue;
      for (const ValueId v : node(p).outputs)
        for (const NodeId u : g_.users_of(v)) {
          const auto readers = groups_of(u);
          const bool together =
              std::all_of(readers.begin(), readers.end(), [&](GroupId g) { return computes(group(g), p); });
          const std::pair edge{producer_for(p, u), g_.origin[static_cast<size_t>(u)]};
          if (together || edge.first == edge.second) continue;
          found.emplace(edge, reason(p, u));
        }
    }
    for (const auto& [edge, reason] : found) result.unfused.push_back({edge.first, edge.second, reason});
  }
  // The caller's node that `u` reads by way of `p`. The copy that a prebuilt kernel reads belongs to that
  // kernel's node: what it copies is the producer then.
  NodeId producer_for(NodeId p, NodeId u) const {
    const auto origin = [&](NodeId id) { return g_.origin[static_cast<size_t>(id)]; };
    NodeId from = p;
    if (g_.kind(u) == NodeKind::kPrebuilt)
      while (origin(from) == origin(u)) {
        const NodeId source = g_.source(node(from).inputs.front());
        if (source == kNoNode) return origin(p);
        from = source;
      }
    return origin(from);
  }
  std::string reason(NodeId p, NodeId u) const {
    for (const NodeId id : {p, u}) {
      if (g_.kind(id) == NodeKind::kPrebuilt)
        return "slot refused: " + node(id).op->name + " is a prebuilt kernel";
      if (g_.kind(id) == NodeKind::kAttention) return "slot refused: attention reads whole sequences";
    }
    const auto known = reasons_.find({p, u});
    return known != reasons_.end() ? known->second : "not profitable";
  }

  const Expansion& g_;
  const LowerOptions& options_;
  std::map<std::string, int64_t, std::less<>> hints_;
  std::set<ValueId> outputs_;
  std::vector<Group> groups_;
  std::vector<GroupId> home_;  // by node; -1: views, constants, what is computed where it is read
  std::vector<std::vector<GroupId>> copied_;  // by node: groups that compute it besides
  std::map<GroupId, int> version_;
  std::map<std::pair<std::pair<GroupId, int>, std::pair<GroupId, int>>, Refusal> failed_;
  std::map<std::pair<NodeId, NodeId>, std::string> reasons_;
  std::vector<GroupId> order_;
  std::set<NodeId> refused_;
};

}  // namespace

Result<Schedule> schedule(const Expansion& graph, const LowerOptions& options) {
  return Scheduler(graph, options).run();
}

}  // namespace edge_infer::loop
