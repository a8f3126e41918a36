// Resident memory over many calls: memory_bench MODEL. 300 large random calls and 10,000 calls of at most 64
// tokens; the resident set may grow by 2 % after the first large ones.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include "models/model_embedder.h"

namespace {

long resident_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::strtol(line.c_str() + 6, nullptr, 10);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace edge_infer;
  if (argc != 2) return 2;
  auto opened = ModelEmbedder::open(argv[1], {});
  if (!opened) {
    fmt::print(stderr, "{}\n", opened.error().message);
    return 1;
  }
  const ModelEmbedder& embedder = **opened;
  std::mt19937 random(3);
  std::vector<int32_t> ids(static_cast<size_t>(embedder.max_length()));
  for (int32_t& id : ids) id = static_cast<int32_t>(1000 + random() % 20000);
  std::vector<float> out;
  const auto call = [&](size_t count, size_t longest) {
    std::vector<std::span<const int32_t>> texts;
    for (size_t i = 0; i < count; ++i) texts.push_back(std::span(ids).first(1 + random() % longest));
    out.resize(count * static_cast<size_t>(embedder.dimensions()));
    if (const Status status = embedder.embed_tokens(texts, out); !status) {
      fmt::print(stderr, "{}\n", status.error().message);
      std::exit(1);
    }
  };
  for (int i = 0; i < 3; ++i) call(64, ids.size());
  const long before = resident_kb();
  long peak = before;
  for (int i = 0; i < 300; ++i) {
    call(1 + random() % 64, ids.size());
    for (int small = 0; small < 34; ++small) call(1, 64);
    peak = std::max(peak, resident_kb());
  }
  const long after = resident_kb();
  fmt::print(
      "resident set: {} kB after the first large calls, {} kB after 10,200 small and 300 large ones ({:+.2f} "
      "%), "
      "peak {} kB; arena peak {} kB\n",
      before, after, 100.0 * static_cast<double>(after - before) / static_cast<double>(before), peak,
      embedder.module().peak_arena_bytes() / 1024);
  return after <= before + before / 50 ? 0 : 1;
}
