// What a backend does not do yet, each with its reason. A case that is listed and passes all the same fails
// the suite, so that the list never outlives its reason.
#pragma once

#include <span>
#include <string_view>

#include "tests/conformance/case.h"

namespace edge_infer::test {

struct Exclusion {
  std::string_view device;  // a prefix: "cpu." or "cpu.avx2"
  std::string_view op;
  std::string_view dtypes;  // names between blanks, or "all"
  std::string_view label;   // a part of the case's label; empty: every case
  enum Kind {
    kUnsupported,  // lowering refuses it with kUnsupported
    kExpectedFailure,
  } kind;
  std::string_view reason;
};

std::span<const Exclusion> exclusions();
const Exclusion* find_exclusion(std::string_view device, const Case& c);

}  // namespace edge_infer::test
