#include "runtime/cache/entry_text.h"

#include <algorithm>

namespace edge_infer {
namespace {

constexpr std::string_view kHead = "entry 1\n", kMiddle = "end of guards\n";

bool establishes(const GuardSet& guards, Guard::Kind kind, int32_t input, int64_t value) {
  return std::ranges::any_of(guards.guards(), [&](const Guard& g) {
    return g.kind == kind && g.input == input && g.value == value;
  });
}

// The executor reads as many inputs and dimensions as the program names.
Status check_agreement(const StoredEntry& entry) {
  int64_t inputs = 0;
  for (const BufferDecl& b : entry.program.buffers) {
    if (b.role != BufferRole::kInput && b.role != BufferRole::kState) continue;
    ++inputs;
    if (!establishes(entry.guards, Guard::Kind::kDType, b.index, static_cast<int64_t>(b.dtype)) ||
        !establishes(entry.guards, Guard::Kind::kRank, b.index, static_cast<int64_t>(b.sizes.size())))
      return fail(ErrorCode::kCorruption, "no guard says that input {} is {} of rank {}", b.index,
                  dtype_name(b.dtype), b.sizes.size());
    for (size_t d = 0; d < b.sizes.size(); ++d) {
      const auto size = b.sizes[d].constant();
      if (!size) continue;
      const bool held = std::ranges::any_of(entry.guards.guards(), [&](const Guard& g) {
        return g.kind == Guard::Kind::kSizeEqual && g.input == b.index && g.dim == d && g.value == *size;
      });
      if (!held)
        return fail(ErrorCode::kCorruption, "no guard says that dim {} of input {} is {}", d, b.index, *size);
    }
  }
  if (!establishes(entry.guards, Guard::Kind::kInputCount, 0, inputs))
    return fail(ErrorCode::kCorruption, "no guard says that there are {} inputs", inputs);
  return {};
}

}  // namespace

std::string print_entry(const GuardSet& guards, const Program& program) {
  return std::string(kHead) + guards.print() + std::string(kMiddle) + print_program(program);
}

Result<StoredEntry> parse_entry(std::string_view text) {
  if (!text.starts_with(kHead))
    return fail(ErrorCode::kCorruption, "entry: found {} bytes of another beginning, expected \"entry 1\"",
                text.size());
  text.remove_prefix(kHead.size());
  // Guards are whole lines, so the mark stands at the beginning of one.
  size_t middle = text.starts_with(kMiddle) ? 0 : text.find("\n" + std::string(kMiddle));
  if (middle == std::string_view::npos)
    return fail(ErrorCode::kCorruption, "entry: expected a line \"end of guards\"");
  if (middle > 0) ++middle;
  StoredEntry entry;
  auto guards = GuardSet::parse(text.substr(0, middle));
  if (!guards) return fail_with_context(guards.error(), "entry's guards");
  entry.guards = *std::move(guards);
  auto program = parse_program(text.substr(middle + kMiddle.size()));
  if (!program) return fail_with_context(program.error(), "entry's program");
  entry.program = *std::move(program);
  EDGE_INFER_RETURN_IF_ERROR(check_agreement(entry));
  return entry;
}

}  // namespace edge_infer
