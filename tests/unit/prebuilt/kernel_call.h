// Calls a kernel of a given instruction set on memory that shows what it touches: a buffer's last element is
// the last one before an inaccessible page, and the bytes before its first element must stay as they were.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/prebuilt/registry.h"

namespace edge_infer {

// n elements, all bytes 0xff (NaN, -1) at first, at element alignment only.
template <typename T>
class Fenced {
 public:
  explicit Fenced(int64_t n) : n_(static_cast<size_t>(n)) {
    constexpr size_t kPage = 4096, kBefore = 256;
    const size_t body = (n_ * sizeof(T) + kBefore + kPage - 1) / kPage * kPage;
    bytes_ = body + kPage;
    base_ = static_cast<std::byte*>(
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(static_cast<void*>(base_), MAP_FAILED);
    std::memset(base_, 0xff, body);
    ::mprotect(base_ + body, kPage, PROT_NONE);
    data_ = reinterpret_cast<T*>(base_ + body) - n_;
  }
  Fenced(Fenced&& other) noexcept
      : n_(other.n_), bytes_(other.bytes_), base_(other.base_), data_(other.data_) {
    other.base_ = nullptr;
  }
  Fenced& operator=(Fenced&&) = delete;
  ~Fenced() {
    if (base_ == nullptr) return;
    bool intact = true;
    for (const std::byte* p = base_; p != reinterpret_cast<const std::byte*>(data_); ++p)
      intact = intact && *p == std::byte{0xff};
    EXPECT_TRUE(intact) << "written before the first element";
    ::munmap(base_, bytes_);
  }

  T* data() { return data_; }
  size_t size() const { return n_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + n_; }
  void poison() { std::memset(static_cast<void*>(data_), 0xff, n_ * sizeof(T)); }
  std::vector<T> copy() const { return std::vector<T>(data_, data_ + n_); }

 private:
  size_t n_, bytes_ = 0;
  std::byte* base_ = nullptr;
  T* data_ = nullptr;
};

inline Fenced<float> random_floats(int64_t n, uint32_t seed, float range = 1.0F) {
  Fenced<float> f(n);
  std::mt19937 random(seed);
  for (float& x : f) x = (static_cast<float>(random() >> 8) * 0x1p-23F - 1.0F) * range;
  return f;
}
template <typename T>
Fenced<T> fenced(std::initializer_list<T> values) {
  Fenced<T> f(static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), f.begin());
  return f;
}

inline int64_t as_integer(double x) {
  return std::bit_cast<int64_t>(x);
}

// A kernel with its own poisoned scratch.
class Kernel {
 public:
  Kernel(Isa isa, std::string_view name) : kernel_(find_prebuilt(isa, name)) {
    EXPECT_NE(kernel_, nullptr) << isa_name(isa) << " has no " << name;
    if (kernel_ == nullptr) return;
    const size_t bytes = (kernel_->scratch_bytes + 63) / 64 * 64;
    scratch_ = std::make_unique<Fenced<std::byte>>(static_cast<int64_t>(bytes));
  }
  void operator()(std::vector<void*> buffers, std::vector<int64_t> integers, int64_t m0, int64_t m1,
                  int64_t n0 = 0, int64_t n1 = 1) {
    // Exactly as many arguments as given: the sanitizers see a read beyond them.
    const KernelArgs args = {buffers.data(), integers.data()};
    scratch_->poison();
    kernel_->function(&args, m0, m1, n0, n1, scratch_->data());
  }

 private:
  const PrebuiltKernel* kernel_;
  std::unique_ptr<Fenced<std::byte>> scratch_;
};

// Tests run once an instruction set that this processor has.
class EveryIsa : public testing::TestWithParam<Isa> {
 protected:
  Isa isa() const { return GetParam(); }
  // Panel width of the set's packed weights.
  int64_t panel() const { return isa() == Isa::kAvx512 ? 32 : 16; }
  // a * b + c as the set's class does it.
  float fused(float a, float b, float c) const {
#if defined(__x86_64__)
    if (isa() == Isa::kPortable) return a * b + c;
#endif
    return __builtin_fmaf(a, b, c);
  }
};
inline std::vector<Isa> isas_here() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
    if (isa_runs_here(isa)) isas.push_back(isa);
  return isas;
}
#define EDGE_EVERY_ISA(suite)                                          \
  INSTANTIATE_TEST_SUITE_P(isa, suite, testing::ValuesIn(isas_here()), \
                           [](const auto& isa) { return std::string(isa_name(isa.param)); })

// "" or what differs first.
template <typename T>
std::string first_difference(std::span<const T> a, std::span<const T> b) {
  if (a.size() != b.size()) return "sizes differ";
  for (size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0)
      return "element " + std::to_string(i) + ": " + std::to_string(a[i]) + " and " + std::to_string(b[i]);
  return "";
}

}  // namespace edge_infer
