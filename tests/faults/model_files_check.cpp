// Loads the files of a model directory, and no more: model_files_check embed --model DIR TEXT
// Exit status 0 when all load and TEXT can be tokenized, 1 with the reason otherwise. For broken_models.py.
#include <cstdio>
#include <cstring>

#include "models/files/model_config.h"
#include "models/files/weight_store.h"
#include "models/tokenizers/tokenizer.h"

namespace {

using namespace edge_infer;

Status load(const char* dir, const char* text) {
  EDGE_INFER_ASSIGN(const ModelDirectory model, ModelDirectory::open(dir));
  EDGE_INFER_ASSIGN(const WeightStore weights, WeightStore::open(model.transformer_dir()));
  for (const DenseConfig& dense : model.sentence().dense)
    EDGE_INFER_RETURN_IF_ERROR(WeightStore::open(dense.dir));
  EDGE_INFER_ASSIGN(const auto tokenizer, Tokenizer::load(model.transformer_dir()));
  Encoding encoding;
  tokenizer->encode(text, model.max_seq_length(), encoding);
  std::printf("%zu tensors, %zu of %lld tokens\n", weights.names().size(), encoding.ids.size(),
              static_cast<long long>(encoding.tokens));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 || std::strcmp(argv[2], "--model") != 0) return 2;
  if (const Status status = load(argv[3], argv[4]); !status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  return 0;
}
