// Element types of the generic kernels and the names of kernels built from them at compile time.
// Everything here is in the namespace of the instruction set, so that no inline function compiled for a wide
// set can be picked by the linker for code that must run anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/cpu/prebuilt/registry.h"

// The loop behind it carries nothing from one iteration to the next, also where the result replaces an
// operand. Clang checks for overlap at run time instead.
#if defined(__clang__)
#define EDGE_IVDEP
#else
#define EDGE_IVDEP _Pragma("GCC ivdep")
#endif

namespace edge_infer::EDGE_ISA {
namespace {

// Storage types of elements that C++ has no type for. Bool is 0 or 1.
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
struct Bool {
  uint8_t value;
};

// What kernels compute with: f16 and bf16 widen to f32, bool is a byte.
template <class T>
struct ComputeOf {
  using type = T;
};
template <>
struct ComputeOf<Half> {
  using type = float;
};
template <>
struct ComputeOf<BFloat> {
  using type = float;
};
template <>
struct ComputeOf<Bool> {
  using type = uint8_t;
};
template <class T>
using Compute = typename ComputeOf<T>::type;

template <class T>
inline constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<float> = true;
template <>
inline constexpr bool kIsFloat<double> = true;

template <class T>
inline constexpr std::string_view kElementName = "";
template <>
inline constexpr std::string_view kElementName<float> = "f32";
template <>
inline constexpr std::string_view kElementName<double> = "f64";
template <>
inline constexpr std::string_view kElementName<Half> = "f16";
template <>
inline constexpr std::string_view kElementName<BFloat> = "bf16";
template <>
inline constexpr std::string_view kElementName<int64_t> = "i64";
template <>
inline constexpr std::string_view kElementName<int32_t> = "i32";
template <>
inline constexpr std::string_view kElementName<int16_t> = "i16";
template <>
inline constexpr std::string_view kElementName<int8_t> = "i8";
template <>
inline constexpr std::string_view kElementName<uint8_t> = "u8";
template <>
inline constexpr std::string_view kElementName<Bool> = "bool";

// "<op>.<dtype>" as a constant: kernel_name<"aten.add", float>.
template <size_t N>
struct FixedString {
  char data[N] = {};
  consteval FixedString(const char (&text)[N]) {  // NOLINT: a literal is a FixedString
    for (size_t i = 0; i < N; ++i) data[i] = text[i];
  }
  consteval std::string_view view() const { return {data, N - 1}; }
};

template <FixedString Op, class T>
struct KernelNameStorage {
  static constexpr size_t kSize = Op.view().size() + 1 + kElementName<T>.size();
  static consteval std::array<char, kSize> join() {
    std::array<char, kSize> joined{};
    size_t at = 0;
    for (const char c : Op.view()) joined[at++] = c;
    joined[at++] = '.';
    for (const char c : kElementName<T>) joined[at++] = c;
    return joined;
  }
  static constexpr std::array<char, kSize> text = join();
};
template <FixedString Op, class T>
inline constexpr std::string_view kernel_name{KernelNameStorage<Op, T>::text.data(),
                                              KernelNameStorage<Op, T>::kSize};

// "<op>.<from>.<to>".
template <FixedString Op, class From, class To>
struct CastNameStorage {
  static constexpr std::string_view kHead = kernel_name<Op, From>;
  static constexpr size_t kSize = kHead.size() + 1 + kElementName<To>.size();
  static consteval std::array<char, kSize> join() {
    std::array<char, kSize> joined{};
    size_t at = 0;
    for (const char c : kHead) joined[at++] = c;
    joined[at++] = '.';
    for (const char c : kElementName<To>) joined[at++] = c;
    return joined;
  }
  static constexpr std::array<char, kSize> text = join();
};
template <FixedString Op, class From, class To>
inline constexpr std::string_view cast_name{CastNameStorage<Op, From, To>::text.data(),
                                            CastNameStorage<Op, From, To>::kSize};

template <size_t... N>
consteval auto concat(const std::array<PrebuiltKernel, N>&... parts) {
  std::array<PrebuiltKernel, (N + ...)> all{};
  size_t at = 0;
  const auto append = [&](const auto& part) {
    for (const PrebuiltKernel& kernel : part) all[at++] = kernel;
  };
  (append(parts), ...);
  return all;
}

}  // namespace
}  // namespace edge_infer::EDGE_ISA
