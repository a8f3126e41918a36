#include "tests/graph/check.h"

#include <algorithm>

#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "compiler/graph/verify.h"
#include "compiler/passes/passes.h"

namespace edge_infer {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The word of capitals and dashes that starts a comment: a directive, or a misspelt one.
std::string_view directive_of(std::string_view comment) {
  size_t end = 0;
  while (end < comment.size() && ((comment[end] >= 'A' && comment[end] <= 'Z') || comment[end] == '-')) ++end;
  const bool is_word = end >= 3 && (end == comment.size() || comment[end] == ':' || comment[end] == ' ');
  return is_word ? comment.substr(0, end) : std::string_view();
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    names.emplace_back(trim(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

Status add_directive(GoldenCase& golden, std::string_view word, std::string_view text, bool has_colon,
                     int line) {
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::kInvalidArgument, "line {}: {} {}", line, word, why);
  };
  if (word == "UNCHANGED") {
    golden.expect_unchanged = true;
    return has_colon || !text.empty() ? Status(wrong("takes no text")) : Status();
  }
  if (!has_colon) return wrong("lacks its colon");
  if (text.empty()) return wrong("lacks its text");
  if (word == "RUN") {
    if (!golden.passes.empty()) return wrong("stands twice in one case");
    golden.passes = split_names(text);
    golden.line = line;
  } else if (word == "CHECK" || word == "CHECK-NEXT" || word == "CHECK-NOT") {
    using enum GoldenCase::Kind;
    const GoldenCase::Kind kind = word == "CHECK" ? kCheck : word == "CHECK-NEXT" ? kNext : kNot;
    if (kind == kNext && (golden.expectations.empty() || golden.expectations.back().kind == kNot))
      return wrong("does not follow a CHECK");
    golden.expectations.push_back({kind, std::string(text), line});
  } else {
    return wrong("is no directive");
  }
  return {};
}

}  // namespace

Result<std::vector<GoldenCase>> parse_golden(std::string_view file) {
  std::vector<GoldenCase> cases(1);
  int number = 0;
  for (const std::string_view raw : lines_of(file)) {
    ++number;
    const std::string_view line = trim(raw);
    if (!line.starts_with("//")) {
      (cases.back().graph += raw) += '\n';
      continue;
    }
    const std::string_view comment = trim(line.substr(2));
    if (comment == "----") {
      cases.emplace_back();
      continue;
    }
    const std::string_view word = directive_of(comment);
    if (word.empty()) continue;
    std::string_view text = comment.substr(word.size());
    const bool has_colon = text.starts_with(":");
    EDGE_INFER_RETURN_IF_ERROR(
        add_directive(cases.back(), word, trim(has_colon ? text.substr(1) : text), has_colon, number));
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].passes.empty()) return fail(ErrorCode::kInvalidArgument, "case {} has no RUN", i + 1);
    if (cases[i].expectations.empty() && !cases[i].expect_unchanged)
      return fail(ErrorCode::kInvalidArgument, "case {} checks nothing", i + 1);
  }
  return cases;
}

Status check_output(const GoldenCase& golden, std::string_view output) {
  const auto lines = lines_of(output);
  const auto wrong = [&](const GoldenCase::Expectation& e, std::string_view why) {
    return fail(ErrorCode::kInvalidArgument, "line {}: {}: {}\n{}", e.line, why, e.text, output);
  };
  size_t next = 0;                                     // first line not matched
  std::vector<const GoldenCase::Expectation*> absent;  // since the last match
  const auto check_absent = [&](size_t from, size_t to) -> Status {
    for (const auto* e : absent)
      for (size_t i = from; i < to; ++i)
        if (lines[i].find(e->text) != std::string_view::npos)
          return wrong(*e, "found what must not be there");
    absent.clear();
    return {};
  };
  for (const auto& e : golden.expectations) {
    if (e.kind == GoldenCase::Kind::kNot) {
      absent.push_back(&e);
      continue;
    }
    size_t at = next;
    if (e.kind == GoldenCase::Kind::kCheck)
      while (at < lines.size() && trim(lines[at]) != e.text) ++at;
    if (at >= lines.size() || trim(lines[at]) != e.text) return wrong(e, "no such line");
    EDGE_INFER_RETURN_IF_ERROR(check_absent(next, at));
    next = at + 1;
  }
  return check_absent(next, lines.size());
}

Status run_golden(const GoldenCase& golden) {
  EDGE_INFER_ASSIGN(Graph graph, parse_graph(golden.graph));
  EDGE_INFER_RETURN_IF_ERROR(verify(graph));
  const std::string before = print(graph);
  PipelineOptions options;
  options.passes = golden.passes;
  bool changed = false;
  for (int round = 0; round < 2; ++round) {
    EDGE_INFER_ASSIGN(const auto reports, run_passes(graph, options));
    const bool any =
        std::any_of(reports.begin(), reports.end(), [](const PassReport& r) { return r.changed; });
    if (round == 1 && any)
      return fail(ErrorCode::kInternal, "a second run changes the graph again:\n{}", print(graph));
    if (round == 0) changed = any;
  }
  const std::string after = print(graph);
  if (!changed && after != before)
    return fail(ErrorCode::kInternal, "the passes report no change but the text differs:\n{}", after);
  if (golden.expect_unchanged && changed)
    return fail(ErrorCode::kInvalidArgument, "the graph changed:\n{}", after);
  EDGE_INFER_ASSIGN(const Graph parsed, parse_graph(after));
  if (print(parsed) != after) return fail(ErrorCode::kInternal, "the result does not parse back:\n{}", after);
  return check_output(golden, after);
}

}  // namespace edge_infer
