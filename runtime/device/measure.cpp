#include "runtime/device/measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/base/aligned_bytes.h"
#include "runtime/device/device.h"

namespace edge_infer {
namespace {

constexpr size_t kSlack = 64;  // vector loads of the last elements

}  // namespace

void fill_operand(DType dtype, std::span<std::byte> bytes) {
  std::memset(bytes.data(), 0, bytes.size());
  if (!is_floating(dtype)) return;
  // A sign and a fraction of 0.5 .. 1 in each element.
  const uint64_t keep = dtype == DType::kF64    ? 0x800fffffffffffffULL
                        : dtype == DType::kF32  ? 0x807fffff807fffffULL
                        : dtype == DType::kBF16 ? 0x807f807f807f807fULL
                                                : 0x83ff83ff83ff83ffULL;
  const uint64_t exponent = dtype == DType::kF64    ? 0x3fe0000000000000ULL
                            : dtype == DType::kF32  ? 0x3f0000003f000000ULL
                            : dtype == DType::kBF16 ? 0x3f003f003f003f00ULL
                                                    : 0x3800380038003800ULL;
  uint64_t x = 0x9e3779b97f4a7c15ULL;
  for (size_t i = 0; i < bytes.size(); i += sizeof(x)) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    const uint64_t bits = (x & keep) | exponent;
    std::memcpy(bytes.data() + i, &bits, std::min(sizeof(bits), bytes.size() - i));
  }
}

Result<std::vector<Measurement>> measure_on_host(const Device& device, const MeasuredCall& call,
                                                 std::span<const std::string> kernels,
                                                 const MeasureOptions& options) {
  std::vector<LoadedKernel> loaded;
  size_t scratch_bytes = kSlack;
  for (const std::string& name : kernels) {
    EDGE_INFER_ASSIGN(const LoadedKernel kernel, device.load_kernel(name));
    if (kernel.function == nullptr) return fail(ErrorCode::kUnsupported, "{} does not run on the host", name);
    scratch_bytes = std::max(scratch_bytes, kernel.scratch_bytes);
    loaded.push_back(kernel);
  }
  std::vector<AlignedBytes> memory;
  std::vector<void*> buffers;
  for (const MeasuredCall::Buffer& buffer : call.buffers) {
    const std::span<std::byte> bytes = memory.emplace_back(buffer.bytes + kSlack).bytes();
    if (buffer.content.empty())
      fill_operand(buffer.dtype, bytes);
    else
      std::ranges::copy(buffer.content, bytes.begin());
    buffers.push_back(bytes.data());
  }
  AlignedBytes scratch(scratch_bytes);
  const KernelArgs args{buffers.data(), call.integers.data()};
  std::vector<Measurement> measured(kernels.size());
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t k = 0; k < loaded.size(); ++k) {
      const auto start = std::chrono::steady_clock::now();
      loaded[k].function(&args, 0, call.rows, 0, call.columns, scratch.bytes().data());
      const auto time = std::chrono::steady_clock::now() - start;
      measured[k].nanoseconds.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
    }
    if (options.is_cancelled && options.is_cancelled())
      return fail(ErrorCode::kCancelled, "measuring was cancelled");
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (round > 0 && spent.count() > options.max_seconds) break;
  }
  return measured;
}

}  // namespace edge_infer
