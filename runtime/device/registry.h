// The explicit list of back ends. Declared here, defined in backends/registry.cpp, so that nothing above names one.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "runtime/device/device.h"

namespace edge_infer {

struct BackendInfo {
  std::string_view name;  // "cpu"
  // Errors: kUnsupported when this machine has no such device.
  Result<std::shared_ptr<const Device>> (*open)();
};

// In order of preference for `auto`.
std::span<const BackendInfo> backends();

// The device for "auto" or a back end's name. Errors: kInvalidArgument listing the names.
Result<std::shared_ptr<const Device>> open_device(std::string_view name);

}  // namespace edge_infer
