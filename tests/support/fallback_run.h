// Runs a graph's fallback program on a device with tensors in host memory, and compares tensors.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/evaluate.h"
#include "runtime/device/device.h"
#include "tests/support/tolerances.h"

namespace edge_infer::test {

// Lowers, binds and keeps a program; run() may be called with any sizes that the graph allows.
class FallbackRun {
 public:
  // Errors: what lower_fallback and BoundProgram::bind report. `device` and `constants` outlive the object.
  static Result<FallbackRun> make(const Graph& graph, const Device& device, const TensorMap& constants);
  FallbackRun(FallbackRun&&) noexcept;
  ~FallbackRun();

  // Outputs of evaluate()'s sizes, from memory that is filled with ones before the run.
  Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs, std::span<const HostTensor> like,
                                      int workers);

 private:
  struct State;
  explicit FallbackRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Empty where `got` is within the tolerance of `want`, else what differs first and by how much.
std::string difference(const HostTensor& got, const HostTensor& want, const Tolerance& tolerance);

}  // namespace edge_infer::test
