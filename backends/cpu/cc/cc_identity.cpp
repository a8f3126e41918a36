#include "backends/cpu/cc/cc_identity.h"

namespace edge_infer {

std::string_view cc_identity() {
  return EDGE_INFER_CC_IDENTITY;
}

}  // namespace edge_infer
