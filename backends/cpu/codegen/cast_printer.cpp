// Conversions between element types as C.
#include "backends/cpu/codegen/kernel_printer.h"

namespace edge_infer::cpu_codegen {

// Nearest even into f16 and bf16. What float cannot hold exactly is rounded to odd first, so that it rounds
// once.
Text KernelPrinter::cast_to_float16(const Text& x, DType from, DType to) {
  Text wide;
  switch (lane_of(from)) {
    case Lane::kF64:
      wide = call("odd_f32_from_f64", Lane::kF32, {{&x, Lane::kF64}});
      break;
    case Lane::kI64: {
      const Text number = call("f64_from_i64", Lane::kF64, {{&x, Lane::kI64}});
      wide = call("odd_f32_from_f64", Lane::kF32, {{&number, Lane::kF64}});
      break;
    }
    case Lane::kI32:
      if (from == DType::kI32) {
        const Text number = call("f64_from_i32", Lane::kF64, {{&x, Lane::kI32}});
        wide = call("odd_f32_from_f64", Lane::kF32, {{&number, Lane::kF64}});
        break;
      }
      wide = cast(x, from, DType::kF32);
      break;
    case Lane::kBool:
      return cast(x, from, DType::kF32);
    case Lane::kF32:
      wide = x;
      break;
  }
  return call(fmt::format("round_to_{}", dtype_name(to)), Lane::kF32, {{&wide, Lane::kF32}});
}

Text KernelPrinter::cast(const Text& x, DType from, DType to) {
  if (from == to) return x;
  const Lane source = lane_of(from), target = lane_of(to);
  const auto convert = [&](const Text& y, Lane a, Lane b) {
    if (a == b) return y;
    return call(fmt::format("{}_from_{}", lane_name(b), lane_name(a)), b, {{&y, a}});
  };
  if (to == DType::kBool) {
    const Text zero{.code = is_float(source) ? number_literal(0, source) : integer_literal(0, source)};
    return infix(x, "!=", zero, source, Lane::kBool);
  }
  if (to == DType::kF16 || to == DType::kBF16) return cast_to_float16(x, from, to);
  if (from == DType::kBool) {
    if (!x.vector)
      return {.code = fmt::format("({}){}", scalar_type(target), as_operand(x)),
              .vector = false,
              .atomic = false};
    if (target == Lane::kF32)
      return {.code = fmt::format("select_f32({}, splat_f32(1.0f), splat_f32(0.0f))", x.code),
              .vector = true};
    const Text ones{.code = fmt::format("{} & 1", as_operand(x)), .vector = true, .atomic = false};
    return convert(ones, Lane::kI32, target);
  }
  if (is_float(target)) {
    const bool exact_in_c = source == Lane::kI32 || source == Lane::kI64 || source == Lane::kF32;
    if (!x.vector && source != target && exact_in_c)
      return {.code = fmt::format("({}){}", scalar_type(target), as_operand(x)),
              .vector = false,
              .atomic = false};
    return convert(x, source, target);
  }
  if (target == Lane::kI64) return convert(x, source, target);
  Text narrow = convert(x, source, Lane::kI32);
  if (to == DType::kI32) return narrow;
  if (!is_float(source))
    return call(fmt::format("wrap_{}", dtype_name(to)), Lane::kI32, {{&narrow, Lane::kI32}});
  const int low = to == DType::kI16 ? -32768 : to == DType::kI8 ? -128 : 0;
  const int high = to == DType::kI16 ? 32767 : to == DType::kI8 ? 127 : 255;
  return call("clamp_i32", Lane::kI32, {{&narrow, Lane::kI32}}, fmt::format(", {}, {}", low, high));
}

}  // namespace edge_infer::cpu_codegen
