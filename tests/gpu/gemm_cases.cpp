#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "compiler/loop/parse.h"
#include "tests/gpu/nest_case.h"
#include "tests/gpu/random_tensor.h"
#include "tests/gpu/sections.h"

namespace edge_infer::test {
namespace {

enum class Epilogue { kNone, kBias, kGelu, kResidual, kWideResult };

struct Product {
  int64_t n, k;
  DType dtype;
  Epilogue epilogue;
};

const char* epilogue_name(Epilogue e) {
  switch (e) {
    case Epilogue::kNone:
      return "no bias";
    case Epilogue::kBias:
      return "bias";
    case Epilogue::kGelu:
      return "bias and gelu";
    case Epilogue::kResidual:
      return "bias and residual";
    case Epilogue::kWideResult:
      return "bias, f32 result";
  }
  return "";
}

Result<loop::LoopNest> nest_of(const Product& p, const std::string& accumulation) {
  const std::string type(dtype_name(p.dtype));
  const bool narrow = p.dtype != DType::kF32;
  const bool wide = !narrow || p.epilogue == Epilogue::kWideResult;
  const std::string at = fmt::format("[{}*m+n]", p.n);
  std::string buffers = fmt::format("b0: in {0}[T, {1}], b1: packed {0}[{2}, {1}]", type, p.k, p.n);
  std::string body, value = "%v0";
  int next = 2;
  if (p.epilogue != Epilogue::kNone) {
    buffers += fmt::format(", b2: in f32[{}]", p.n);
    value = "%v0 + b2[n]";
    next = 3;
  }
  if (p.epilogue == Epilogue::kResidual) {
    buffers += fmt::format(", b3: in {}[T, {}]", type, p.n);
    value = narrow ? fmt::format("f32(b3{}) + (%v0 + b2[n])", at) : fmt::format("b3{} + (%v0 + b2[n])", at);
    next = 4;
  }
  if (p.epilogue == Epilogue::kGelu) {
    body = "      %v1 = %v0 + b2[n]\n";
    value = "%v1 * 0.5 * (erf(%v1 * 0.7071067811865476) + 1)";
  }
  buffers += fmt::format(", b{}: out {}[T, {}]", next, wide ? "f32" : type, p.n);
  if (!wide) value = fmt::format("{}({})", type, value);
  return loop::parse_nest(fmt::format(
      "nest @gemm class {} symbols(T in 1..16384 hint 128)\n    ({}) {{\n  for m:T work {{\n"
      "    gemm %v0 over n:{}, k:{} a(b0[k+{}*m]) w(b1) {{\n{}      b{}{} = {}\n    }}\n  }}\n}}\n",
      accumulation, buffers, p.n, p.k, p.k, body, next, at, value));
}

NestOperands operands_of(const loop::LoopNest& nest, int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  NestOperands operands{.symbols = {rows}, .buffers = {}};
  const double k = static_cast<double>(*nest.buffers[0].sizes[1].constant());
  for (const loop::Buffer& buffer : nest.buffers) {
    std::vector<int64_t> sizes;
    for (const SymInt& size : buffer.sizes) sizes.push_back(size.constant().value_or(rows));
    if (buffer.access == loop::Access::kOut)
      operands.buffers.push_back(poisoned_tensor(buffer.dtype, std::move(sizes)));
    else
      operands.buffers.push_back(normal_tensor(buffer.dtype, std::move(sizes),
                                               buffer.access == loop::Access::kPacked ? 1 / std::sqrt(k) : 1,
                                               random));
  }
  return operands;
}

// A row's bits do not depend on how many rows there are.
Outcome check_invariance(const KernelSet& kernels, size_t kernel, const loop::LoopNest& nest) {
  std::vector<std::byte> most;
  for (const int64_t rows : {300, 1, 64, 65, 129, 256}) {
    NestOperands operands = operands_of(nest, 300, 9);
    operands.symbols[0] = rows;
    std::vector<HostTensor*> buffers;
    for (size_t b = 0; b < operands.buffers.size(); ++b) {
      HostTensor& tensor = operands.buffers[b];
      if (!nest.buffers[b].sizes.front().constant()) {
        tensor.bytes.resize(tensor.bytes.size() / 300 * static_cast<size_t>(rows));
        tensor.sizes[0] = rows;
      }
      buffers.push_back(&tensor);
    }
    if (const Status status = kernels.run(kernel, operands.symbols, buffers); !status)
      return {.failure = status.error().message};
    const std::vector<std::byte>& out = operands.buffers.back().bytes;
    if (most.empty()) most = out;
    if (!std::equal(out.begin(), out.end(), most.begin()))
      return {.failure = fmt::format("other bits with {} rows than with 300", rows)};
  }
  return {.note = "bits equal"};
}

}  // namespace

std::vector<GpuCase> gemm_cases(GpuCheck& check) {
  std::vector<Product> products;
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32})
    for (const Epilogue e :
         {Epilogue::kNone, Epilogue::kBias, Epilogue::kGelu, Epilogue::kResidual, Epilogue::kWideResult}) {
      if (dtype == DType::kF32 && e == Epilogue::kWideResult) continue;
      products.push_back({256, 192, dtype, e});
    }
  for (const auto& [n, k] :
       {std::pair<int64_t, int64_t>{1152, 384}, {384, 384}, {1536, 384}, {384, 1536}, {96, 64}, {40, 72}})
    products.push_back({n, k, DType::kF16, Epilogue::kBias});
  products.push_back({768, 768, DType::kBF16, Epilogue::kGelu});
  std::vector<GpuCase> cases;
  for (const Product& p : products) {
    const std::string label =
        fmt::format("{} {}x{}, {}", dtype_name(p.dtype), p.n, p.k, epilogue_name(p.epilogue));
    const std::string accumulation = check.kernels.generator().accumulation_class(p.dtype);
    const Result<loop::LoopNest> nest = nest_of(p, accumulation.empty() ? "f32.k1" : accumulation);
    if (!nest) {
      cases.push_back({label, [why = nest.error().message] { return Outcome{.failure = "nest: " + why}; }});
      continue;
    }
    if (const Status accepted = check.kernels.generator().accepts(*nest); !accepted) {
      cases.push_back(
          {label, [why = accepted.error().message] { return Outcome{.note = why, .skipped = true}; }});
      continue;
    }
    const bool large = p.n * p.k > 400'000;
    std::vector<Schedule> schedules = check.kernels.generator().candidates(*nest);
    for (Schedule& schedule : check.kernels.generator().candidates_for(*nest, 16'384))
      if (std::ranges::find(schedules, schedule) == schedules.end()) schedules.push_back(std::move(schedule));
    for (const Schedule& schedule : schedules) {
      for (const int64_t rows : large ? std::vector<int64_t>{1, 70} : std::vector<int64_t>{1, 64, 200}) {
        if ((check.effort == 0 && rows == 1) || !check.takes()) continue;
        cases.push_back(nest_case(
            check.kernels, fmt::format("{}, {} rows, {}", label, rows, schedule), *nest, schedule,
            [nest = *nest, rows] { return operands_of(nest, rows, 1); },
            bound_of(nest->buffers.back().dtype)));
      }
      if (!check.takes()) continue;
      if (const Result<size_t> kernel = check.kernels.add(*nest, schedule))
        cases.push_back({fmt::format("{}, any number of rows, {}", label, schedule),
                         [&kernels = check.kernels, kernel = *kernel, nest = *nest] {
                           return check_invariance(kernels, kernel, nest);
                         }});
    }
  }
  return cases;
}

}  // namespace edge_infer::test
