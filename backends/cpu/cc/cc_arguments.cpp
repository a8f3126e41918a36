#include "backends/cpu/cc/cc_arguments.h"

#include <algorithm>
#include <array>

namespace edge_infer {
namespace {

constexpr auto kFeatures = std::to_array<std::string_view>({
    "sse3",       "ssse3",      "sse4.1",     "sse4.2",     "popcnt",      "avx",          "avx2",
    "fma",        "f16c",       "bmi",        "bmi2",       "lzcnt",       "movbe",        "gfni",
    "avxvnni",    "avx512f",    "avx512bw",   "avx512cd",   "avx512dq",    "avx512vl",     "avx512vnni",
    "avx512bf16", "avx512fp16", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq",
    "amx-tile",   "amx-bf16",   "amx-int8",
});

Result<std::string_view> vector_width(std::string_view target) {
  if (target == "cpu.portable") return "128";
  if (target == "cpu.avx2") return "256";
  if (target == "cpu.avx512") return "512";
  return fail(ErrorCode::kInvalidArgument,
              "no target \"{}\"; there are cpu.portable, cpu.avx2 and cpu.avx512", target);
}

}  // namespace

Result<std::vector<std::string>> cc_arguments(std::string_view target, std::string_view features) {
  EDGE_INFER_ASSIGN(const std::string_view width, vector_width(target));
  // Contraction is off so that a product and a sum round the same wherever a compiler happens to see them
  // together; sources say fma where they mean it. No assembly in the source: it could name files.
  std::vector<std::string> arguments = {"-triple",
                                        "x86_64-unknown-linux-gnu",
                                        "-x",
                                        "c",
                                        "-std=gnu11",
                                        "-O2",
                                        "-ffp-contract=off",
                                        "-ffreestanding",
                                        "-fno-builtin",
                                        "-fno-gnu-inline-asm",
                                        "-nostdsysteminc",
                                        "-nobuiltininc",
                                        "-mrelocation-model",
                                        "pic",
                                        "-pic-level",
                                        "2",
                                        "-fvisibility=hidden",
                                        "-disable-llvm-passes",
                                        "-disable-llvm-verifier",
                                        "-w",
                                        "-ferror-limit",
                                        "10",
                                        "-target-cpu",
                                        "x86-64",
                                        "-tune-cpu",
                                        "generic",
                                        fmt::format("-mprefer-vector-width={}", width)};
  for (bool more = !features.empty(); more;) {
    const size_t end = features.find(',');
    const std::string_view feature = features.substr(0, end);
    if (std::ranges::find(kFeatures, feature) == kFeatures.end())
      return fail(ErrorCode::kInvalidArgument, "no instruction set \"{}\" is known for x86-64", feature);
    arguments.push_back("-target-feature");
    arguments.push_back(fmt::format("+{}", feature));
    more = end != std::string_view::npos;
    if (more) features.remove_prefix(end + 1);
  }
  return arguments;
}

}  // namespace edge_infer
