#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "edge_infer.h"
#include "edge_infer.hpp"

namespace {

const char* model_path() {
  return std::getenv("EDGE_INFER_TEST_MODEL");
}

#define NEEDS_MODEL() \
  if (model_path() == nullptr) GTEST_SKIP() << "EDGE_INFER_TEST_MODEL is not set"

std::string output_of(const std::string& command, int* status = nullptr) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  const int result = ::pclose(pipe);
  if (status != nullptr) *status = WEXITSTATUS(result);
  return text;
}

std::string library_file() {
  Dl_info info{};
  EXPECT_NE(::dladdr(reinterpret_cast<const void*>(&edge_infer_version), &info), 0);
  return info.dli_fname;
}

TEST(Library, says_its_version_and_the_names_of_codes) {
  EXPECT_STREQ(edge_infer_version(), "0.1.0");
  EXPECT_EQ(edge_infer_abi_version(), EDGE_INFER_ABI_VERSION);
  EXPECT_STREQ(edge_infer_code_name(EDGE_INFER_NOT_FOUND), "not found");
  EXPECT_STREQ(edge_infer_code_name(-7), "unknown code");
}

TEST(Library, wrong_arguments_are_codes_with_messages) {
  edge_infer_error error{};
  auto* model = reinterpret_cast<edge_infer_model*>(1);
  EXPECT_EQ(edge_infer_open(nullptr, nullptr, &model, &error), EDGE_INFER_INVALID_ARGUMENT);
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(error.code, EDGE_INFER_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "model_path is NULL");
  EXPECT_EQ(edge_infer_open("/nonexistent/model", nullptr, nullptr, &error), EDGE_INFER_INVALID_ARGUMENT);
  EXPECT_EQ(edge_infer_open("/nonexistent/model", nullptr, &model, &error), EDGE_INFER_NOT_FOUND);
  EXPECT_NE(std::strstr(error.message, "/nonexistent/model"), nullptr);
  EXPECT_EQ(edge_infer_open("/nonexistent/model", nullptr, &model, nullptr), EDGE_INFER_NOT_FOUND);

  edge_infer_options options = EDGE_INFER_OPTIONS_INIT;
  options.size = 0;
  EXPECT_EQ(edge_infer_open("/nonexistent", &options, &model, &error), EDGE_INFER_INVALID_ARGUMENT);
  options.size = sizeof options;
  options.threads = -1;
  EXPECT_EQ(edge_infer_open("/nonexistent", &options, &model, &error), EDGE_INFER_INVALID_ARGUMENT);
  options.threads = 0;
  options.size = sizeof options.size;  // an older caller's, with nothing behind
  EXPECT_EQ(edge_infer_open("/nonexistent", &options, &model, &error), EDGE_INFER_NOT_FOUND);

  float out = 0;
  const char* text = "a";
  EXPECT_EQ(edge_infer_embed(nullptr, &text, nullptr, 1, nullptr, &out, 1, nullptr, &error),
            EDGE_INFER_INVALID_ARGUMENT);
  EXPECT_EQ(edge_infer_dimensions(nullptr), 0);
  EXPECT_EQ(edge_infer_max_length(nullptr), 0);
  edge_infer_free(nullptr);
}

TEST(Library, a_long_message_is_cut_at_a_character) {
  edge_infer_error error{};
  edge_infer_model* model = nullptr;
  std::string path = "/";
  while (path.size() < 900) path += "\xc3\xa9";
  EXPECT_NE(edge_infer_open(path.c_str(), nullptr, &model, &error), EDGE_INFER_OK);
  const size_t length = std::strlen(error.message);
  ASSERT_LT(length, sizeof error.message);
  EXPECT_GT(length, 480u);
  EXPECT_NE(static_cast<unsigned char>(error.message[length - 1]), 0xc3);
}

TEST(Library, a_vector_does_not_depend_on_the_texts_beside_it) {
  NEEDS_MODEL();
  const edge_infer::Model model(model_path());
  model.prepare();
  ASSERT_EQ(model.dimensions(), 384u);
  EXPECT_EQ(model.max_length(), 256u);
  const std::string inner_zero("a\0b", 3), lengthy(5000, 'y');
  const std::vector<std::string_view> texts = {"hello world", "", inner_zero, lengthy, "hello world"};
  std::vector<edge_infer_text_info> infos;
  const auto together = model.embed(texts, nullptr, &infos);
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto alone = model.embed(texts[i]);
    EXPECT_EQ(std::memcmp(alone.data(), together.data() + i * 384, 384 * sizeof(float)), 0) << i;
  }
  EXPECT_EQ(infos[0].tokens, 4);
  EXPECT_EQ(infos[0].tokens_total, 4);
  EXPECT_EQ(infos[1].tokens, 2);
  // The real model makes one unknown token of a word of 5000 letters; words of their own are cut.
  std::string words;
  for (int i = 0; i < 1000; ++i) words += "word ";
  model.embed({words}, nullptr, &infos);
  EXPECT_EQ(infos[0].tokens, 256);
  EXPECT_EQ(infos[0].tokens_total, 1002);
}

