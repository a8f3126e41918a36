// Nests around a product, as text: what fusion makes of linear layers.
#pragma once

#include <fmt/format.h>

#include <string>

namespace edge_infer::cuda {

struct NestText {
  std::string half = "f16", accumulation = "wgmma.k16";
  int n = 1152, k = 384;

  std::string bias() const {
    return head(fmt::format("b2: in f32[{}], b3: out {}[T, {}]", n, half, n)) +
           fmt::format("b3[{}*m+n] = {}(%v0 + b2[n])", n, half) + tail();
  }
  std::string gelu() const {
    return head(fmt::format("b2: in f32[{}], b3: out {}[T, {}]", n, half, n)) +
           fmt::format(
               "%v1 = %v0 + b2[n]\n"
               "      b3[{}*m+n] = {}(%v1 * 0.5 * (erf(%v1 * 0.7071067811865476) + 1))",
               n, half) +
           tail();
  }
  std::string residual() const {
    return head(fmt::format("b2: in {0}[T, {1}], b3: in {0}[{1}], b4: out {0}[T, {1}]", half, n)) +
           fmt::format("b4[{0}*m+n] = {1}(f32(b2[{0}*m+n]) + (%v0 + f32(b3[n])))", n, half) + tail();
  }
  // Two results, one of them the second half of wider rows.
  std::string two() const {
    return head(fmt::format("b2: in f32[{1}], b3: out {0}[T, {1}], b4: out {0}[T, {2}]", half, n, 2 * n)) +
           fmt::format(
               "%v1 = %v0 + b2[n]\n      b3[{0}*m+n] = {1}(%v1)\n      b4[{2}*m+n+{0}] = {1}(max(%v1, 0))", n,
               half, 2 * n) +
           tail();
  }
  // A result that begins a row later.
  std::string shifted() const {
    return head(fmt::format("b2: in f32[{1}], b3: out {0}[T+1, {1}]", half, n)) +
           fmt::format("b3[{0}*m+n+{0}] = {1}(%v0 + b2[n])", n, half) + tail();
  }
  // Several results, some under a condition; operands of rows, and of the second half of wider rows.
  std::string mixed() const {
    return fmt::format(
               "nest @mixed class {0} symbols(S in 1..64 hint 2, T in 1..16384 hint 128)\n"
               "    (b0: in {1}[S*T, {2}], b1: packed {1}[{3}, {4}], b2: in f32[S*T], b3: in f32[S*T, {3}], "
               "b4: out "
               "f32[S*T, {3}], b5: out f32[S*T, {3}], b6: out {1}[S*T, {5}]) {{\n"
               "  for m:S*T work {{\n"
               "    gemm %v0 over n:{3}, k:{4} a(b0[k+{2}*m+{4}]) w(b1) {{\n      ",
               accumulation, half, 2 * k, n, k, 2 * n) +
           fmt::format(
               "%v1 = %v0 * b2[m] + b3[{0}*m+n]\n"
               "      b4[{0}*m+n] = erf(%v1) if %v1 > 0\n"
               "      b5[{0}*m+n] = %v1\n"
               "      b6[{1}*m+n+{0}] = {2}(max(%v1, 0))",
               n, 2 * n, half) +
           tail();
  }

 private:
  std::string head(const std::string& buffers) const {
    return fmt::format(
        "nest @product class {0} symbols(T in 1..16384 hint 128)\n"
        "    (b0: in {1}[T, {2}], b1: packed {1}[{3}, {2}], {4}) {{\n"
        "  for m:T work {{\n"
        "    gemm %v0 over n:{3}, k:{2} a(b0[k+{2}*m]) w(b1) {{\n      ",
        accumulation, half, k, n, buffers);
  }
  static std::string tail() { return "\n    }\n  }\n}\n"; }
};

}  // namespace edge_infer::cuda
