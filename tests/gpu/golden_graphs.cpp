#include "tests/gpu/golden_graphs.h"

#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>

#include "compiler/graph/parse.h"
#include "tests/gpu/random_tensor.h"

namespace edge_infer::test {
namespace {

constexpr int64_t kIds = 500;  // below the rows of every table that is read by them

std::vector<int64_t> sizes_of(const TensorType& type, const SymbolValues& symbols) {
  std::vector<int64_t> sizes;
  for (const SymInt& size : type.sizes) sizes.push_back(size.evaluate(symbols).value_or(1));
  return sizes;
}

}  // namespace

Result<GoldenGraph> golden_graph(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream("tests/golden/loops/" + name + ".graph").rdbuf();
  EDGE_INFER_ASSIGN(Graph graph, parse_graph(text.str()));
  return GoldenGraph{std::move(graph)};
}

std::vector<HostTensor> GoldenGraph::inputs(const std::vector<int64_t>& lengths, uint64_t seed) const {
  std::mt19937_64 random(seed);
  SymbolValues symbols;
  for (const Symbol& symbol : graph.symbols()) symbols[symbol.name] = symbol.name == "B" ? 2 : 9;
  std::vector<int64_t> offsets{0};
  for (const int64_t length : lengths) offsets.push_back(offsets.back() + length);
  for (const GraphInput& input : graph.inputs())
    if (graph.value(input.value).name == "cu") {
      symbols["T"] = offsets.back();
      symbols["B"] = static_cast<int64_t>(lengths.size());
    }
  std::vector<HostTensor> tensors;
  for (const GraphInput& input : graph.inputs()) {
    const TensorType& type = graph.value(input.value).type;
    std::vector<int64_t> sizes = sizes_of(type, symbols);
    if (is_floating(type.dtype)) {
      tensors.push_back(normal_tensor(type.dtype, std::move(sizes), 1, random));
      continue;
    }
    HostTensor tensor = *make_host_tensor(type.dtype, std::move(sizes));
    std::vector<int64_t> numbers(static_cast<size_t>(tensor.elements()));
    // A mask leaves the first column of its rows.
    const int64_t columns = tensor.sizes.back();
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = type.dtype == DType::kBool ? static_cast<int64_t>(i) % columns == 0 || random() % 4 != 0
                                              : static_cast<int64_t>(random() % kIds);
    if (graph.value(input.value).name == "cu") numbers = offsets;
    tensor.store(numbers);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

TensorMap GoldenGraph::constants(uint64_t seed) const {
  std::mt19937_64 random(seed);
  TensorMap constants;
  for (const GraphConstant& constant : graph.constants()) {
    const Value& value = graph.value(constant.value);
    std::vector<int64_t> sizes = sizes_of(value.type, {});
    const double scale = sizes.size() == 2 ? 1 / std::sqrt(static_cast<double>(sizes[1])) : 0.5;
    constants[value.name] = normal_tensor(value.type.dtype, std::move(sizes), scale, random);
  }
  return constants;
}

GoldenOperands GoldenGraph::operands(const std::vector<int64_t>& lengths, uint64_t seed) const {
  return {.inputs = inputs(lengths, seed), .constants = constants(seed)};
}

}  // namespace edge_infer::test
