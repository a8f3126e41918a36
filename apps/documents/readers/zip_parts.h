// The parts of a zip container (docx, odt, epub), within limits. Nothing is ever written: parts are looked up
// by exact name, so entries that name files outside of the archive mean nothing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "apps/documents/document.h"

namespace edge_infer {

class ZipParts {
 public:
  // `source` must outlive it. Errors: kCorruption for a broken archive, kResourceExhausted for more than
  // 20,000 entries.
  static Result<std::unique_ptr<ZipParts>> open(std::string_view source, const ReadLimits& limits);
  ~ZipParts();
  ZipParts(const ZipParts&) = delete;
  ZipParts& operator=(const ZipParts&) = delete;

  bool has(const std::string& name) const { return entries_.contains(name); }
  // Inflates one part and checks its CRC. Errors name the part: kNotFound; kCorruption (bad data or
  // checksum); kInvalidArgument (encrypted); kResourceExhausted (a part or the archive expands beyond the
  // limits: a zip bomb).
  Result<std::string> read(const std::string& name);

 private:
  struct Archive;
  ZipParts();
  std::unique_ptr<Archive> archive_;
  std::map<std::string, uint64_t> entries_;
  int64_t left_ = 0;  // bytes that may still be inflated
};

}  // namespace edge_infer
