// The fusion scheduler: which nodes of an expanded graph share a nest.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/loop/expand.h"
#include "compiler/loop/nest_emitter.h"

namespace edge_infer::loop {

struct Group {
  std::vector<NodeId> nodes;           // that this group alone computes, ascending
  std::vector<NodeId> copies;          // that another group computes as well
  std::vector<ValueId> stored;         // values with a buffer
  std::optional<EmittedNest> emitted;  // none: nodes.front() is a kPrebuilt or kAttention node
};

struct Schedule {
  std::vector<Group> groups;     // in an order that runs
  std::vector<Unfused> unfused;  // by nodes of the caller's graph, ascending
  // Nodes of the caller's graph that no accepted nest computes; nothing else is filled in when there are any.
  std::set<NodeId> refused;
};

Result<Schedule> schedule(const Expansion& graph, const LowerOptions& options);

}  // namespace edge_infer::loop