TEST(Library, buffers_and_prompts_are_checked) {
  NEEDS_MODEL();
  const edge_infer::Model model(model_path());
  edge_infer_error error{};
  const char* texts[] = {"a", nullptr};
  const size_t lengths[] = {1, 0};
  std::vector<float> out(2 * 384);
  EXPECT_EQ(edge_infer_embed(model.get(), texts, lengths, 2, nullptr, out.data(), 767, nullptr, &error),
            EDGE_INFER_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "room for 767 floats, 2 texts of 384 dimensions need 768");
  EXPECT_EQ(edge_infer_embed(model.get(), texts, nullptr, 2, nullptr, out.data(), 768, nullptr, &error),
            EDGE_INFER_INVALID_ARGUMENT);
  EXPECT_EQ(edge_infer_embed(model.get(), texts, lengths, 2, nullptr, out.data(), 768, nullptr, &error),
            EDGE_INFER_OK);
  EXPECT_EQ(edge_infer_embed(model.get(), nullptr, nullptr, 0, nullptr, nullptr, 0, nullptr, &error),
            EDGE_INFER_OK);
  EXPECT_EQ(
      edge_infer_embed(model.get(), texts, lengths, SIZE_MAX, nullptr, out.data(), 768, nullptr, &error),
      EDGE_INFER_INVALID_ARGUMENT);
  // A length that no text has is the caller's mistake: the text is not read.
  for (const size_t length :
       {size_t{EDGE_INFER_MAX_TEXT_BYTES} + 1, size_t{1} << 62, SIZE_MAX - 1, SIZE_MAX}) {
    const size_t wrong[] = {1, length};
    const char* both[] = {"a", "b"};
    const std::string words =
        " has the length " + std::to_string(length) + ", expected at most 1073741824 bytes";
    EXPECT_EQ(edge_infer_embed(model.get(), both, wrong, 2, nullptr, out.data(), 768, nullptr, &error),
              EDGE_INFER_INVALID_ARGUMENT);
    EXPECT_EQ(error.message, "texts[1]" + words);
    EXPECT_EQ(edge_infer_embed_query(model.get(), "b", length, nullptr, out.data(), 768, &error),
              EDGE_INFER_INVALID_ARGUMENT);
    EXPECT_EQ(error.message, "text" + words);
  }
  try {
    model.embed("a", "no such prompt");
    FAIL() << "a prompt that is not there";
  } catch (const edge_infer::Exception& exception) {
    EXPECT_EQ(exception.code(), EDGE_INFER_NOT_FOUND);
    EXPECT_NE(std::strstr(exception.what(), "no such prompt"), nullptr);
  }
}

TEST(Library, a_query_on_one_device_has_the_vector_of_a_text) {
  NEEDS_MODEL();
  edge_infer_options options = EDGE_INFER_OPTIONS_INIT;
  options.device = "cpu";
  const edge_infer::Model model(model_path(), &options);
  model.prepare();
  EXPECT_EQ(model.embed_query("where is the harbour"), model.embed("where is the harbour"));
  EXPECT_EQ(model.embed_query(""), model.embed(""));
  EXPECT_THROW(model.embed_query("x", "no such prompt"), edge_infer::Exception);
  float room[4];
  edge_infer_error error{};
  EXPECT_EQ(edge_infer_embed_query(model.get(), "x", 1, nullptr, room, 4, &error),
            EDGE_INFER_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "room for 4 floats, a vector has 384");
  EXPECT_EQ(edge_infer_embed_query(model.get(), nullptr, 1, nullptr, room, 4, &error),
            EDGE_INFER_INVALID_ARGUMENT);
  EXPECT_EQ(edge_infer_embed_query(nullptr, "x", 1, nullptr, room, 4, &error), EDGE_INFER_INVALID_ARGUMENT);
}

TEST(Library, prebuilt_and_compiled_kernels_give_the_same_vector) {
  NEEDS_MODEL();
  edge_infer_options options = EDGE_INFER_OPTIONS_INIT;
  const edge_infer::Model compiled(model_path(), &options);
  compiled.prepare();
  options.flags = EDGE_INFER_EAGER;
  const edge_infer::Model eager(model_path(), &options);
  EXPECT_NO_THROW(eager.prepare());
  const auto a = compiled.embed("hello world"), b = eager.embed("hello world");
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6F);
  options.flags = 2;
  EXPECT_THROW(edge_infer::Model(model_path(), &options), edge_infer::Exception);
  EXPECT_EQ(edge_infer_prepare(nullptr, nullptr), EDGE_INFER_INVALID_ARGUMENT);
}

