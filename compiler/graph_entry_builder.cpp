#include "compiler/graph_entry_builder.h"

#include <utility>

#include "compiler/fallback/lower_fallback.h"
#include "compiler/make_guards.h"

namespace edge_infer {

GraphEntryBuilder::GraphEntryBuilder(Graph graph, std::shared_ptr<const Device> device,
                                     std::shared_ptr<ConstantSource> constants)
    : graph_(std::move(graph)), device_(std::move(device)), constants_(std::move(constants)) {}

Result<std::shared_ptr<const Entry>> GraphEntryBuilder::build(std::span<const TensorView> inputs,
                                                              const CallSettings& settings) {
  if (settings.precision != CallSettings::Precision::kF32)
    return fail(ErrorCode::kUnsupported,
                "precision bf16 is not available: prebuilt kernels compute in fp32 only");
  auto entry = std::make_shared<Entry>();
  entry->guards = make_guards(graph_, settings);
  if (const auto failed = entry->guards.first_failure(inputs, settings))
    return fail(ErrorCode::kInvalidArgument, "graph @{} cannot serve this call: {}", graph_.name(),
                entry->guards.describe_failure(*failed, inputs, settings));
  EDGE_INFER_ASSIGN(Program program, lower_fallback(graph_, device_->target()));
  EDGE_INFER_ASSIGN(entry->program, BoundProgram::bind(std::move(program), *device_, *constants_));
  return entry;
}

}  // namespace edge_infer
