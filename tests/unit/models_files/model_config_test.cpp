#include "models/files/model_config.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/base/log.h"
#include "tests/unit/models_files/temporary_dir.h"

namespace edge_infer {
namespace {

using testing_support::TemporaryDir;

constexpr const char* kConfig = R"({"model_type":"bert","hidden_size":8,"max_position_embeddings":512})";
constexpr const char* kModules = R"([
  {"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
  {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
  {"idx":2,"name":"2","path":"2_Normalize","type":"sentence_transformers.models.Normalize"}])";

ModelDirectory opened(const TemporaryDir& dir) {
  auto model = ModelDirectory::open(dir.path());
  EXPECT_TRUE(model) << model.error().message;
  return model ? *model : ModelDirectory{};
}

TEST(ModelDirectory, takes_the_mean_without_normalization_when_there_is_no_pipeline) {
  TemporaryDir dir;
  dir.put("config.json", kConfig);
  dir.put("tokenizer_config.json", R"({"model_max_length":128})");
  const auto model = opened(dir);
  EXPECT_EQ(model.sentence().pooling.modes, std::vector{PoolingMode::kMean});
  EXPECT_FALSE(model.sentence().normalize);
  EXPECT_EQ(model.max_seq_length(), 128);
  EXPECT_EQ(model.model_type(), "bert");
}

TEST(ModelDirectory, reads_no_file_of_sentence_transformers_without_a_pipeline) {
  TemporaryDir dir;
  dir.put("config.json", kConfig);
  dir.put("sentence_bert_config.json", R"({"max_seq_length":256,"do_lower_case":true})");
  dir.put("config_sentence_transformers.json",
          R"({"prompts":{"query":"query: "},"default_prompt_name":"query","similarity_fn_name":"dot"})");
  dir.put("tokenizer.json", R"({"truncation":{"max_length":128}})");
  static std::vector<std::string> warnings;
  set_log_sink([](LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) warnings.emplace_back(message);
  });
  const auto model = opened(dir);
  set_log_sink(nullptr);
  EXPECT_EQ(model.max_seq_length(), 512);
  EXPECT_FALSE(model.sentence().do_lower_case);
  EXPECT_TRUE(model.sentence().prompts.empty());
  EXPECT_EQ(model.sentence().default_prompt_name, "");
  EXPECT_EQ(model.sentence().similarity, "cosine");
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("sentence_bert_config.json"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[1].find("config_sentence_transformers.json"), std::string::npos) << warnings[1];
}

TEST(ModelDirectory, reads_the_legacy_format) {
  TemporaryDir dir;
  dir.put("config.json", kConfig);
  dir.put("modules.json", kModules);
  dir.put(
      "1_Pooling/config.json",
      R"({"word_embedding_dimension":8,"pooling_mode_cls_token":true,"pooling_mode_lasttoken":true,"include_prompt":false})");
  dir.put("sentence_bert_config.json", R"({"max_seq_length":256,"do_lower_case":true})");
  dir.put("tokenizer_config.json", R"({"model_max_length":128})");
  const auto model = opened(dir);
  EXPECT_EQ(model.sentence().pooling.modes, (std::vector{PoolingMode::kCls, PoolingMode::kLastToken}));
  EXPECT_FALSE(model.sentence().pooling.include_prompt);
  EXPECT_EQ(model.sentence().pooling.file, dir.path() / "1_Pooling/config.json");
  EXPECT_TRUE(model.sentence().normalize);
  EXPECT_TRUE(model.sentence().do_lower_case);
  EXPECT_EQ(model.max_seq_length(), 256) << "sentence_bert_config.json wins over tokenizer_config.json";
}

TEST(ModelDirectory, reads_the_new_format) {
  TemporaryDir dir;
  dir.put("config.json", kConfig);
  dir.put("modules.json", R"([
    {"path":"","type":"sentence_transformers.base.modules.transformer.Transformer"},
    {"path":"1_Pooling","type":"sentence_transformers.sentence_transformer.modules.pooling.Pooling"},
    {"path":"2_Dense","type":"sentence_transformers.base.modules.dense.Dense"},
    {"path":"3_Normalize","type":"sentence_transformers.base.modules.normalize.Normalize"}])");
  dir.put("1_Pooling/config.json",
          R"({"embedding_dimension":8,"pooling_mode":["mean","cls"],"include_prompt":true})");
  dir.put(
      "2_Dense/config.json",
      R"({"in_features":16,"out_features":4,"bias":false,"activation_function":"torch.nn.modules.linear.Identity"})");
  dir.put("sentence_bert_config.json", R"({"transformer_task":"feature-extraction"})");
  dir.put("tokenizer_config.json", R"({"model_max_length":1000000000000000019884624838656})");
  const auto model = opened(dir);
  EXPECT_EQ(model.sentence().pooling.modes, (std::vector{PoolingMode::kMean, PoolingMode::kCls}));
  ASSERT_EQ(model.sentence().dense.size(), 1u);
  EXPECT_EQ(model.sentence().dense[0].out_features, 4);
  EXPECT_FALSE(model.sentence().dense[0].bias);
  EXPECT_EQ(model.sentence().dense[0].activation, DenseActivation::kIdentity);
  EXPECT_EQ(model.max_seq_length(), 512);
}

