// The explicit list of back ends. Declared here, defined in backends/registry.cpp, so that nothing above
// names one.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "runtime/device/device.h"

namespace edge_infer {

struct BackendInfo {
  std::string_view name;                       // "cpu"
  std::span<const std::string_view> variants;  // "portable", "avx2", ...: targets are "<name>.<variant>"
  bool numbered = false;  // there may be several devices: "<name>:<which>", an index or what names one
  // Errors: kUnsupported when this machine cannot run the variant. "" is the best one of this machine, and
  // its first device.
  Result<std::shared_ptr<const Device>> (*open)(std::string_view variant, std::string_view which);
  // The facts of a target, which this machine need not have.
  Target (*target)(std::string_view variant);
};

// In order of preference for `auto`.
std::span<const BackendInfo> backends();

// The device for "auto", a back end's name ("cpu"), one of its devices ("cuda:1", "cuda:1,memory=2G": see the
// back end) or a target ("cpu.avx2").
// Errors: kInvalidArgument listing the names, kUnsupported.
Result<std::shared_ptr<const Device>> open_device(std::string_view name);

// The device that runs prebuilt kernels: what answers where nothing else does.
Result<std::shared_ptr<const Device>> open_host_device();

// The facts of a target by name. Errors: kInvalidArgument listing the names.
Result<Target> find_target(std::string_view name);

}  // namespace edge_infer
