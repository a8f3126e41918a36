// Compiles a generated-style source around a CPU template with clang-19 and loads it: what tests and benches
// of backends/cpu/templates use in place of the code generator and its compiler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/program/kernel_abi.h"

namespace edge_infer::testing {

enum class TemplateIsa { kPortable, kAvx2, kAvx512 };
const char* template_isa_name(TemplateIsa isa);
std::vector<TemplateIsa> template_isas();  // those that this machine runs
int panel_columns(TemplateIsa isa);

class TemplateKernel {
 public:
  // `source` defines `void k(const struct KernelArgs*, ...)`; it may include files relative to the source
  // root. Errors: kInvalidArgument with the diagnostics, kIoError.
  static Result<TemplateKernel> compile(const std::string& source, TemplateIsa isa);

  void operator()(const KernelArgs& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                  void* scratch) const {
    fn_(&args, m0, m1, n0, n1, scratch);
  }
  double compile_seconds() const { return seconds_; }

 private:
  std::shared_ptr<void> library_;
  KernelFn fn_ = nullptr;
  double seconds_ = 0;
};

// Prelude stand-in: types, KernelArgs and a few vector helpers (loads and stores of n lanes, erf-GELU).
std::string template_prelude();

// How the sums of a GEMM are used.
enum class GemmBody { kStore, kBias, kBiasGelu, kResidualLayerNorm, kScaledInput };
struct GemmKernelSpec {
  int n = 384, k = 384;
  std::string defines;  // the schedule's
  GemmBody body = GemmBody::kStore;
  int row_block = 96;
};
// Buffers: out, a, packed weight, bias, residual, gamma, beta. Slot scratch lies behind `template_scratch`
// bytes.
std::string gemm_source(const GemmKernelSpec& spec, TemplateIsa isa, int64_t template_scratch);

struct AttentionKernelSpec {
  int heads = 12, kv_heads = 12, dim = 32, block_rows = 32;
  int q_row = 1152, k_row = 1152, v_row = 1152, out_row = 384;
  int q_offset = 0, k_offset = 384, v_offset = 768;
  bool causal = false;
  float scale = 0.17677669F;
};
// Buffers: out, q, k, v, cu, units.
std::string attention_source(const AttentionKernelSpec& spec);

// Floats on a 64-byte boundary.
class Floats {
 public:
  Floats() = default;
  explicit Floats(int64_t count, float value = 0.0F);
  float* data() { return at_; }
  const float* data() const { return at_; }
  int64_t size() const { return count_; }
  float& operator[](int64_t i) { return at_[i]; }
  float operator[](int64_t i) const { return at_[i]; }

 private:
  std::unique_ptr<float[]> memory_;
  float* at_ = nullptr;
  int64_t count_ = 0;
};
// Uniform in [-1, 1), the same for the same seed.
Floats random_floats(int64_t count, uint32_t seed);

// [ceil(n / panel)][k][panel] of a row-major [n, k] weight, zeros beyond n.
Floats pack_panels(const float* w, int64_t n, int64_t k, int panel);

}  // namespace edge_infer::testing