TEST(Library, modes_are_default_reduce_overhead_and_max_autotune) {
  NEEDS_MODEL();
  edge_infer_options options = EDGE_INFER_OPTIONS_INIT;
  const edge_infer::Model usual(model_path(), &options);
  usual.prepare();
  options.mode = "reduce-overhead";
  const edge_infer::Model ready(model_path(), &options);
  ready.prepare();
  EXPECT_EQ(usual.embed("hello world"), ready.embed("hello world"));
  options.mode = "fastest";
  try {
    edge_infer::Model(model_path(), &options);
    ADD_FAILURE() << "an unknown mode is opened";
  } catch (const edge_infer::Exception& exception) {
    EXPECT_EQ(exception.code(), EDGE_INFER_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(exception.what(), "max-autotune"), nullptr);
  }
  // A caller that was built before there were modes.
  options.size = offsetof(edge_infer_options, mode);
  EXPECT_NO_THROW(edge_infer::Model(model_path(), &options));
}

TEST(Library, threads_may_share_a_model) {
  NEEDS_MODEL();
  const edge_infer::Model model(model_path());
  model.prepare();
  const auto expected = model.embed("shared by threads");
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) wrong[t] += model.embed("shared by threads") == expected ? 0 : 1;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Library, a_forked_child_goes_on_with_its_parents_model) {
  NEEDS_MODEL();
  const edge_infer::Model model(model_path());
  model.prepare();
  std::string text;
  for (int i = 0; i < 200; ++i) text += "many words so that every worker of the team has a part ";
  const auto expected = model.embed(text);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    int code = 1;
    try {
      code = model.embed(text) == expected && edge_infer::Model(model_path()).embed(text) == expected ? 0 : 2;
    } catch (const std::exception& exception) {
      std::fprintf(stderr, "%s\n", exception.what());
    }
    ::_exit(code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(model.embed(text), expected);
}

TEST(Library, only_its_own_symbols_are_exported) {
  const std::string symbols = output_of("nm -D --defined-only " + library_file());
  size_t count = 0, begin = 0;
  while (begin < symbols.size()) {
    const size_t end = symbols.find('\n', begin);
    const std::string line = symbols.substr(begin, end - begin);
    const std::string name = line.substr(line.rfind(' ') + 1);
    EXPECT_TRUE(name.starts_with("edge_infer_")) << line;
    ++count;
    begin = end + 1;
  }
  EXPECT_EQ(count, 10u);
}

TEST(Library, embedding_loads_no_network_pdf_or_compiler_library) {
  NEEDS_MODEL();
  edge_infer::Model(model_path()).embed("what is mapped now?");
  std::ifstream maps("/proc/self/maps");
  const std::string text((std::istreambuf_iterator<char>(maps)), std::istreambuf_iterator<char>());
  ASSERT_NE(text.find("libedge_infer.so"), std::string::npos);
  for (const char* name : {"libcurl", "libssl", "libcrypto", "libpdfium", "libLLVM", "libclang", "libtbb"})
    EXPECT_EQ(text.find(name), std::string::npos) << name;
}

TEST(Library, the_c_example_has_at_most_30_lines) {
  std::ifstream example("examples/embed.c");
  size_t lines = 0;
  for (std::string line; std::getline(example, line);) ++lines;
  EXPECT_GT(lines, 10u);
  EXPECT_LE(lines, 30u);
}

TEST(Library, the_c_example_runs) {
  NEEDS_MODEL();
  const char* bin = std::getenv("EDGE_INFER_BIN");
  ASSERT_NE(bin, nullptr);
  int status = -1;
  const std::string program = std::string(bin) + "/embed_example ";
  const std::string out =
      output_of(program + model_path() + " 'a dog barks' 'a hound howls' 'tax law' 2>&1", &status);
  EXPECT_EQ(status, 0) << out;
  double same = 0, near = 0, far = 0;
  EXPECT_EQ(std::sscanf(out.c_str(), "%lf %*[^\n]\n%lf %*[^\n]\n%lf", &same, &near, &far), 3) << out;
  EXPECT_NEAR(same, 1, 1e-6);
  EXPECT_GT(near, 0.5);
  EXPECT_LT(far, 0.3);
  EXPECT_NE(output_of(program + "/nonexistent text 2>&1", &status).find("cannot open"), std::string::npos);
  EXPECT_EQ(status, 1);
}

}  // namespace
