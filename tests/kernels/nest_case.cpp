#include "tests/kernels/nest_case.h"

#include <cmath>
#include <random>

#include "compiler/loop/evaluate.h"
#include "compiler/loop/parse.h"
#include "compiler/loop/verify.h"

namespace edge_infer::testing {
namespace {

void fill_random(HostTensor& tensor, unsigned seed) {
  std::mt19937 random(seed);
  const auto count = static_cast<size_t>(tensor.elements());
  if (is_floating(tensor.dtype)) {
    std::normal_distribution<double> normal;
    std::vector<double> numbers(count);
    for (double& x : numbers) x = normal(random);
    tensor.store(numbers);
  } else {
    std::uniform_int_distribution<int64_t> uniform(-40, 40);
    std::vector<int64_t> numbers(count);
    for (int64_t& x : numbers) x = tensor.dtype == DType::kBool ? random() % 2 : uniform(random);
    tensor.store(numbers);
  }
}

bool close(double found, double expected, DType dtype, const NestCase& c) {
  if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) && std::isnan(found);
  if (found == expected) return true;
  if (std::isinf(expected) || std::isinf(found)) return false;
  const double distance = std::fabs(found - expected), size = std::fabs(expected);
  switch (dtype) {
    case DType::kF64:
      return distance <= 1e-12 + 1e-11 * size;
    case DType::kF16:
      return distance <= 1e-6 + size * 0x1p-10;
    case DType::kBF16:
      return distance <= 1e-6 + size * 0x1p-7;
    case DType::kF32:
      return distance <= c.absolute + c.relative * size;
    default:
      return false;
  }
}

}  // namespace

SymbolMap symbol_values(const loop::LoopNest& nest, const std::vector<int64_t>& symbols) {
  SymbolMap values;
  for (size_t i = 0; i < nest.symbols.size(); ++i) values[nest.symbols[i].name] = symbols[i];
  return values;
}

Result<PreparedCase> prepare(const NestCase& c) {
  PreparedCase prepared;
  EDGE_INFER_ASSIGN(prepared.nest, loop::parse_nest(c.text));
  EDGE_INFER_RETURN_IF_ERROR(loop::verify(prepared.nest));
  const SymbolMap values = symbol_values(prepared.nest, c.symbols);
  std::vector<HostTensor>& buffers = prepared.buffers;
  for (const loop::Buffer& buffer : prepared.nest.buffers) {
    std::vector<int64_t> sizes;
    for (const SymInt& size : buffer.sizes) {
      EDGE_INFER_ASSIGN(const int64_t value, size.evaluate(values));
      sizes.push_back(value);
    }
    EDGE_INFER_ASSIGN(HostTensor tensor, make_host_tensor(buffer.dtype, std::move(sizes)));
    fill_random(tensor, static_cast<unsigned>(buffers.size()) + 1);
    buffers.push_back(std::move(tensor));
  }
  if (c.fill) c.fill(buffers);
  prepared.expected = buffers;
  std::vector<HostTensor*> pointers;
  for (HostTensor& tensor : prepared.expected) pointers.push_back(&tensor);
  EDGE_INFER_RETURN_IF_ERROR(loop::evaluate(prepared.nest, c.symbols, pointers));
  return prepared;
}

std::string compare_outputs(const std::vector<HostTensor>& found, const PreparedCase& prepared,
                            const NestCase& c) {
  for (size_t b = 0; b < found.size(); ++b) {
    if (prepared.nest.buffers[b].access != loop::Access::kOut) continue;
    const std::vector<double> x = found[b].to_doubles(), y = prepared.expected[b].to_doubles();
    int wrong = 0;
    std::string first;
    for (size_t i = 0; i < x.size(); ++i) {
      if (close(x[i], y[i], found[b].dtype, c)) continue;
      if (++wrong == 1) first = fmt::format("b{}[{}] is {}, expected {}", b, i, x[i], y[i]);
    }
    if (wrong > 0) return fmt::format("{} ({} of {} wrong)", first, wrong, x.size());
  }
  return "";
}

}  // namespace edge_infer::testing
