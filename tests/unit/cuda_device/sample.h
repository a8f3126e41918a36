// A small program of host kernels that the fake driver runs, and the same program on the CPU executor: token
// ids and offsets in, one vector a sequence out.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/program.h"
#include "tests/unit/cuda_device/fake/fake_cuda.h"

namespace edge_infer::cuda {

inline constexpr int64_t kVocabulary = 64, kWidth = 8;

struct SampleOptions {
  int64_t most_tokens = 16'384;
  int64_t width = kWidth;    // of the output: outputs beyond 256 KB are copied, not stored directly
  bool second_form = false;  // another kernel for more than 200 tokens
  std::string name = "sample";
};

// x = table[ids]; y = x * w^T through "nk.f16" weights; out[b] = sums of y over the rows of sequence b, times
// the units of the sequence.
Program sample_program(const SampleOptions& options = {});

// Its kernels: "gather", "linear", "linear_large" (the same result) and "pool", as functions of the CPU's
// kernel ABI.
void register_kernels();
// The kernel's name in the program: "kernel:<32 hex digits>".
std::string kernel_name(std::string_view kernel);
CudaImage kernel_image(std::string_view kernel);

// Fresh fake driver with the sample's kernels.
class CudaTest : public testing::Test {
 protected:
  void SetUp() override;
  std::shared_ptr<const CudaDevice> open(const CudaDeviceOptions& options = {});
  // A device with the sample's kernels loaded.
  std::shared_ptr<const CudaDevice> open_loaded(const CudaDeviceOptions& options = {});
};

// Random weights, packed with the device's pack(); one address a constant.
class SampleConstants final : public ConstantSource {
 public:
  SampleConstants();
  Status prepare(std::span<const ConstantDecl>, const Device&) override { return {}; }
  Result<const void*> locate(const ConstantDecl& constant, const Device& device) override;

 private:
  std::vector<float> table_, weight_;
  std::vector<std::byte> packed_;
};

// One call: lengths of the sequences.
struct SampleCall {
  explicit SampleCall(std::vector<int64_t> lengths, int64_t width = kWidth, unsigned seed = 1);
  std::vector<TensorView> inputs();
  std::vector<TensorView> outputs();

  std::vector<int32_t> ids, offsets;
  std::vector<float> out;
  int64_t id_sizes[1], offset_sizes[1], out_sizes[2];
};

// What the CPU executor makes of the call.
std::vector<float> expected(const SampleCall& call, const SampleOptions& options = {});

}  // namespace edge_infer::cuda
