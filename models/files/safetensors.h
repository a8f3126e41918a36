// The safetensors format: an 8-byte little-endian length, a JSON header of that many bytes, then the tensors'
// bytes. Files are mapped, never copied; a header is believed only after every offset has been checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {

// A tensor inside of a mapped file. `bytes` lies at any address: the format promises no alignment, so that a
// kernel which needs one checks it (is_aligned) and copies otherwise.
struct SafetensorsEntry {
  std::optional<DType>
      dtype;  // empty: a dtype of the format that this build cannot compute with (U16, F8_E4M3, ...)
  std::string dtype_text;  // as in the file: "F32"
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // row-major, little-endian; product(shape) elements

  bool is_aligned(size_t alignment) const {
    return reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0;
  }
};

// Parses `file` (the content of a whole file; the entries point into it). `label` names the file in messages.
// Checks that tensors cover the data without overlap, gap or remainder, that sizes, shapes and dtypes agree,
// and that no name is doubled. Errors: kCorruption, kResourceExhausted (a header over 100 MB).
Result<std::map<std::string, SafetensorsEntry, std::less<>>> parse_safetensors(
    std::span<const std::byte> file, const std::string& label);

// A mapped file and its entries. Immutable; the spans live as long as the object, also when it is moved.
class SafetensorsFile {
 public:
  // Errors: kNotFound, kIoError, kInvalidArgument (not a regular file), and those of parse_safetensors.
  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  // nullptr when the file has no such tensor.
  const SafetensorsEntry* find(std::string_view name) const;
  const std::map<std::string, SafetensorsEntry, std::less<>>& tensors() const { return tensors_; }
  const std::filesystem::path& path() const { return path_; }
  const FileStamp& stamp() const { return file_.stamp(); }
  std::span<const std::byte> bytes() const { return file_.bytes(); }  // the whole file, for a content hash

 private:
  std::filesystem::path path_;
  MappedFile file_;
  std::map<std::string, SafetensorsEntry, std::less<>> tensors_;
};

}  // namespace edge_infer
