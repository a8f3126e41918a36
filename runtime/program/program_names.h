// The words of a program's text form (internal to runtime/program).
#pragma once

#include <optional>
#include <string_view>

#include "runtime/program/program.h"

namespace edge_infer {

inline const char* role_name(BufferRole role) {
  switch (role) {
    case BufferRole::kInput:
      return "in";
    case BufferRole::kOutput:
      return "out";
    case BufferRole::kTemp:
      return "temp";
    case BufferRole::kConstant:
      return "const";
    case BufferRole::kState:
      return "state";
    case BufferRole::kSaved:
      return "saved";
    case BufferRole::kIndex:
      return "index";
  }
  return "?";
}

// What stands before BufferDecl::index: constants and unit lists are declared in the text, inputs and outputs
// are not.
inline const char* index_prefix(BufferRole role) {
  return role == BufferRole::kConstant ? "c" : role == BufferRole::kIndex ? "u" : "#";
}

inline const char* split_name(Phase::Split split) {
  switch (split) {
    case Phase::Split::kRows:
      return "rows";
    case Phase::Split::kColumns:
      return "columns";
    case Phase::Split::kRowsColumns:
      return "tiles";
    case Phase::Split::kSerial:
      return "serial";
  }
  return "?";
}

// Number of values of each enumeration, for parsers that try all names.
inline constexpr int kBufferRoles = 7;
inline constexpr int kSplits = 4;

}  // namespace edge_infer
