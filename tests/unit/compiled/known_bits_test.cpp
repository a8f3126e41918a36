// Functions of values that the C compiler knows bits of: it rewrites the arithmetic on bits that they are
// made of.
#include <gtest/gtest.h>

#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "tests/unit/compiled/target.h"

namespace edge_infer::test {
namespace {

constexpr const char* kFunctions[] = {"abs",  "neg",     "exp",  "log1p", "tanh",      "erf",   "sin",
                                      "cos",  "floor",   "ceil", "round", "sqrt",      "rsqrt", "gelu",
                                      "silu", "sigmoid", "sign", "relu",  "reciprocal"};
// Of few bits: -1, 0, 1; 0, 1.
constexpr const char* kSources[] = {
    "  %a = aten.sign(%x) : {0}[T, 8]\n",
    "  %s = aten.gt.Scalar(%x, scalar=0.0) : bool[T, 8]\n  %a = aten._to_copy(%s, dtype={0}) : {0}[T, 8]\n"};

std::vector<Graph> graphs(size_t sources) {
  std::vector<Graph> result;
  for (const char* dtype : {"f32", "f64"})
    for (const char* source : std::span(kSources).first(sources))
      for (const char* function : kFunctions) {
        const std::string text = fmt::format(
            "graph @g(%x: {0}[T, 8]) symbols(T in 1..64 hint 8) {{\n{1}"
            "  %y = aten.{2}(%a) : {0}[T, 8]\n  return %y\n}}\n",
            dtype, fmt::format(fmt::runtime(source), dtype), function);
        auto graph = parse_graph(text);
        EXPECT_TRUE(graph) << graph.error().message << "\n" << text;
        if (graph) result.push_back(*std::move(graph));
      }
  return result;
}

TEST(KnownBits, functions_of_few_values_are_right_on_every_target) {
  for (const TargetName& name : cpu_targets()) {
    TargetUnderTest target(name.name);
    const std::vector<Graph> all = graphs(name.name == best_target() ? 2 : 1);
    std::vector<CompiledGraph> compiled;
    for (const Graph& graph : all) {
      auto one = target.compile(graph);
      ASSERT_TRUE(one) << one.error().message << "\n" << print(graph);
      compiled.push_back(*std::move(one));
    }
    const Status obtained = target.obtain(compiled);
    ASSERT_TRUE(obtained) << obtained.error().message;
    if (!target.runs()) continue;
    for (size_t g = 0; g < all.size(); ++g) {
      const DType dtype = all[g].value(all[g].inputs()[0].value).type.dtype;
      HostTensor x = *make_host_tensor(dtype, {3, 8});
      std::vector<double> values;
      for (int i = 0; i < 24; ++i) values.push_back(0.25 * (i * 7 % 11 - 5));
      x.store(values);
      const auto want = evaluate(all[g], std::span(&x, 1), {});
      const auto got = target.run(compiled[g], 0, std::span(&x, 1), {}, 1);
      ASSERT_TRUE(want && got);
      EXPECT_EQ(difference_of(*got, *want, std::vector<double>{0}, {1e-6, 1e-6}), "") << name.name << "\n"
                                                                                      << print(all[g]);
    }
  }
}

}  // namespace
}  // namespace edge_infer::test