TEST(ModelDirectory, reads_the_activations_of_dense_layers) {
  TemporaryDir dir;
  dir.put("config.json", kConfig);
  dir.put(
      "modules.json",
      R"([{"path":"","type":"x.Transformer"},{"path":"1_Pooling","type":"x.Pooling"},{"path":"2_Dense","type":"x.Dense"}])");
  dir.put("1_Pooling/config.json", R"({"word_embedding_dimension":8})");
  const auto put = [&](const char* name) {
    dir.put("2_Dense/config.json",
            std::string(
                R"({"in_features":8,"out_features":4,"activation_function":"torch.nn.modules.activation.)") +
                name + "\"}");
  };
  for (const auto& [name, known] :
       {std::pair("ReLU", "relu"), {"LeakyReLU", "leaky_relu"}, {"ReLU6", "relu6"}, {"Mish", "mish"}}) {
    put(name);
    const auto model = opened(dir);
    ASSERT_EQ(model.sentence().dense.size(), 1u) << name;
    EXPECT_EQ(dense_activation_name(model.sentence().dense[0].activation), known);
  }
  put("Softshrink");
  const auto unknown = ModelDirectory::open(dir.path());
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("Softshrink"), std::string::npos) << unknown.error().message;
}

TEST(ModelDirectory, finds_a_transformer_in_a_folder_of_its_own) {
  TemporaryDir dir;
  dir.put("0_Transformer/config.json", kConfig);
  dir.put("0_Transformer/sentence_bert_config.json", R"({"max_seq_length":64})");
  dir.put("modules.json",
          R"([{"path":"0_Transformer","type":"x.Transformer"},{"path":"1_Pooling","type":"x.Pooling"}])");
  dir.put("1_Pooling/config.json", R"({"word_embedding_dimension":8,"pooling_mode_max_tokens":true})");
  const auto model = opened(dir);
  EXPECT_EQ(model.transformer_dir(), dir.path() / "0_Transformer");
  EXPECT_EQ(model.max_seq_length(), 64);
}

TEST(ModelDirectory, takes_the_mean_when_no_mode_is_on) {
  TemporaryDir dir;
  dir.put("config.json", kConfig);
  dir.put("modules.json", kModules);
  dir.put("1_Pooling/config.json", R"({"word_embedding_dimension":8,"pooling_mode_mean_tokens":false})");
  EXPECT_EQ(opened(dir).sentence().pooling.modes, std::vector{PoolingMode::kMean});
}

TEST(ModelDirectory, counts_positions_of_families_with_a_padding_offset) {
  TemporaryDir dir;
  dir.put("config.json", R"({"model_type":"xlm-roberta","max_position_embeddings":514,"pad_token_id":1})");
  EXPECT_EQ(opened(dir).max_seq_length(), 512);
}

