// The text of an entry as the cache keeps it: what must hold of a call, and what runs then.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/guards/guard_set.h"
#include "runtime/program/program.h"

namespace edge_infer {

struct StoredEntry {
  GuardSet guards;
  Program program;
  friend bool operator==(const StoredEntry&, const StoredEntry&) = default;
};

std::string print_entry(const GuardSet& guards, const Program& program);
// Errors: kCorruption, also where the guards do not establish the number, dtypes and ranks of the program's
// inputs.
Result<StoredEntry> parse_entry(std::string_view text);

}  // namespace edge_infer
