// CudaPlan: a Program whose kernels are loaded on a device, whose constants lie in its memory and whose size
// expressions are compiled. Immutable after bind(); what the executions of a program share.
#pragma once

#include <memory>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/size_classes.h"
#include "runtime/executor/bound_program.h"
#include "runtime/executor/call_sizes.h"
#include "runtime/program/program.h"

namespace edge_infer::cuda {

struct CudaPlan {
  struct Call {
    const CudaKernel* kernel = nullptr;
    size_t first_integer = 0;
    std::vector<SizeTable::Index> integers;
    SizeTable::Index rows = 0, columns = 0;
    std::vector<int32_t> buffers;
    size_t condition = 0;  // of `conditions`
    int32_t node = -1;
  };

  // Constants may still be on their way: nothing may run before constants.wait().
  // Errors: kNotFound (a kernel is not loaded), kUnsupported (state and saved buffers, prebuilt kernels other
  // than the device's own), kResourceExhausted, kDeviceLost, what `constants` reports, kInternal (a program
  // that does not verify).
  static Result<std::unique_ptr<CudaPlan>> bind(Program program, std::shared_ptr<const CudaDevice> device,
                                                ConstantSource& constants);

  // Bit c: condition c holds, so the calls under it run.
  uint64_t conditions_at(std::span<const int64_t> symbols_and_workers) const;
  // Values of the size table at other sizes than a call's. Errors: kResourceExhausted for one that overflows.
  Result<std::vector<int64_t>> sizes_at(const SymbolValues& symbols) const;

  std::shared_ptr<const CudaDevice> device;
  Program program;
  SizeTable table;
  SizeClasses classes;
  std::vector<Call> calls;
  std::vector<SymCode> conditions;
  size_t integer_count = 0;
  size_t input_count = 0, output_count = 0;
  std::vector<SizeTable::Index> elements;     // of each buffer
  std::vector<SizeTable::Index> slot_bytes;   // of each slot
  std::vector<SizeTable::Index> unit_counts;  // of each unit list
  PlacedConstants constants;
  std::vector<int32_t> output_uses;        // calls that name each output
  const CudaKernel* read_block = nullptr;  // null: the stream copies blocks
};

}  // namespace edge_infer::cuda
