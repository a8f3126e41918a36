// What the families of fallback lowering share: value -> buffer, emitting calls, dense strides. Private to
// this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/op_table.h"
#include "runtime/device/device.h"
#include "runtime/program/program.h"

namespace edge_infer::fallback {

// A prebuilt call in the making.
struct Emit {
  std::string kernel;  // without "prebuilt:"
  std::vector<int32_t> buffers;
  std::vector<SymInt> integers;
  SymInt rows = 1, columns = 1;
  int64_t row_grain = 1, column_grain = 1;
  SymInt row_cost = 1;
  Phase::Split split = Phase::Split::kRows;
};

class Lowering {
 public:
  Lowering(const Graph& graph, const Target& target) : graph_(graph), target_(target) {}
  // Errors: kUnsupported also where unserved() is not empty afterwards.
  Result<Program> run();
  // Nodes that no kernel serves as they are, but that the op table can decompose; ascending.
  const std::vector<NodeId>& unserved() const { return unserved_; }

  const Target& target() const { return target_; }
  const Graph& graph() const { return graph_; }
  const TensorType& type(ValueId v) const { return graph_.value(v).type; }
  const TensorType& input_type(const Node& n, size_t i) const { return type(n.inputs[i]); }
  const TensorType& output_type(const Node& n, size_t i = 0) const { return type(n.outputs[i]); }
  bool is_constant(ValueId v) const;

  // Buffer that holds the (dense) value; -1 for kNoValue.
  int32_t buffer(ValueId v) const { return v == kNoValue ? -1 : buffer_of_[static_cast<size_t>(v)]; }
  // Buffer that the value is computed into: the caller's for a graph output, else a new temp.
  int32_t result(ValueId v);
  void alias(ValueId v, int32_t buffer) { buffer_of_[static_cast<size_t>(v)] = buffer; }
  int32_t temp(DType dtype, std::vector<SymInt> sizes);
  // The linear weight in the target's packed format.
  int32_t packed_weight(ValueId v);
  // The unit list of attention over `cu`, and the symbol that counts it.
  struct Units {
    int32_t buffer;
    SymInt count;
  };
  Result<Units> units(ValueId cu, int64_t block_rows);

  // The value in `dtype`: its own buffer, or a temp filled by a cast call.
  int32_t in_dtype(ValueId v, DType dtype);
  void cast(int32_t from, DType from_type, int32_t to, DType to_type, const std::vector<SymInt>& sizes);
  // out (dense, `sizes`) = in read with `strides` from `offset`.
  void copy(int32_t out, int32_t in, DType dtype, const std::vector<SymInt>& sizes,
            const std::vector<SymInt>& strides, const SymInt& offset);
  void emit(Emit call);
  std::unexpected<Error> unsupported(const Node& node, const std::string& why) const;

 private:
  Status declare_inputs();
  Status finish_outputs();

  const Graph& graph_;
  const Target& target_;
  Program program_;
  std::vector<int32_t> buffer_of_;
  std::vector<int32_t> output_buffer_;  // by value: buffer of the graph output it is, or -1
  std::vector<int32_t> constant_of_;    // by value: index in program_.constants, or -1
  std::vector<std::pair<ValueId, int32_t>> packed_;
  struct KnownUnits {
    ValueId cu;
    int64_t block_rows;
    Units units;
  };
  std::vector<KnownUnits> known_units_;
  std::vector<NodeId> unserved_;
  Error first_unserved_;
  int32_t node_ = -1;  // provenance of emitted calls
};

// Lowers one node; nullptr when no family knows the op.
using LowerFn = Status (*)(Lowering&, const Node&);
LowerFn find_lowering(std::string_view op);
// The families' tables.
LowerFn find_pointwise(std::string_view op);
LowerFn find_view(std::string_view op);
LowerFn find_reduction(std::string_view op);
LowerFn find_matmul(std::string_view op);
LowerFn find_row_op(std::string_view op);  // normalization, softmax, gather, packed sequences

// Row-major strides in elements.
std::vector<SymInt> dense_strides(const std::vector<SymInt>& sizes);
// Strides with which a dense operand of `sizes` is read to broadcast to `out` (0 where it repeats).
std::vector<SymInt> broadcast_strides(const std::vector<SymInt>& sizes, const std::vector<SymInt>& out);
SymInt product(const std::vector<SymInt>& sizes, size_t first = 0);
SymInt product(const std::vector<SymInt>& sizes, size_t first, size_t last);
// A double as kernels receive it.
SymInt double_bits(double value);
// The dtype that kernels compute `dtype` in: f16 and bf16 in f32, small integers in i32.
DType compute_dtype(DType dtype);
// A dimension counted from the end made one counted from the start.
size_t normalize_dim(int64_t dim, int64_t rank);

inline void append(std::vector<SymInt>& out, const std::vector<SymInt>& part) {
  out.insert(out.end(), part.begin(), part.end());
}

}  // namespace edge_infer::fallback
