// aten.linear.f32: out[M, N] = x[M, K] w[N, K]^T (+ bias), w packed as nk.f32.p<kPanel> = [ceil(N /
// kPanel)][K][kPanel], columns beyond N zero. Ranges: any rows; columns from a multiple of kPanel to a
// multiple of it or to N.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/gemm_tile.h"
#include "backends/cpu/prebuilt/registry.h"
#include "backends/cpu/prebuilt/tables.h"

namespace edge_infer::EDGE_ISA {
namespace {

struct Step {
  Tile tile;
  const float* bias;  // nullptr: none, or not the last part of k
  bool resume;        // c holds the sums of the parts of k before
};

template <int MR, int P>
EDGE_NOINLINE void linear_tile(const Step& step) {
  const bool resume = step.resume;
  const float* bias = step.bias;
  const int64_t columns = step.tile.columns;
  run_tile<MR, P, true>(
      step.tile,
      [resume](int, const float* c, int64_t lanes)
          __attribute__((always_inline)) { return resume ? load_part(c, lanes) : f32p{}; },
      [bias, columns](int, int column, f32p value) __attribute__((always_inline)) {
        return bias == nullptr ? value : value + load_part(bias + column, columns - column);
      });
}

// Panels a tile of so few rows takes at once, so that eight accumulators hide the latency of fma.
template <int MR>
constexpr int panels_at_once() {
  constexpr int registers = kVectorRegisters - 1;
  int best = 1;
  for (const int p : {2, 4})
    if (MR * p * kPanelParts <= 8 && (MR + 1) * p * kPanelParts <= registers) best = p;
  return best;
}

void linear(const KernelArgs* args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void*) {
  float* out = output<float>(args, 0);
  const float* x = input<float>(args, 1);
  const float* w = input<float>(args, 2);
  const float* bias = input<float>(args, 3);
  const int64_t n_all = integer(args, 0), k_all = integer(args, 1);
  n1 = smaller(n1, n_all);
  if (m0 >= m1 || n0 >= n1) return;
  // k in parts of at most 2048 and rows in equal blocks of at most about 1 MB, so that what the panels sweep
  // over stays in L2.
  const int64_t k_parts = larger<int64_t>(1, (k_all + 2047) / 2048);
  const int64_t k_part = larger<int64_t>(1, (k_all + k_parts - 1) / k_parts);
  const int64_t most_rows = larger<int64_t>(kTileRows, (int64_t{1} << 18) / k_part);
  const int64_t blocks = (m1 - m0 + most_rows - 1) / most_rows;
  const int64_t block = ((m1 - m0 + blocks - 1) / blocks + kTileRows - 1) / kTileRows * kTileRows;
  for (int64_t mb = m0; mb < m1; mb += block) {
    const int64_t rows = smaller(block, m1 - mb);
    for (int64_t k0 = 0; k0 == 0 || k0 < k_all; k0 += k_part) {
      const int64_t depth = smaller(k_part, k_all - k0);
      for (int64_t n = n0; n < n1;) {
        int64_t taken = kPanel;
        for_row_tiles(rows, [&](int64_t m, int64_t count) __attribute__((always_inline)) {
          with_rows(count, [&]<int MR>() __attribute__((always_inline)) {
            constexpr int kWide = panels_at_once<MR>();
            Step step = {{x + (mb + m) * k_all + k0, k_all, w + n * k_all + k0 * kPanel, kPanel,
                          k_all * kPanel, depth, out + (mb + m) * n_all + n, n_all, n1 - n},
                         k0 + depth == k_all && bias != nullptr ? bias + n : nullptr,
                         k0 != 0};
            if (kWide > 1 && rows == count && n1 - n > (kWide - 1) * kPanel) {
              taken = kWide * kPanel;
              linear_tile<MR, kWide>(step);
            } else {
              linear_tile<MR, 1>(step);
            }
          });
        });
        n += taken;
      }
    }
  }
}

constexpr PrebuiltKernel kTable[] = {{"aten.linear.f32", linear}};

}  // namespace

std::span<const PrebuiltKernel> linear_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
