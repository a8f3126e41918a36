// Runs generic prebuilt kernels on every instruction set of the machine, over the whole range and over
// pieces. Buffers end at a page that cannot be touched and begin behind a poisoned zone.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/prebuilt/registry.h"
#include "runtime/base/dtype.h"

namespace edge_infer::test {

// `bytes` of memory that end where a page without access begins; aligned to `alignment`-byte elements only.
class Guarded {
 public:
  explicit Guarded(size_t bytes, std::byte fill = std::byte{0xa5});
  ~Guarded();
  Guarded(Guarded&& other) noexcept;
  Guarded(const Guarded&) = delete;
  Guarded& operator=(Guarded&&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return bytes_; }
  bool zone_in_front_is_intact() const;

 private:
  std::byte* map_ = nullptr;
  std::byte* data_ = nullptr;
  size_t map_bytes_ = 0, bytes_ = 0;
};

// An element as a double (floating types) or an integer (others; bool is 0 or 1).
double get_double(DType dtype, const std::byte* data, int64_t i);
int64_t get_integer(DType dtype, const std::byte* data, int64_t i);
void set_double(DType dtype, std::byte* data, int64_t i, double value);
void set_integer(DType dtype, std::byte* data, int64_t i, int64_t value);

using Sizes = std::vector<int64_t>;
int64_t product(const Sizes& sizes);
Sizes dense_strides(const Sizes& sizes);
// Offset of element `flat` in row-major order of `sizes`.
int64_t offset_of(int64_t flat, const Sizes& sizes, const Sizes& strides);

// One operand: elements that strides reach over `sizes`, filled by `random`.
struct Operand {
  DType dtype;
  Sizes strides;
  Guarded buffer;
};
enum class Layout { kDense, kReversed, kGapped, kBroadcastInner, kBroadcastOuter, kBroadcastSome, kScalar };
constexpr Layout kLayouts[] = {Layout::kDense,          Layout::kReversed,       Layout::kGapped,
                               Layout::kBroadcastInner, Layout::kBroadcastOuter, Layout::kBroadcastSome,
                               Layout::kScalar};
using Random = std::mt19937_64;
Operand make_operand(DType dtype, const Sizes& sizes, Layout layout, Random& random);
// Random elements: floats around 0 with zeros, infinities and NaN where `specials`; integers small with
// extremes.
void fill_random(DType dtype, std::byte* data, int64_t elements, Random& random, bool specials = true);

// Shapes of rank 0 to 8 with odd sizes, sizes of 1 and empty ones.
const std::vector<Sizes>& shapes();

// Calls kernel `name` of `isa` on rows [0, rows) at once and in pieces: both must give the same bits, write
// nothing outside of their rows (where rows lie one after the other in the output) and leave the zone in
// front of the output alone. The output.
Guarded run_kernel(Isa isa, const std::string& name, size_t out_bytes, const std::vector<const void*>& inputs,
                   const std::vector<int64_t>& integers, int64_t rows, Random& random,
                   bool rows_in_order = true);

std::vector<Isa> isas();
int64_t bits(double value);

// "f32 [3, 5] reversed on avx2"
std::string describe(Isa isa, const std::string& name, const Sizes& sizes);

}  // namespace edge_infer::test
