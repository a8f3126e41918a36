#include "models/files/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "models/files/weight_store.h"
#include "tests/unit/models_files/temporary_dir.h"

namespace edge_infer {
namespace {

using testing_support::TemporaryDir;

std::string file_of(std::string_view header, size_t data_bytes, int64_t length = -1) {
  const uint64_t n = length < 0 ? header.size() : static_cast<uint64_t>(length);
  std::string out(sizeof n, '\0');
  std::memcpy(out.data(), &n, sizeof n);
  out += header;
  for (size_t i = 0; i < data_bytes; ++i) out.push_back(static_cast<char>(i));
  return out;
}

auto parse(const std::string& file) {
  return parse_safetensors(std::as_bytes(std::span(file)), "w.safetensors");
}

TEST(Safetensors, finds_tensors_and_their_bytes) {
  const std::string file = file_of(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I64","shape":[],"data_offsets":[24,32]},)"
      R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"z":{"dtype":"F16","shape":[0,5],"data_offsets":[24,24]}})",
      32);
  const auto tensors = parse(file);
  ASSERT_TRUE(tensors) << tensors.error().message;
  ASSERT_EQ(tensors->size(), 3u);
  const auto& a = tensors->at("a");
  EXPECT_EQ(a.dtype, DType::kF32);
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 3}));
  ASSERT_EQ(a.bytes.size(), 24u);
  EXPECT_EQ(static_cast<int>(a.bytes[5]), 5);
  EXPECT_EQ(static_cast<int>(tensors->at("b").bytes[0]), 24);
  EXPECT_TRUE(tensors->at("z").bytes.empty());
}

TEST(Safetensors, keeps_dtypes_that_nothing_computes_with) {
  const std::string file = file_of(R"({"q":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]}})", 3);
  const auto tensors = parse(file);
  ASSERT_TRUE(tensors) << tensors.error().message;
  EXPECT_FALSE(tensors->at("q").dtype.has_value());
}

TEST(Safetensors, refuses_what_the_format_forbids) {
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return file_of(
        fmt::format(R"({{"q":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape, offsets), 8);
  };
  ASSERT_TRUE(parse(one("\"F32\"", "[2]", "[0,8]")));
  const std::string wrong[] = {
      one("\"F33\"", "[2]", "[0,8]"),
      one("32", "[2]", "[0,8]"),
      one("\"F32\"", "[3]", "[0,8]"),
      one("\"F32\"", "[2.0]", "[0,8]"),
      one("\"F32\"", "[-1,-2]", "[0,8]"),
      one("\"F32\"", "[4611686018427387904,4,2]", "[0,8]"),
      one("\"F32\"", "[8589934592,8589934592]", "[0,8]"),
      one("\"F32\"", "[2]", "[8,0]"),
      one("\"F32\"", "[2]", "[0,9]"),
      one("\"F32\"", "[2]", "[-8,0]"),
      one("\"F32\"", "[2]", "[0]"),
      one("\"F32\"", "[2]", "[\"0\",\"8\"]"),
      one("\"F32\"", "[2]", "[18446744073709551608,18446744073709551616]"),
      one("\"F32\"", "[1]", "[0,4]"),  // four bytes left over
      one("\"F32\"", "[1]", "[4,8]"),  // a gap
      file_of("{}", 8),
      file_of("[1]", 0),
      file_of("{", 0),
      file_of("{}", 0, 100),
      file_of("{}", 0, INT64_MAX),
      file_of(
          R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
          8),
      file_of(
          R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
          8),
      "",
      "abc",
  };
  for (const std::string& file : wrong) {
    const auto tensors = parse(file);
    ASSERT_FALSE(tensors) << file;
    EXPECT_NE(tensors.error().message.find("w.safetensors"), std::string::npos) << tensors.error().message;
  }
}

TEST(Safetensors, refuses_every_truncation) {
  const std::string file = file_of(R"({"q":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  for (size_t n = 0; n < file.size(); ++n) EXPECT_FALSE(parse(file.substr(0, n))) << n;
}

TEST(WeightStore, checks_shape_and_dtype_of_weights) {
  TemporaryDir dir;
  dir.put(
      "model.safetensors",
      file_of(
          R"({"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"i":{"dtype":"I32","shape":[2],"data_offsets":[8,16]}})",
          16));
  const auto store = WeightStore::open(dir.path());
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE(store->find_weight("w", {2, 1}));
  const auto transposed = store->find_weight("w", {1, 2});
  ASSERT_FALSE(transposed);
  EXPECT_NE(transposed.error().message.find("found shape [2, 1], expected [1, 2]"), std::string::npos);
  EXPECT_NE(store->find_weight("i", {2}).error().message.find("I32"), std::string::npos);
  EXPECT_TRUE(store->find("i"));
  EXPECT_EQ(store->find("absent").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store->names(), (std::vector<std::string_view>{"i", "w"}));
}

TEST(WeightStore, joins_shards_and_survives_a_move) {
  TemporaryDir dir;
  dir.put("one.safetensors", file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1));
  dir.put("two.safetensors", file_of(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 2));
  dir.put("model.safetensors.index.json", R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  auto opened = WeightStore::open(dir.path());
  ASSERT_TRUE(opened) << opened.error().message;
  const WeightStore store = std::move(*opened);
  EXPECT_EQ(store.find("b")->bytes.size(), 2u);
  EXPECT_EQ(static_cast<int>(store.find("b")->bytes[1]), 1);
  EXPECT_EQ(store.files().size(), 2u);
}

TEST(WeightStore, refuses_shards_outside_of_the_folder_and_missing_ones) {
  for (const char* file : {"../one.safetensors", "/etc/passwd", "", "..", "absent.safetensors"}) {
    TemporaryDir dir;
    dir.put("model.safetensors.index.json", fmt::format(R"({{"weight_map":{{"a":"{}"}}}})", file));
    EXPECT_FALSE(WeightStore::open(dir.path())) << file;
  }
  TemporaryDir dir;
  dir.put("one.safetensors", file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1));
  dir.put("model.safetensors.index.json", R"({"weight_map":{"zz":"one.safetensors"}})");
  EXPECT_NE(WeightStore::open(dir.path()).error().message.find("zz"), std::string::npos);
}

TEST(WeightStore, never_loads_pickled_weights) {
  TemporaryDir dir;
  EXPECT_EQ(WeightStore::open(dir.path()).error().code, ErrorCode::kNotFound);
  dir.put("pytorch_model.bin", "x");
  const auto store = WeightStore::open(dir.path());
  EXPECT_EQ(store.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(store.error().message.find("pytorch_model.bin"), std::string::npos);
  EXPECT_NE(store.error().message.find("safetensors"), std::string::npos);
}

}  // namespace
}  // namespace edge_infer
