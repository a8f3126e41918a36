// The precision gate: a program in fp16 or bf16 answers a fixed sample of a model's inputs, and its vectors
// are compared with those of the fallback on the processor. The fallback is a sound reference: it computes in
// fp32 from the fp32 weights, one prebuilt kernel a graph op, shares neither passes nor lowering nor
// generated code with what is judged, and is within 2e-6 of float64 vectors (tests/unit/prebuilt, compiled).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/host_tensor.h"
#include "runtime/cache/gate_verdict.h"
#include "runtime/device/device.h"

namespace edge_infer {

// Inputs of one call of the graph, and what each row of its outputs stands for: "sequence 3, 16 tokens". A
// row without a name is called by its number.
struct GateSample {
  std::vector<HostTensor> inputs;
  std::vector<std::string> rows;
};

// The lowest cosine that passes: 0.9999 (f16), 0.9995 (bf16).
double gate_bound(DType type);

// GateKey::rule: the version of the comparison, the bound, and the sample's digest.
std::string gate_rule(DType type, const GateSample& sample);

// What a program gave for the sample. Rows are vectors along the last dimension.
struct GateOutputs {
  std::vector<HostTensor> tensors;
};

// The fp32 vectors of the sample, by the fallback on `host`. Errors: those of lower_fallback() and of
// Device::bind() and Executable::run().
Result<GateOutputs> reference_outputs(const Graph& graph, const GateSample& sample, const Device& host,
                                      ConstantSource& constants);

// Runs the sample on `program`, which is the graph in precision `type`, and compares. Errors: of
// Executable::run().
Result<GateVerdict> judge(const Executable& program, DType type, const Graph& graph, const GateSample& sample,
                          const GateOutputs& reference);

// The comparison alone. Errors: kInternal for outputs of other sizes.
Result<GateVerdict> compare_outputs(DType type, const GateOutputs& found, const GateOutputs& reference,
                                    std::span<const std::string> rows);

}  // namespace edge_infer
