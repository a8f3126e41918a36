// Words and limits that printing, parsing and verifying share.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/loop/loop_nest.h"

namespace edge_infer::loop {

constexpr int kMaxExprDepth = 256;       // operands below one another
constexpr int64_t kMaxExprNodes = 4096;  // of a statement's expression written as a tree
constexpr int kMaxLoopDepth = 16;
constexpr size_t kMaxItems = 4096;  // buffers, symbols, axes, values or locals of a nest

const char* access_name(Access access);     // "in", "out", "packed", "index"
const char* axis_kind_name(AxisKind kind);  // "work", "lane", ...

// "f32[T, 384]"
std::string type_text(DType dtype, const std::vector<SymInt>& sizes);
// "T in 1..16384 hint 128, B in 1..inf hint 1"
std::string symbols_text(std::span<const Symbol> symbols);
// With any byte that a name may not have replaced by "_".
std::string plain_name(std::string_view name);
bool is_name_char(char c);
// Whether a name is a lower-case letter with digits behind it, as those of axes are.
bool is_axis_name(std::string_view name);
// Whether a name is "v" and a number: an integer value inside an index.
bool is_value_name(std::string_view name);

}  // namespace edge_infer::loop
