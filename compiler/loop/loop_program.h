// LoopProgram: a graph after lowering and fusion: steps in order, each a nest or a graph node that stays with
// its prebuilt kernel, over buffers that are not planned yet. What becomes a runtime Program once nests are
// kernels.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer::loop {

enum class Role { kInput, kOutput, kTemp, kConstant, kUnits };

struct ProgramBuffer {
  Role role = Role::kTemp;
  DType dtype = DType::kF32;
  std::vector<SymInt> sizes;
  ValueId value = kNoValue;      // the graph value it holds (kUnits: of cu_seqlens)
  bool packed = false;           // kConstant: a gemm weight [n, k]; `sources` are concatenated along n
  std::vector<ValueId> sources;  // kConstant: graph constants; one, or several for a merged weight
  int64_t block_rows = 0;        // kUnits: query rows of a unit
  std::string count{};           // kUnits: the symbol that counts the units
};

struct Step {
  int32_t nest = -1;             // index into nests; -1: the node `nodes.front()` runs as a prebuilt kernel
  std::vector<int32_t> buffers;  // of the nest's arguments, in order, as indices into buffers; for a prebuilt
                                 // step the buffers of the node's inputs (-1 absent), then of its outputs
  std::vector<SymInt> symbols;   // value of each nest symbol, in terms of the program's symbols
  std::vector<NodeId> nodes;     // provenance, ascending
};

// An edge between two graph nodes that run in different kernels, and why.
struct Unfused {
  NodeId producer = kNoNode, consumer = kNoNode;
  std::string reason;  // "different map", "several uses", "reduction between", "slot refused: ...", "would
                       // cycle", "too large", "class", "not profitable"
};

struct LoopProgram {
  std::string name;
  std::string accumulation_class;
  std::vector<Symbol> symbols;  // the graph's, then unit counts
  std::vector<ProgramBuffer> buffers;
  std::vector<LoopNest> nests;  // distinct ones: equal text (name aside) is one nest
  std::vector<Step> steps;
  std::vector<Unfused> unfused;
};

}  // namespace edge_infer::loop
