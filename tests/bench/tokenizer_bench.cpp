// Tokens a second of the tokenizer on one thread: tokenizer_bench MODEL_DIR TEXTS.jsonl [ROUNDS] [--ids]
// TEXTS.jsonl: a JSON string, or an object with the member "text", a line. One line of JSON a round on
// standard output; with --ids the ids of every text instead, for comparing.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/tokenizers/tokenizer.h"

namespace {

std::vector<std::string> read_texts(const char* path) {
  std::vector<std::string> texts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto value = nlohmann::json::parse(line);
    texts.push_back(value.is_string() ? value.get<std::string>() : value.at("text").get<std::string>());
  }
  return texts;
}

double load_milliseconds(const char* model, const char* cache) {
  edge_infer::TokenizerOptions options;
  options.cache_dir = cache;
  const auto start = std::chrono::steady_clock::now();
  if (!edge_infer::Tokenizer::load(model, options)) return -1;
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int bench_load(const char* model, const char* cache) {
  const double first = load_milliseconds(model, cache);
  double best = 1e9;
  for (int i = 0; i < 50; ++i) best = std::min(best, load_milliseconds(model, cache));
  std::printf("{\"first_ms\":%.3f,\"image_ms\":%.3f}\n", first, best);
  return first < 0 || best < 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: tokenizer_bench MODEL_DIR TEXTS.jsonl [ROUNDS] [--ids]\n");
    return 2;
  }
  if (std::strcmp(argv[2], "--load") == 0) return bench_load(argv[1], argc > 3 ? argv[3] : "");
  const bool print_ids = std::strcmp(argv[argc - 1], "--ids") == 0;
  const int rounds = argc > 3 && !print_ids ? std::atoi(argv[3]) : 1;
  const auto tokenizer = edge_infer::Tokenizer::load(argv[1]);
  if (!tokenizer) {
    std::fprintf(stderr, "%s\n", tokenizer.error().message.c_str());
    return 1;
  }
  const auto texts = read_texts(argv[2]);
  size_t bytes = 0;
  for (const auto& text : texts) bytes += text.size();
  edge_infer::Encoding encoding;
  if (print_ids) {
    for (const auto& text : texts) {
      (*tokenizer)->encode(text, 0, encoding);
      std::printf("%s\n", nlohmann::json(encoding.ids).dump().c_str());
    }
    return 0;
  }
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    int64_t tokens = 0;
    for (const auto& text : texts) {
      (*tokenizer)->encode(text, 0, encoding);
      tokens += encoding.tokens;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("{\"texts\":%zu,\"bytes\":%zu,\"tokens\":%lld,\"seconds\":%.6f,\"tokens_per_second\":%.0f}\n",
                texts.size(), bytes, static_cast<long long>(tokens), seconds,
                static_cast<double>(tokens) / seconds);
    std::fflush(stdout);
  }
  return 0;
}
