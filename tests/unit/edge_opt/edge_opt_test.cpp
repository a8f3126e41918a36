// The program edge-opt as its users run it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "apps/cli/npz.h"

namespace edge_infer {
namespace {

struct Outcome {
  int code = -1;
  std::string out, err;
};

std::filesystem::path temporary(const std::string& name) {
  return std::filesystem::path(testing::TempDir()) / ("edge_opt_" + name);
}
std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Outcome run(const std::string& arguments) {
  const char* bin = std::getenv("EDGE_INFER_BIN");
  const auto out = temporary("stdout"), err = temporary("stderr");
  const std::string command = std::string(bin != nullptr ? bin : "build/release/bin") + "/edge-opt " +
                              arguments + " > " + out.native() + " 2> " + err.native();
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
}

constexpr const char* kGraph = R"(const $w: f32[3, 4]
graph @g(%x: f32[T, 4], %cu: i32[B+1]) symbols(T in 1..64 hint 8, B in 1..8 hint 2) {
  %a = aten.clone(%x) : f32[T, 4]
  %y = aten.linear(%a, $w, none) : f32[T, 3]
  %z = aten.gelu(%y) : f32[T, 3]
  %p = edge.segment_pool(%z, %cu, mode="mean") : f32[B, 3]
  return %p, %z
}
)";

class EdgeOpt : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(graph_) << kGraph;
    HostTensor w = *make_host_tensor(DType::kF32, {3, 4}), x = *make_host_tensor(DType::kF32, {5, 4});
    HostTensor cu = *make_host_tensor(DType::kI32, {3});
    std::vector<double> values;
    for (int i = 0; i < 20; ++i) values.push_back(0.25 * ((i * 7) % 11) - 1);
    x.store(values);
    values.resize(12);
    w.store(values);
    cu.store(std::vector<int64_t>{0, 2, 5});
    inputs_ = {{"w", w}, {"x", x}, {"cu", cu}};
    ASSERT_TRUE(write_npz(in_, inputs_));
  }
  std::filesystem::path graph_ = temporary("g.graph"), in_ = temporary("in.npz"), out_ = temporary("out.npz");
  std::vector<std::pair<std::string, HostTensor>> inputs_;
};

TEST_F(EdgeOpt, prints_the_graph_and_what_passes_make_of_it) {
  const Outcome plain = run(graph_.native());
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.out, kGraph);
  EXPECT_EQ(run("- < " + graph_.native()).out, kGraph);
  const Outcome passed = run(graph_.native() + " --passes canonicalize,eliminate_dead_nodes --emit graph");
  EXPECT_EQ(passed.code, 0) << passed.err;
  EXPECT_EQ(passed.out.find("clone"), std::string::npos);
  EXPECT_NE(passed.out.find("%y = aten.linear(%x, $w, none)"), std::string::npos);
  EXPECT_EQ(run(graph_.native() + " --pipeline").out, passed.out);
  const Outcome traced = run(graph_.native() + " --pipeline --trace");
  EXPECT_EQ(traced.out, passed.out);
  EXPECT_NE(traced.err.find("// after canonicalize"), std::string::npos);
}

TEST_F(EdgeOpt, runs_the_graph_and_its_fallback_to_the_same_result) {
  const std::string files = " --in " + in_.native() + " --out " + out_.native();
  const Outcome evaluated = run(graph_.native() + " --run evaluate" + files);
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_EQ(evaluated.out, "");
  const auto expected = read_npz(out_);
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_TRUE(expected->contains("p") && expected->contains("z"));
  EXPECT_EQ(expected->at("p").sizes, (std::vector<int64_t>{2, 3}));
  for (const char* target : {"", " --target cpu.portable"}) {
    const Outcome fallback = run(graph_.native() + " --run fallback" + target + files);
    ASSERT_EQ(fallback.code, 0) << fallback.err;
    const auto found = read_npz(out_);
    ASSERT_TRUE(found) << found.error().message;
    for (const char* name : {"p", "z"}) {
      const auto a = found->at(name).to_doubles(), b = expected->at(name).to_doubles();
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6) << name << " " << i;
    }
  }
}

TEST_F(EdgeOpt, prints_the_program_of_the_fallback_for_any_target) {
  for (const char* target : {"cpu.portable", "cpu.avx2", "cpu.avx512"}) {
    const Outcome program = run(graph_.native() + " --eager --emit program --target " + target);
    EXPECT_EQ(program.code, 0) << program.err;
    EXPECT_NE(program.out.find("prebuilt:aten.linear.f32"), std::string::npos) << program.out;
  }
}

TEST_F(EdgeOpt, prints_loops_sources_and_the_compiled_program_for_any_target) {
  for (const char* target : {"cpu.portable", "cpu.avx2", "cpu.avx512"}) {
    const std::string arguments = graph_.native() + " --pipeline --target " + target;
    const Outcome loops = run(arguments + " --emit loops");
    EXPECT_EQ(loops.code, 0) << loops.err;
    EXPECT_NE(loops.out.find("gemm %v"), std::string::npos) << loops.out;
    const Outcome source = run(arguments + " --emit source");
    EXPECT_EQ(source.code, 0) << source.err;
    EXPECT_NE(source.out.find("void k("), std::string::npos);
    const Outcome program = run(arguments + " --emit program");
    EXPECT_EQ(program.code, 0) << program.err;
    EXPECT_NE(program.out.find("kernel:"), std::string::npos) << program.out;
  }
}

TEST_F(EdgeOpt, refuses_indices_and_offsets_that_kernels_would_trust) {
  inputs_[2].second.store(std::vector<int64_t>{0, 2, 6});
  ASSERT_TRUE(write_npz(in_, inputs_));
  for (const char* how : {"evaluate", "fallback", "compiled"}) {
    const Outcome outcome =
        run(graph_.native() + " --run " + how + " --in " + in_.native() + " --out " + out_.native());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("ascend from 0 to 5"), std::string::npos) << outcome.err;
  }
}

TEST_F(EdgeOpt, tells_failure_from_wrong_usage) {
  EXPECT_EQ(run("").code, 2);
  EXPECT_EQ(run(graph_.native() + " --passes nope").code, 2);
  EXPECT_EQ(run(graph_.native() + " --target gpu").code, 2);
  EXPECT_EQ(run(graph_.native() + " --emit nothing").code, 2);
  EXPECT_EQ(run(graph_.native() + " --run evaluate").code, 2);
  EXPECT_EQ(run(graph_.native() + " --passes canonicalize --pipeline").code, 2);
  EXPECT_EQ(run("--help").code, 0);
  EXPECT_EQ(run("/nonexistent.graph").code, 1);
  std::ofstream(graph_) << "graph @g(%x: f32[2]) {\n  %y = aten.nope(%x) : f32[2]\n  return %y\n}\n";
  const Outcome broken = run(graph_.native());
  EXPECT_EQ(broken.code, 1);
  EXPECT_NE(broken.err.find("line 2 column 8: there is no op \"aten.nope\""), std::string::npos)
      << broken.err;
}

}  // namespace
}  // namespace edge_infer
