// Keeps two pulls of one model apart. Its file is there only while a pull runs; one that a killed pull left
// holds nothing back and goes with the next pull.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/base/error.h"

namespace edge_infer {

class PullLock {
 public:
  // Errors: kResourceExhausted (another pull of `name` is running), kIoError.
  static Result<PullLock> take(const std::filesystem::path& path, const std::string& name);
  PullLock(PullLock&& other) noexcept;
  PullLock& operator=(PullLock&&) = delete;
  ~PullLock();

 private:
  PullLock(int descriptor, std::filesystem::path path);
  int descriptor_;
  std::filesystem::path path_;
};

}  // namespace edge_infer
