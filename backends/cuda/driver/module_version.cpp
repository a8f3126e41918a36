#include "backends/cuda/driver/module_version.h"

#include <fstream>
#include <iterator>

namespace edge_infer::cuda {

std::string module_version_of(std::string_view text) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue ...": the first number with a point.
  text = text.substr(0, text.find('\n'));
  constexpr std::string_view kDigits = "0123456789";
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (word.find_first_not_of("0123456789.") == word.npos && word.find('.') != word.npos &&
        word.find_first_of(kDigits) == 0)
      return std::string(word);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return {};
}

std::string driver_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  return module_version_of(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace edge_infer::cuda