TEST(ModelDirectory, cuts_max_seq_length_to_the_positions_there_are) {
  TemporaryDir dir;
  dir.put("config.json", kConfig);
  dir.put("modules.json", kModules);
  dir.put("1_Pooling/config.json", R"({"word_embedding_dimension":8})");
  dir.put("sentence_bert_config.json", R"({"max_seq_length":1000000})");
  EXPECT_EQ(opened(dir).max_seq_length(), 512);
  dir.put("sentence_bert_config.json", R"({"max_seq_length":0})");
  const auto model = ModelDirectory::open(dir.path());
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("max_seq_length"), std::string::npos);
}

TEST(ModelDirectory, reads_prompts) {
  TemporaryDir dir;
  dir.put("config.json", kConfig);
  dir.put("modules.json", kModules);
  dir.put("1_Pooling/config.json", R"({"word_embedding_dimension":8})");
  dir.put(
      "config_sentence_transformers.json",
      R"({"prompts":{"query":"query: ","document":null},"default_prompt_name":"query","similarity_fn_name":"dot"})");
  const auto model = opened(dir);
  EXPECT_EQ(model.sentence().prompts.at("query"), "query: ");
  EXPECT_EQ(model.sentence().prompts.at("document"), "");
  EXPECT_EQ(model.sentence().default_prompt_name, "query");
  EXPECT_EQ(model.sentence().similarity, "dot");
  dir.put("config_sentence_transformers.json", R"({"prompts":{},"default_prompt_name":"query"})");
  EXPECT_FALSE(ModelDirectory::open(dir.path()));
}

TEST(ModelDirectory, refuses_a_pipeline_that_it_does_not_know) {
  const std::pair<const char*, const char*> cases[] = {
      {R"([{"path":"","type":"a.Transformer"},{"path":"1_LSTM","type":"sentence_transformers.models.LSTM"}])",
       "LSTM"},
      {R"([{"path":"","type":"a.Transformer"},{"path":"../../etc","type":"a.Pooling"}])", "etc"},
      {R"([{"path":"","type":"a.Transformer"},{"path":"/etc","type":"a.Pooling"}])", "/etc"},
      {"[]", "modules.json"},
      {"{}", "modules.json"},
      {R"([{"path":"","type":"a.Transformer"}])", "modules.json"},
      {R"([{"path":"1_Pooling","type":"a.Pooling"},{"path":"","type":"a.Transformer"}])", "Pooling"},
      {R"([{"path":"","type":"a.Transformer"},{"path":"1_Pooling","type":"a.Pooling"},{"path":"","type":"a.Normalize"},{"path":"","type":"a.Dense"}])",
       "Dense"},
  };
  for (const auto& [modules, name] : cases) {
    TemporaryDir dir;
    dir.put("config.json", kConfig);
    dir.put("modules.json", modules);
    dir.put("1_Pooling/config.json", R"({"word_embedding_dimension":8,"pooling_mode_mean_tokens":true})");
    const auto model = ModelDirectory::open(dir.path());
    ASSERT_FALSE(model) << modules;
    EXPECT_NE(model.error().message.find(name), std::string::npos) << model.error().message;
  }
}

TEST(ModelDirectory, names_what_is_not_a_model) {
  TemporaryDir dir;
  EXPECT_NE(ModelDirectory::open(dir.path()).error().message.find("config.json"), std::string::npos);
  dir.put("a-file", "x");
  EXPECT_NE(ModelDirectory::open(dir.path() / "a-file").error().message.find("a-file"), std::string::npos);
  const auto missing = ModelDirectory::open(dir.path() / "does-not-exist");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST(ModelDirectory, reads_the_real_model) {
  const char* path = std::getenv("EDGE_INFER_TEST_MODEL");
  if (path == nullptr) GTEST_SKIP() << "EDGE_INFER_TEST_MODEL is not set";
  const auto model = ModelDirectory::open(path);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->max_seq_length(), 256);
  EXPECT_EQ(*model->config().integer("hidden_size"), 384);
  EXPECT_TRUE(model->sentence().normalize);
}

}  // namespace
}  // namespace edge_infer
