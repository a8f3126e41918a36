// What a compilation made, as files for people.
#pragma once

#include <filesystem>
#include <string>

#include "compiler/compile.h"

namespace edge_infer {

// Writes graph.txt (after the passes), loops.txt (nests, steps, edges left un-fused with their reasons),
// program.txt, kernels.txt (kernel -> nest, schedule, key, graph nodes), and NN.c with NN.s beside it for
// each kernel. Assembly needs `compiler` to work; without it only sources are written. Errors: kIoError
// naming the file.
Status write_dump(const CompiledGraph& compiled, KernelCompiler& compiler, const std::filesystem::path& dir);

// Which kernel computes which graph nodes: a line a step of the program.
std::string describe_kernels(const CompiledGraph& compiled);
// The edges left un-fused, a line each: "%a (aten.linear) -> %b (aten.gelu): different map".
std::string describe_unfused(const CompiledGraph& compiled);

// What $EDGE_INFER_LOGS (a list of fusion, cache, guards, compile, device) asks for.
struct LogTopics {
  bool fusion = false, cache = false, guards = false, compile = false, device = false;
};
const LogTopics& log_topics();
// $EDGE_INFER_DUMP, empty where it is not set.
std::filesystem::path dump_folder();

}  // namespace edge_infer
