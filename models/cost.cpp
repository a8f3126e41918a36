#include "models/cost.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "compiler/graph/op_table.h"
#include "runtime/program/buffer_plan.h"

namespace edge_infer {
namespace {

double value_of(const SymInt& size, const std::map<std::string, int64_t, std::less<>>& symbols) {
  return static_cast<double>(size.evaluate(symbols).value_or(0));
}

// (query, key) pairs of texts of these lengths.
double pairs_of(std::span<const int64_t> lengths) {
  double pairs = 0;
  for (const int64_t length : lengths) pairs += static_cast<double>(length) * static_cast<double>(length);
  return pairs;
}

// A program's own symbols come in the order of its inputs: tokens, then texts; the counts of work units
// follow from the texts.
std::map<std::string, int64_t, std::less<>> symbols_at(const Program& program,
                                                       std::span<const int64_t> lengths) {
  std::map<std::string, int64_t, std::less<>> symbols;
  const int64_t known[] = {std::accumulate(lengths.begin(), lengths.end(), int64_t{0}),
                           static_cast<int64_t>(lengths.size())};
  for (size_t i = 0; i < std::min(std::size(known), program.symbols.size()); ++i)
    symbols[program.symbols[i].name] = known[i];
  for (const UnitListDecl& list : program.unit_lists) {
    int64_t units = 0;
    for (const int64_t length : lengths) units += (length + list.block_rows - 1) / list.block_rows;
    symbols[list.count] = units;
  }
  return symbols;
}

class CallCosts {
 public:
  CallCosts(const Program& program, std::span<const int64_t> lengths, int workers)
      : program_(program), pairs_(pairs_of(lengths)), written_(program.buffers.size(), false) {
    symbols_ = symbols_at(program, lengths);
    symbols_[kWorkersSymbol] = workers;
  }

  std::vector<CallCost> run() {
    std::vector<CallCost> costs;
    for (const Phase& phase : program_.phases) {
      const bool runs = value_of(phase.when, symbols_) != 0;
      for (const Call& call : phase.calls) costs.push_back(runs ? cost_of(call) : CallCost{});
    }
    return costs;
  }

 private:
  const BufferDecl& buffer(int32_t b) const { return program_.buffers[static_cast<size_t>(b)]; }

  // A compiled kernel writes those of its operands that nothing wrote before, a prebuilt one the first.
  std::vector<int32_t> outputs_of(const Call& call) {
    if (program_.kernels[static_cast<size_t>(call.kernel)].name.starts_with("prebuilt:"))
      return {call.buffers.front()};
    std::vector<int32_t> outputs;
    for (const int32_t b : call.buffers) {
      if (b < 0 || written_[static_cast<size_t>(b)]) continue;
      const BufferRole role = buffer(b).role;
      if (role == BufferRole::kTemp || role == BufferRole::kOutput) outputs.push_back(b);
    }
    return outputs;
  }

  CallCost cost_of(const Call& call) {
    CallCost cost;
    const std::vector<int32_t> outputs = outputs_of(call);
    double written = 0;  // elements
    for (const int32_t b : outputs) {
      const BufferDecl& out = buffer(b);
      written_[static_cast<size_t>(b)] = true;
      written += value_of(buffer_bytes(out), symbols_) / static_cast<double>(dtype_size(out.dtype));
    }
    for (const int32_t b : call.buffers) {
      if (b < 0) continue;
      const BufferDecl& operand = buffer(b);
      double bytes = value_of(buffer_bytes(operand), symbols_);
      if (operand.role == BufferRole::kConstant) {
        const ConstantDecl& constant = program_.constants[static_cast<size_t>(operand.index)];
        if (constant.format == "raw") {
          // A gather reads as much of its table as it writes.
          bytes = std::min(bytes, written * static_cast<double>(dtype_size(operand.dtype)));
        } else {
          const auto weights = static_cast<double>(constant.sizes[0] * constant.sizes[1]);
          cost.half = !constant.format.starts_with("nk.f32");
          if (cost.half) bytes = 2 * weights;
          cost.flops += 2 * value_of(call.rows, symbols_) * weights;
        }
      } else if (operand.role == BufferRole::kIndex && !outputs.empty()) {
        // Attention, over the pairs within each text.
        const BufferDecl& out = buffer(outputs.front());
        cost.half = dtype_size(out.dtype) == 2;
        cost.flops += 4 * pairs_ * value_of(out.sizes.back(), symbols_);
      }
      cost.bytes += bytes;
    }
    return cost;
  }

  const Program& program_;
  const double pairs_;
  std::map<std::string, int64_t, std::less<>> symbols_;
  std::vector<bool> written_;
};

}  // namespace

double graph_flops(const Graph& graph, std::span<const int64_t> lengths) {
  std::map<std::string, int64_t, std::less<>> symbols;
  const double pairs = pairs_of(lengths);
  symbols["T"] = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  symbols["B"] = static_cast<int64_t>(lengths.size());
  double flops = 0;
  for (const Node& node : graph.nodes()) {
    const auto elements = [&](ValueId v) { return value_of(graph.value(v).type.elements(), symbols); };
    if (node.op->name == "aten.linear") {
      const double k = value_of(graph.value(node.inputs[1]).type.sizes[1], symbols);
      flops += 2 * k * elements(node.outputs[0]);
    } else if (node.op->name == "aten.matmul" || node.op->name == "aten.mm" || node.op->name == "aten.bmm") {
      const double k = value_of(graph.value(node.inputs[0]).type.sizes.back(), symbols);
      flops += 2 * k * elements(node.outputs[0]);
    } else if (node.op->name == "edge.varlen_attention") {
      flops += 4 * pairs * value_of(graph.value(node.inputs[0]).type.sizes[1], symbols);
    }
  }
  return flops;
}

double program_arena_bytes(const Program& program, std::span<const int64_t> lengths) {
  const auto symbols = symbols_at(program, lengths);
  double bytes = 0;
  for (const SymInt& slot : program.slots) bytes += value_of(slot, symbols);
  return bytes;
}

std::vector<CallCost> call_costs(const Program& program, std::span<const int64_t> lengths, int workers) {
  return CallCosts(program, lengths, workers).run();
}

double program_bytes(const Program& program, std::span<const int64_t> lengths, int workers) {
  double total = 0;
  for (const CallCost& cost : call_costs(program, lengths, workers)) total += cost.bytes;
  return total;
}

double least_seconds(const CallCost& cost, const DevicePeak& peak) {
  const double flops = cost.half ? peak.half_flops : peak.flops;
  return std::max(flops > 0 ? cost.flops / flops : 0, peak.bytes > 0 ? cost.bytes / peak.bytes : 0);
}

}  // namespace edge_infer
