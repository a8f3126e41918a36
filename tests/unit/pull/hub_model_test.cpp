#include "apps/pull/hub_model.h"

#include <gtest/gtest.h>

namespace edge_infer {
namespace {

TEST(HubModel, only_names_of_the_list_pass) {
  for (const char* name :
       {"config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json",
        "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "model.safetensors",
        "model.safetensors.index.json", "model-00001-of-00003.safetensors", "1_Pooling/config.json",
        "2_Normalize/config.json", "2_Dense/config.json", "2_Dense/model.safetensors"})
    EXPECT_TRUE(is_allowed_file(name)) << name;
  for (const char* name : {"",
                           "pytorch_model.bin",
                           "model.pt",
                           "train.py",
                           "README.md",
                           "../config.json",
                           "/config.json",
                           "./config.json",
                           "1_Pooling/../config.json",
                           "1_Pooling/config.json/..",
                           "1_Pooling//config.json",
                           "1_Pooling\\config.json",
                           "_Pooling/config.json",
                           "12345_Pooling/config.json",
                           "x_Pooling/config.json",
                           "2_Dense/pytorch_model.bin",
                           "1_Pooling/model.safetensors",
                           "config.json ",
                           "CONFIG.JSON",
                           "model-1-of-3.safetensors",
                           "model-0000x-of-00003.safetensors",
                           "onnx/model.safetensors",
                           ".edge-infer-pull.json",
                           ".revision",
                           "config.json.part"})
    EXPECT_FALSE(is_allowed_file(name)) << name;
  EXPECT_FALSE(is_allowed_file(std::string_view("config.json\0", 12)));
}

TEST(HubModel, hashes_that_are_none_are_left_out) {
  const auto model = parse_hub_model(
      R"({"sha":"x","siblings":[{"rfilename":"a","blobId":"zz"},{"rfilename":"b","size":-1,"lfs":{"sha256":"00","size":3}}]})",
      "m");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->revision, "main");
  EXPECT_EQ(model->files[0].git_sha1, "");
  EXPECT_EQ(model->files[1].sha256, "");
  EXPECT_EQ(model->files[1].size, 3u);
}

TEST(HubModel, answers_that_are_no_listing_are_errors) {
  for (const char* text : {"", "[]", "{}", R"({"siblings":{}})", "<html>", "{\"siblings\":[", "null"})
    EXPECT_FALSE(parse_hub_model(text, "m")) << text;
}

TEST(HubModel, an_index_may_name_shards_only) {
  EXPECT_EQ(
      index_shards(
          R"({"weight_map":{"a":"model-00002-of-00002.safetensors","b":"model-00001-of-00002.safetensors"}})")
          ->size(),
      2u);
  for (const char* text :
       {"{}", R"({"weight_map":[]})", R"({"weight_map":{"a":"../x"}})", R"({"weight_map":{"a":1}})"})
    EXPECT_FALSE(index_shards(text)) << text;
}

}  // namespace
}  // namespace edge_infer
