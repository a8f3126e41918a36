#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "tests/conformance/random_graph.h"
#include "tests/gpu/bound.h"
#include "tests/gpu/golden_graphs.h"
#include "tests/gpu/graph_run.h"
#include "tests/gpu/sections.h"
#include "tests/support/fallback_run.h"

namespace edge_infer::test {
namespace {

GpuCase broken(std::string label, const Error& error) {
  return {std::move(label), [why = error.message] { return Outcome{.failure = why}; }};
}

// Relative distance of vectors, and the largest number that is not finite.
double distance(const HostTensor& got, const HostTensor& want) {
  const auto a = got.to_doubles(), b = want.to_doubles();
  double off = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    off += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return size > 0 ? std::sqrt(off / size) : std::sqrt(off);
}

}  // namespace

std::vector<GpuCase> golden_graph_cases(GpuCheck& check) {
  std::vector<GpuCase> cases;
  for (const char* name : {"post_norm_encoder", "pre_norm_block", "rms_norm_swiglu", "padded_mask_softmax"})
    for (const DType precision : {DType::kF32, DType::kF16, DType::kBF16}) {
      if (!check.takes()) continue;
      const std::string label = fmt::format("{} in {}", name, dtype_name(precision));
      Result<GoldenGraph> golden = golden_graph(name);
      if (!golden) {
        cases.push_back(broken(label, golden.error()));
        continue;
      }
      Result<GraphRun> made = GraphRun::make(check.kernels, golden->graph, precision);
      if (!made) {
        cases.push_back(broken(label, made.error()));
        continue;
      }
      const auto run = std::make_shared<const GraphRun>(*std::move(made));
      const auto shared = std::make_shared<const GoldenGraph>(*std::move(golden));
      cases.push_back(
          {label, [run, shared, precision]() -> Outcome {
             const GoldenOperands operands = shared->operands({37, 20, 1}, 1);
             double error = 0;
             const auto got = run->run_compared(operands.inputs, operands.constants, &error);
             if (!got) return {.failure = got.error().message};
             const auto want = evaluate(shared->graph, operands.inputs, operands.constants);
             if (!want) return {.failure = "evaluate: " + want.error().message};
             const double allowed = precision == DType::kF32 ? 2e-5 : precision == DType::kF16 ? 1e-2 : 8e-2;
             double off = 0;
             for (size_t i = 0; i < got->size(); ++i) off = std::max(off, distance((*got)[i], (*want)[i]));
             const std::string note =
                 fmt::format("{} kernels, nests {:.1e}, outputs {:.1e}", run->nests(), error, off);
             if (!(off <= allowed))
               return {.failure = fmt::format("outputs off by {:.3g}, allowed {:.3g}", off, allowed),
                       .note = note};
             return {.note = note};
           }});
    }
  return cases;
}

std::vector<GpuCase> conformance_cases(GpuCheck& check) {
  Cases all;
  add_pointwise_cases(all);
  add_movement_cases(all);
  add_reduction_cases(all);
  add_matmul_cases(all);
  add_row_cases(all);
  add_packed_cases(all);
  std::vector<GpuCase> cases;
  const size_t step = check.effort == 0 ? 23 : check.effort == 1 ? 5 : 1;
  for (size_t i = 0; i < all.size(); i += step) {
    if (!check.takes()) continue;
    const auto one = std::make_shared<const Case>(std::move(all[i]));
    const std::string label = fmt::format("{} {} {}", one->op, dtype_name(one->dtype), one->label);
    Result<GraphRun> made = GraphRun::make(check.kernels, one->graph, DType::kF32);
    if (!made) {
      cases.push_back(broken(label, made.error()));
      continue;
    }
    const auto run = std::make_shared<const GraphRun>(*std::move(made));
    cases.push_back(
        {label, [run, one]() -> Outcome {
           for (const auto& inputs : one->input_sets) {
             const auto want = evaluate(one->graph, inputs, one->constants);
             if (!want) return {.failure = "evaluate: " + want.error().message};
             const auto got = run->run(inputs, one->constants);
             if (!got) return {.failure = got.error().message};
             for (size_t o = 0; o < want->size(); ++o) {
               // On tensor cores attention rounds its weights to the type of its operands.
               const bool rounds = one->op == "edge.varlen_attention" &&
                                   (one->dtype == DType::kF16 || one->dtype == DType::kBF16);
               const std::string text =
                   rounds ? outside((*got)[o], (*want)[o], attention_bound(one->dtype, one->dtype), nullptr)
                          : difference((*got)[o], (*want)[o], one->tolerance);
               if (!text.empty()) return {.failure = fmt::format("output {}: {}", o, text)};
             }
           }
           return {.note = run->nests() == 0 ? "no kernel of its own" : "", .skipped = run->nests() == 0};
         }});
  }
  return cases;
}

std::vector<GpuCase> random_graph_cases(GpuCheck& check) {
  std::vector<GpuCase> cases;
  const uint64_t graphs = check.effort == 0 ? 10 : check.effort == 1 ? 60 : 300;
  for (uint64_t seed = 0; seed < graphs; ++seed) {
    if (!check.takes()) continue;
    const auto random =
        std::make_shared<const RandomGraph>(make_random_graph(seed, static_cast<int>(3 + seed % 38)));
    const std::string label = fmt::format("graph {}", seed);
    Result<GraphRun> made = GraphRun::make(check.kernels, random->graph, DType::kF32);
    if (!made) {
      cases.push_back(broken(label, made.error()));
      continue;
    }
    const auto run = std::make_shared<const GraphRun>(*std::move(made));
    cases.push_back({label, [run, random]() -> Outcome {
                       for (const auto& inputs : random->input_sets) {
                         const auto want = evaluate(random->graph, inputs, random->constants);
                         if (!want) return {.failure = "evaluate: " + want.error().message};
                         const auto got = run->run(inputs, random->constants);
                         if (!got) return {.failure = got.error().message};
                         for (size_t o = 0; o < want->size(); ++o) {
                           const std::string text =
                               difference((*got)[o], (*want)[o], {0, random->error_bounds[o] + 1e-37});
                           if (!text.empty())
                             return {.failure =
                                         fmt::format("T = {}, output {}: {}", inputs[0].sizes[0], o, text)};
                         }
                       }
                       return {.note = fmt::format("{} kernels", run->nests()), .skipped = run->nests() == 0};
                     }});
  }
  return cases;
}

}  // namespace edge_infer::test
