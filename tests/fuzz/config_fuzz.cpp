// Any bytes as the configuration files of a model directory, separated by lines "---".
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "models/files/model_config.h"

namespace {

namespace fs = std::filesystem;

const fs::path& folder() {
  static const fs::path path = [] {
    const fs::path base = fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    fs::path dir = base / ("edge_infer_config_fuzz_" + std::to_string(::getpid()));
    fs::create_directories(dir / "1_Pooling");
    fs::create_directories(dir / "2_Dense");
    std::atexit([] {
      std::error_code error;
      fs::remove_all(folder(), error);
    });
    return dir;
  }();
  return path;
}

constexpr std::array<const char*, 7> kFiles = {"config.json",
                                               "modules.json",
                                               "1_Pooling/config.json",
                                               "2_Dense/config.json",
                                               "sentence_bert_config.json",
                                               "tokenizer_config.json",
                                               "config_sentence_transformers.json"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (const char* name : kFiles) {
    constexpr std::string_view kMark = "\n---\n";
    const size_t end = rest.find(kMark);
    const std::string_view content = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + kMark.size());
    const fs::path file = folder() / name;
    if (content.empty()) {
      fs::remove(file);
    } else {
      std::ofstream(file, std::ios::binary) << content;
    }
  }
  const auto model = edge_infer::ModelDirectory::open(folder());
  if (!model) {
    if (model.error().message.empty()) std::abort();
    return 0;
  }
  if (model->max_seq_length() < 0 || model->sentence().pooling.modes.empty()) std::abort();
  (void)model->config().integer("hidden_size", {1, 1 << 20});
  (void)model->config().number("layer_norm_eps");
  (void)model->config().text_or("hidden_act", "gelu");
  return 0;
}
