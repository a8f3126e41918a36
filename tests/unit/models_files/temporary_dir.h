// A folder of its own for one test, removed afterwards.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace edge_infer::testing_support {

class TemporaryDir {
 public:
  TemporaryDir() {
    static std::atomic<int> number{0};
    path_ = std::filesystem::temp_directory_path() /
            ("edge_infer_test_" + std::to_string(::getpid()) + "_" + std::to_string(number++));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryDir() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryDir(const TemporaryDir&) = delete;
  TemporaryDir& operator=(const TemporaryDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Writes `content` to `name` below the folder, with the folders to it.
  void put(const std::string& name, std::string_view content) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace edge_infer::testing_support
