#include "backends/cpu/codegen/prelude.h"

#include "backends/cpu/codegen/embedded_sources.h"

namespace edge_infer::cpu_codegen {

std::string select_prelude(std::string_view kernel) {
  static const codegen::PreludeSegments prelude(embedded::prelude());
  return prelude.select(kernel);
}

}  // namespace edge_infer::cpu_codegen
