#include "models/gate_sample.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace edge_infer {
namespace {

constexpr int64_t kMostTokens = 1024;  // of a sequence: more would take seconds on a processor
// Ids apart from each other by this, modulo the vocabulary: neighbours there have little in common.
constexpr int64_t kStride = 7919;

// Numbers, punctuation, rare and broken words: what activations are largest for is seldom prose.
constexpr std::string_view kPage =
    "The harbour office keeps a ledger of 1,204 arrivals (see Table 3, p. 17): date, tonnage, flag. "
    "\"Nothing else,\" the clerk said, \"is worth the ink.\" -- In 1897 the price rose by 12.5 %, i.e. from "
    "$3.20 to $3.60 a ton; by 1911 it had fallen again. Überfahrt nach Åland: dreißig Stunden. Les bateaux "
    "arrivaient à l'aube. Счёт оплачен. 港の記録は残っていない。 "
    "if (x[i] != NULL && y >= 0x7fff) { return f(x, -1e-9); } // TODO https://example.org/a?b=c#d "
    "AAAAAAAA zzzzqqqq ...... ////// ====== hydroxychloroquine antidisestablishmentarianism ";

constexpr std::array<int64_t, 4> kLengths = {1, 14, 62, 128};

class SampleBuilder {
 public:
  SampleBuilder(const Tokenizer& tokenizer, int64_t longest) : tokenizer_(tokenizer), longest_(longest) {
    // The special tokens stand in front of and behind what a text has of its own.
    Encoding none, some;
    tokenizer.encode("", 0, none);
    tokenizer.encode("a", 0, some);
    const auto split = std::ranges::mismatch(none.ids, some.ids).in1;
    front_.assign(none.ids.begin(), split);
    behind_.assign(split, none.ids.end());
  }

  void add_text(std::string_view text) {
    Encoding encoding;
    tokenizer_.encode(text, longest_, encoding);
    add(encoding.ids);
  }

  // `own` ids besides the special ones, as far as there is room.
  void add_spread(int64_t own) {
    const auto special = static_cast<int64_t>(front_.size() + behind_.size());
    const int64_t vocabulary = tokenizer_.vocabulary_size();
    std::vector<int32_t> ids = front_;
    for (int64_t i = 0; i < std::min(own, longest_ - special); ++i)
      ids.push_back(static_cast<int32_t>((next_++ * kStride) % vocabulary));
    ids.insert(ids.end(), behind_.begin(), behind_.end());
    add(ids);
  }

  GateSample finish() {
    GateSample sample;
    sample.inputs.push_back(tensor(ids_));
    sample.inputs.push_back(tensor(offsets_));
    sample.rows = std::move(rows_);
    return sample;
  }

 private:
  void add(const std::vector<int32_t>& ids) {
    if (ids.empty()) return;
    rows_.push_back(fmt::format("sequence {}, {} tokens", rows_.size(), ids.size()));
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    offsets_.push_back(static_cast<int32_t>(ids_.size()));
  }

  static HostTensor tensor(const std::vector<int32_t>& values) {
    HostTensor tensor{.dtype = DType::kI32, .sizes = {static_cast<int64_t>(values.size())}, .bytes = {}};
    tensor.bytes.resize(values.size() * sizeof(int32_t));
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    return tensor;
  }

  const Tokenizer& tokenizer_;
  int64_t longest_, next_ = 1;
  std::vector<int32_t> front_, behind_, ids_, offsets_ = {0};
  std::vector<std::string> rows_;
};

}  // namespace

GateSample gate_sample(const Tokenizer& tokenizer, int64_t positions) {
  const int64_t longest = std::min(positions, kMostTokens);
  SampleBuilder builder(tokenizer, longest);
  builder.add_text("harbour");
  builder.add_text("A second text, of one sentence.");
  builder.add_text(kPage);
  for (const int64_t own : kLengths) builder.add_spread(own);
  builder.add_spread(longest);
  return builder.finish();
}

}  // namespace edge_infer
