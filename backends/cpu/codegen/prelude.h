// The part of prelude/*.c that a kernel's text needs.
#pragma once

#include <string>
#include <string_view>

#include "compiler/codegen/prelude_segments.h"

namespace edge_infer::cpu_codegen {

using codegen::for_each_identifier;

// As PreludeSegments::select().
std::string select_prelude(std::string_view kernel);

}  // namespace edge_infer::cpu_codegen
