// The file that a download grows: appended to, kept between pulls, given its name when it is whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "runtime/base/error.h"

namespace edge_infer {

// Movable owner of the open file. All errors are kIoError with the path and the system's reason.
class PartFile {
 public:
  // Opens or creates it (mode 0600); what it holds already stays. Links are not followed.
  static Result<PartFile> open(const std::filesystem::path& path);
  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile();

  uint64_t size() const { return size_; }
  Status clear();
  Status append(std::string_view bytes);
  Status sync();

 private:
  PartFile() = default;
  Status failed() const;

  int descriptor_ = -1;
  std::filesystem::path path_;
  uint64_t size_ = 0;
};

}  // namespace edge_infer
