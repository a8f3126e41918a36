// The conformance suite: every op of the table, element type and a set of odd shapes, lowered by the fallback
// and compared with evaluate(), on every device that this machine can run.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "backends/cpu/device.h"
#include "compiler/graph/op_table.h"
#include "compiler/graph/print.h"
#include "tests/conformance/exclusions.h"
#include "tests/support/fallback_run.h"

namespace edge_infer::test {
namespace {

const Cases& all_cases() {
  static const Cases cases = [] {
    Cases made;
    add_pointwise_cases(made);
    add_movement_cases(made);
    add_reduction_cases(made);
    add_matmul_cases(made);
    add_row_cases(made);
    add_packed_cases(made);
    return made;
  }();
  return cases;
}

// The devices under test; a new backend adds its own here.
std::vector<std::shared_ptr<const Device>> devices() {
  std::vector<std::shared_ptr<const Device>> all;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
    if (isa_runs_here(isa)) all.push_back(std::make_shared<CpuDevice>(isa));
  return all;
}

// Empty where the case conforms.
std::string failure_of(const Case& c, const Device& device, bool& unsupported) {
  Result<FallbackRun> run = FallbackRun::make(c.graph, device, c.constants);
  unsupported = !run && run.error().code == ErrorCode::kUnsupported;
  if (!run) return run.error().message;
  for (const auto& inputs : c.input_sets) {
    const auto want = evaluate(c.graph, inputs, c.constants);
    if (!want) return "evaluate: " + want.error().message;
    std::vector<HostTensor> first;
    for (const int workers : {1, 3}) {
      const auto got = run->run(inputs, *want, workers);
      if (!got) return got.error().message;
      for (size_t i = 0; i < want->size(); ++i) {
        const std::string text = difference((*got)[i], (*want)[i], c.tolerance);
        std::string sizes;
        for (const HostTensor& input : inputs) sizes += print_sizes(input.sizes);
        if (!text.empty()) return fmt::format("output {} of {} with {} workers: {}", i, sizes, workers, text);
        if (!first.empty() && first[i].bytes != (*got)[i].bytes)
          return fmt::format("output {} depends on the number of workers", i);
      }
      first = *got;
    }
  }
  return {};
}

struct Subject {
  std::shared_ptr<const Device> device;
  const OpInfo* op;
};

class Conformance : public ::testing::TestWithParam<Subject> {};

TEST_P(Conformance, FallbackIsWithinItsBoundsOfEvaluate) {
  const auto& [device, op] = GetParam();
  const std::string& target = device->target().name;
  int failures = 0;
  for (const Case& c : all_cases()) {
    if (c.op != op->name) continue;
    bool unsupported = false;
    const std::string failure = failure_of(c, *device, unsupported);
    const Exclusion* exclusion = find_exclusion(target, c);
    const std::string what = fmt::format("{} {} {}", c.op, dtype_name(c.dtype), c.label);
    if (exclusion == nullptr) {
      if (failure.empty()) continue;
      ADD_FAILURE() << what << ": " << failure << "\n" << print(c.graph);
      if (++failures == 8) GTEST_SKIP() << "more failures left out";
    } else if (failure.empty()) {
      ADD_FAILURE() << what << " passes, but is excluded: " << exclusion->reason;
    } else if (exclusion->kind == Exclusion::kUnsupported && !unsupported) {
      ADD_FAILURE() << what << " is listed as unsupported, but: " << failure;
    }
  }
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const auto& device : devices())
    for (const OpInfo& op : op_table()) all.push_back({device, &op});
  return all;
}
std::string subject_name(const ::testing::TestParamInfo<Subject>& info) {
  std::string name = info.param.device->target().name + "_" + info.param.op->name;
  std::ranges::replace_if(
      name, [](char ch) { return std::isalnum(static_cast<unsigned char>(ch)) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Devices, Conformance, ::testing::ValuesIn(subjects()), subject_name);

TEST(ConformanceCases, EveryOpOfTheTableHasCases) {
  for (const OpInfo& op : op_table()) {
    const auto count = std::ranges::count_if(all_cases(), [&](const Case& c) { return c.op == op.name; });
    EXPECT_GT(count, 0) << op.name << " has no conformance case";
  }
  EXPECT_GT(all_cases().size(), 4000U);
}

TEST(ConformanceCases, EveryExclusionNamesAnOpAndAReason) {
  for (const Exclusion& e : exclusions()) {
    EXPECT_NE(find_op(e.op), nullptr) << e.op;
    EXPECT_FALSE(e.reason.empty()) << e.op;
  }
}

TEST(ConformanceCases, DifferencesAreSeen) {
  HostTensor a = *make_host_tensor(DType::kF32, {3}), b = a;
  a.store(std::vector<double>{1, 2, 3});
  b.store(std::vector<double>{1, 2.001, 3});
  EXPECT_FALSE(difference(a, b, {1e-6, 1e-6}).empty());
  EXPECT_TRUE(difference(a, b, {1e-3, 0}).empty());
  b.store(std::vector<double>{1, 2, std::nan("")});
  EXPECT_FALSE(difference(a, b, {1, 1}).empty());
  EXPECT_FALSE(difference(b, a, {1, 1}).empty());
  a.store(std::vector<double>{1, HUGE_VAL, 3});
  b.store(std::vector<double>{1, -HUGE_VAL, 3});
  EXPECT_FALSE(difference(a, b, {1, 1}).empty());
}

}  // namespace
}  // namespace edge_infer::test
