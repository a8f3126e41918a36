#include <gtest/gtest.h>

#include <filesystem>

#include "compiler/passes/passes.h"
#include "runtime/base/mapped_file.h"
#include "tests/graph/check.h"

namespace edge_infer {
namespace {

TEST(Golden, every_pass_has_a_file_and_every_case_holds) {
  const std::filesystem::path folder = "tests/graph";
  for (const PassInfo& pass : graph_passes())
    EXPECT_TRUE(std::filesystem::exists(folder / (std::string(pass.name) + ".graph"))) << pass.name;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".graph") continue;
    const auto text = read_file(entry.path(), 1 << 20);
    ASSERT_TRUE(text) << text.error().message;
    const auto cases = parse_golden(*text);
    ASSERT_TRUE(cases) << entry.path() << ": " << cases.error().message;
    for (const GoldenCase& golden : *cases) {
      const Status status = run_golden(golden);
      EXPECT_TRUE(status) << entry.path().native() << ":" << golden.line << ": " << status.error().message;
      ++count;
    }
  }
  EXPECT_GT(count, 10);
}

std::string parse_error(const char* file) {
  const auto cases = parse_golden(file);
  return cases ? "" : cases.error().message;
}

TEST(GoldenChecker, refuses_what_it_does_not_know_and_files_that_check_nothing) {
  EXPECT_EQ(parse_error("// RUN: canonicalize\n// CHEKC: x\n"), "line 2: CHEKC is no directive");
  EXPECT_EQ(parse_error("// RUN: canonicalize\n// CHECK x\n"), "line 2: CHECK lacks its colon");
  EXPECT_EQ(parse_error("// RUN: canonicalize\n// CHECK:\n"), "line 2: CHECK lacks its text");
  EXPECT_EQ(parse_error("// RUN: canonicalize\n// CHECK-NEXT: x\n"),
            "line 2: CHECK-NEXT does not follow a CHECK");
  EXPECT_EQ(parse_error("// RUN: canonicalize\n"), "case 1 checks nothing");
  EXPECT_EQ(parse_error("// CHECK: x\n"), "case 1 has no RUN");
  EXPECT_EQ(parse_error("// RUN: a\n// UNCHANGED\n// ----\n"), "case 2 has no RUN");
  EXPECT_EQ(parse_error("// A sentence.\n// RUN: a, b\n// UNCHANGED\n"), "");
}

TEST(GoldenChecker, sees_missing_misplaced_and_forbidden_lines) {
  const auto matches = [](const std::string& directives) {
    const auto cases = parse_golden("// RUN: x\n" + directives);
    return cases && check_output((*cases)[0], "a 1\n  b 2\nc 3\n").has_value();
  };
  EXPECT_TRUE(matches("// CHECK: a 1\n// CHECK-NEXT: b 2\n// CHECK: c 3\n"));
  EXPECT_TRUE(matches("// CHECK: a 1\n// CHECK-NOT: z\n// CHECK: c 3\n// CHECK-NOT: b\n"));
  EXPECT_FALSE(matches("// CHECK: b\n"));
  EXPECT_FALSE(matches("// CHECK: c 3\n// CHECK: a 1\n"));
  EXPECT_FALSE(matches("// CHECK: a 1\n// CHECK-NEXT: c 3\n"));
  EXPECT_FALSE(matches("// CHECK-NOT: b\n// CHECK: c 3\n"));
  EXPECT_FALSE(matches("// CHECK: a 1\n// CHECK-NOT: 3\n"));
}

}  // namespace
}  // namespace edge_infer
