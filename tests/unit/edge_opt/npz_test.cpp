#include "apps/cli/npz.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "runtime/base/mapped_file.h"

namespace edge_infer {
namespace {

std::filesystem::path temporary(const char* name) {
  return std::filesystem::path(testing::TempDir()) / ("edge_opt_" + std::string(name));
}

std::string npy(const std::string& header, const std::string& data) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  return text + header + data;
}

TEST(Npz, writes_and_reads_every_type_and_size) {
  std::vector<std::pair<std::string, HostTensor>> tensors;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI64, DType::kI32,
                            DType::kI16, DType::kI8, DType::kU8, DType::kBool}) {
    HostTensor tensor = *make_host_tensor(dtype, {2, 3});
    tensor.store(std::vector<int64_t>{0, 1, 2, 3, 4, 5});
    tensors.emplace_back("of." + std::string(dtype_name(dtype)), std::move(tensor));
  }
  tensors.emplace_back("scalar", *make_host_tensor(DType::kF32, {}));
  tensors.emplace_back("empty", *make_host_tensor(DType::kF32, {0, 4}));
  const auto path = temporary("all.npz");
  ASSERT_TRUE(write_npz(path, tensors));
  const auto read = read_npz(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    ASSERT_TRUE(read->contains(name)) << name;
    EXPECT_EQ(read->at(name).dtype, tensor.dtype);
    EXPECT_EQ(read->at(name).sizes, tensor.sizes);
    EXPECT_EQ(read->at(name).bytes, tensor.bytes);
  }
  EXPECT_EQ(read_npz(path, 100).error().code, ErrorCode::kResourceExhausted);
  EXPECT_FALSE(write_npz(path, {{"a", tensors[0].second}, {"a", tensors[1].second}}));
  std::filesystem::remove(path);
}

TEST(Npz, reads_fortran_order_in_row_major_order) {
  const auto tensor = parse_npy(
      npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }\n", std::string("\1\4\2\5\3\6", 6)),
      "f");
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_EQ(tensor->to_integers(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npz, refuses_damaged_and_foreign_files_with_their_names) {
  EXPECT_EQ(read_npz("/nonexistent.npz").error().code, ErrorCode::kNotFound);
  const auto path = temporary("bad.npz");
  std::ofstream(path) << "this is no archive";
  EXPECT_EQ(read_npz(path).error().code, ErrorCode::kCorruption);
  std::filesystem::remove(path);
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_TRUE(parse_npy(npy(good, "12345678"), "x"));
  EXPECT_EQ(parse_npy(npy(good, "1234567"), "x").error().message.substr(0, 9), "array \"x\"");
  EXPECT_FALSE(parse_npy(npy(good, "123456789"), "x"));
  EXPECT_FALSE(parse_npy(npy(good, "12345678").substr(0, 30), "x"));
  EXPECT_FALSE(parse_npy("", "x"));
  EXPECT_EQ(parse_npy(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n", "12345678"), "x")
                .error()
                .code,
            ErrorCode::kUnsupported);
  EXPECT_EQ(parse_npy(npy("{'descr': '<U4', 'fortran_order': False, 'shape': (2,), }\n", "12345678"), "x")
                .error()
                .code,
            ErrorCode::kUnsupported);
  EXPECT_FALSE(parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n", ""), "x"));
  EXPECT_FALSE(parse_npy(
      npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9000000000000, 9000000000000), }\n", ""), "x"));
  EXPECT_FALSE(parse_npy(npy("{'descr': '<f4', 'shape': (2,), }\n", "12345678"), "x"));
}

TEST(Npz, a_flipped_bit_in_a_member_is_found) {
  HostTensor tensor = *make_host_tensor(DType::kF32, {1000});
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(i * 0.37);
  tensor.store(values);
  const auto path = temporary("flip.npz");
  ASSERT_TRUE(write_npz(path, {{"x", tensor}}));
  std::string bytes = *read_file(path, 1 << 20);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(read_npz(path).error().code, ErrorCode::kCorruption);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace edge_infer
