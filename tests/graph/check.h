// Golden text tests of graph passes. A .graph file holds cases behind each other, separated by lines `//
// ----`. A case is a graph and directives in comments of their own lines:
//   // RUN: canonicalize, decompose   passes to run, in this order (required, once)
//   // CHECK: line                    a line of the result, spaces around it apart, after the one matched
//   before
//   // CHECK-NEXT: line               the very next line
//   // CHECK-NOT: text                text that no line holds between the matches around it
//   // UNCHANGED                      the passes report no change
// A comment that looks like a directive and is none, a case without RUN or without any check is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

struct GoldenCase {
  enum class Kind { kCheck, kNext, kNot };
  struct Expectation {
    Kind kind;
    std::string text;
    int line;  // of the file
  };
  int line = 0;  // of its RUN
  std::vector<std::string> passes;
  std::vector<Expectation> expectations;
  bool expect_unchanged = false;
  std::string graph;
};

Result<std::vector<GoldenCase>> parse_golden(std::string_view file);
// Errors: what does not match, with the line of the file and the whole result.
Status check_output(const GoldenCase& golden, std::string_view output);
// Runs the passes with all that every case must keep: verified before and after, unchanged means equal text,
// a second run changes nothing.
Status run_golden(const GoldenCase& golden);

}  // namespace edge_infer
