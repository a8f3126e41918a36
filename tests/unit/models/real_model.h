// The real MiniLM and the committed texts with golden vectors (tests/data/texts/).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace edge_infer {

// The directory of all-MiniLM-L6-v2, or "" where the test set-up has none.
inline std::string real_model() {
  const char* dir = std::getenv("EDGE_INFER_TEST_MODEL");
  return dir != nullptr ? dir : "";
}

inline std::vector<std::string> golden_texts() {
  std::vector<std::string> texts;
  std::ifstream file("tests/data/texts/texts.jsonl");
  for (std::string line; std::getline(file, line);)
    texts.push_back(nlohmann::json::parse(line)["text"].get<std::string>());
  return texts;
}

// texts.fp64.npy, [texts, 384].
inline std::vector<double> golden_vectors() {
  std::ifstream file("tests/data/texts/texts.fp64.npy", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() < 128) return {};
  std::vector<double> values((bytes.size() - 128) / sizeof(double));
  std::memcpy(values.data(), bytes.data() + 128, values.size() * sizeof(double));
  return values;
}

}  // namespace edge_infer
