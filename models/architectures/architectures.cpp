#include <array>
#include <string>

#include "models/architectures/architecture.h"
#include "models/architectures/bert.h"

namespace edge_infer {
namespace {
constexpr std::array kArchitectures = {Architecture{"bert", build_bert}};
}

std::span<const Architecture> architectures() {
  return kArchitectures;
}

Result<const Architecture*> find_architecture(const ModelDirectory& directory) {
  std::string known;
  for (const Architecture& a : kArchitectures) {
    if (a.model_type == directory.model_type()) return &a;
    known += (known.empty() ? "" : ", ") + std::string(a.model_type);
  }
  return fail(ErrorCode::kUnsupported, "{}: model_type {} is not known, expected one of: {}",
              directory.config().label(), quote(directory.model_type()), known);
}

}  // namespace edge_infer
