#include "runtime/device/registry.h"

#include <string>

namespace edge_infer {

Result<std::shared_ptr<const Device>> open_device(std::string_view name) {
  std::string known = "auto";
  for (const BackendInfo& backend : backends()) {
    known += ", ";
    known += backend.name;
    if (name == backend.name) return backend.open();
    if (name != "auto") continue;
    if (auto device = backend.open()) return device;
  }
  if (name == "auto") return fail(ErrorCode::kUnsupported, "no device of this build works on this machine");
  return fail(ErrorCode::kInvalidArgument, "unknown device \"{}\", expected one of: {}", name, known);
}

}  // namespace edge_infer
