// CudaDevice::measure(): candidates of one kernel against each other on the GPU.
//
// The operands lie in memory several times, together more than twice the L2 cache, and each launch takes the
// next set: no launch finds its operands where the one before left them. A candidate is a graph of one launch
// a set, with the edges that programs have; a round replays each candidate's graph once, between two events.
// Before the first round each candidate runs once, over results of all ones, and is left out when it leaves
// other bits than the first that ran.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "runtime/device/measure.h"

namespace edge_infer::cuda {

// Errors: as Device::measure().
Result<std::vector<Measurement>> measure_kernels(const CudaDevice& device, const MeasuredCall& call,
                                                 std::span<const std::string> kernels,
                                                 const MeasureOptions& options);

}  // namespace edge_infer::cuda
