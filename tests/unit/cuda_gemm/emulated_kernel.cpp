#include "tests/unit/cuda_gemm/emulated_kernel.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace edge_infer::cuda {

struct EmulatedKernel::Map {
  const char* base;
  uint64_t rows, columns, box_rows, box_columns;
};

namespace {

// The position behind the bracket that closes the one at `open`; strings are skipped.
size_t behind_bracket(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

// `"code" : "=r"(x), ... : "r"(y) : "memory"` as a call.
std::string translate_statement(std::string_view statement) {
  std::string code, operands;
  bool in_operands = false;
  for (size_t i = 0; i < statement.size();) {
    if (statement[i] == '"') {
      size_t end = i + 1;
      while (statement[end] != '"') end += statement[end] == '\\' ? 2 : 1;
      if (!in_operands) code += statement.substr(i, end + 1 - i);
      i = end + 1;  // constraints and clobbers go
    } else if (statement[i] == '(') {
      const size_t end = behind_bracket(statement, i);
      operands +=
          fmt::format("{}emulation::operand{}", operands.empty() ? "" : ", ", statement.substr(i, end - i));
      i = end;
    } else {
      in_operands = in_operands || statement[i] == ':';
      ++i;
    }
  }
  return fmt::format("emulation::ptx({}, {{{}}})", code, operands);
}

std::string translate(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size();) {
    const size_t at = source.find("asm", i);
    const bool word = at != std::string_view::npos &&
                      (at == 0 || (std::isalnum(source[at - 1]) == 0 && source[at - 1] != '_'));
    const size_t open = at == std::string_view::npos ? at : source.find_first_not_of(" ", at + 3);
    if (at == std::string_view::npos) return out + std::string(source.substr(i));
    size_t bracket = open;
    if (source.substr(open).starts_with("volatile")) bracket = source.find('(', open);
    if (!word || source[bracket] != '(') {
      out += source.substr(i, at + 3 - i);
      i = at + 3;
      continue;
    }
    const size_t end = behind_bracket(source, bracket);
    out += source.substr(i, at - i);
    out += translate_statement(source.substr(bracket + 1, end - bracket - 2));
    i = end;
  }
  return out;
}

// Number of pointers and maps among the parameters of k().
std::pair<size_t, size_t> parameters(std::string_view source) {
  const size_t open = source.rfind(" k(") + 2;
  const std::string_view list = source.substr(open, behind_bracket(source, open) - open);
  const auto count = [&](std::string_view what) {
    size_t n = 0;
    for (size_t i = list.find(what); i != std::string_view::npos; i = list.find(what, i + 1)) ++n;
    return n;
  };
  return {count("*") - 1, count("TMap")};
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Without macros, which asm statements may be made of.
Result<std::string> preprocess(const std::string& source, const std::string& stem) {
  std::ofstream(stem + ".cu") << source;
  const std::string command = fmt::format("{} -E -P -x c++ -std=c++20 -o {}.i {}.cu > {}.log 2>&1",
                                          EDGE_TEST_COMPILER, stem, stem, stem);
  const int status = std::system(command.c_str());  // NOLINT: a test's own command
  Result<std::string> text = read_text(stem + (status == 0 ? ".i" : ".log"));
  for (const char* end : {".cu", ".i", ".log"}) std::filesystem::remove(stem + end);
  if (status != 0) return fail(ErrorCode::kInvalidArgument, "{}", text->substr(0, 4000));
  return text;
}

}  // namespace

Result<EmulatedKernel> EmulatedKernel::build(const std::string& source) {
  static std::atomic<int> number = 0;
  EmulatedKernel kernel;
  EDGE_INFER_ASSIGN(kernel.launch_, CudaLaunch::of_source(source));
  const std::string stem =
      (std::filesystem::temp_directory_path() / fmt::format("edge_emulated_{}_{}", getpid(), number++))
          .string();
  EDGE_INFER_ASSIGN(const std::string plain, preprocess(source, stem));
  const auto [buffers, maps] = parameters(plain);
  std::string call = "n";
  for (size_t i = 0; i < buffers; ++i) call += fmt::format(", Any{{b[{}]}}", i);
  for (size_t i = 0; i < maps; ++i) call += fmt::format(", m[{}]", i);
  const std::string text = fmt::format(
      "#include \"{}\"\nalignas(1024) char shared[240 * 1024];\n{}\n"
      "struct Any {{\n  void* p;\n  template <typename T>\n  operator T*() const {{\n    return (T*)p;\n  "
      "}}\n}};\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) void run(unsigned blocks, unsigned threads, "
      "const long long* n, void* const* b, const "
      "emulation::Map* maps) {{\n"
      "  {}\n  emulation::launch(blocks, threads, [&] {{ k({}); }});\n}}\n",
      EDGE_PTX_EMULATION, translate(plain),
      maps == 0 ? ""
                : fmt::format("TMap m[{0}];\n  for (int i = 0; i < {0}; i++) std::memcpy(&m[i], &maps[i], "
                              "sizeof(maps[i]));",
                              maps),
      call);
  std::ofstream(stem + ".cpp") << text;
  const std::string command =
      fmt::format("{} -std=c++20 -O1 -w -shared -fPIC -fvisibility=hidden -o {}.so {}.cpp > {}.log 2>&1",
                  EDGE_TEST_COMPILER, stem, stem, stem);
  const int status = std::system(command.c_str());  // NOLINT: a test's own command
  const Result<std::string> log = read_text(stem + ".log");
  void* library = status == 0 ? dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  for (const char* end : {".cpp", ".so", ".log"}) std::filesystem::remove(stem + end);
  if (library == nullptr) return fail(ErrorCode::kInvalidArgument, "{}", log->substr(0, 4000));
  kernel.library_ = std::shared_ptr<void>(library, dlclose);
  kernel.entry_ = reinterpret_cast<decltype(kernel.entry_)>(dlsym(library, "run"));
  return kernel;
}

void EmulatedKernel::run(unsigned blocks, std::span<const int64_t> symbols,
                         std::span<const Buffer> buffers) const {
  std::vector<void*> pointers;
  for (const Buffer& buffer : buffers) pointers.push_back(buffer.data);
  std::vector<Map> maps;
  for (const TensorMap& map : launch_.maps) {
    const Buffer& buffer = buffers[static_cast<size_t>(map.buffer)];
    maps.push_back({static_cast<const char*>(buffer.data), static_cast<uint64_t>(buffer.rows),
                    static_cast<uint64_t>(map.columns), static_cast<uint64_t>(map.box_rows),
                    static_cast<uint64_t>(map.box_columns)});
  }
  const std::vector<long long> n(symbols.begin(), symbols.end());
  entry_(blocks, static_cast<unsigned>(launch_.threads), n.data(), pointers.data(), maps.data());
}

}  // namespace edge_infer::cuda
