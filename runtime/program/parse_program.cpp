#include <cstring>

#include "runtime/base/text_scanner.h"
#include "runtime/program/program.h"
#include "runtime/program/program_names.h"

namespace edge_infer {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  Result<Program> parse() {
    EDGE_INFER_RETURN_IF_ERROR(in_.expect("program "));
    EDGE_INFER_ASSIGN(program_.name, in_.quoted());
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" class "));
    EDGE_INFER_ASSIGN(program_.accumulation_class, in_.quoted());
    EDGE_INFER_RETURN_IF_ERROR(in_.expect("\n"));
    while (in_.accept("  symbol ")) EDGE_INFER_RETURN_IF_ERROR(symbol());
    while (in_.accept("  c")) EDGE_INFER_RETURN_IF_ERROR(constant());
    while (in_.accept("  b")) EDGE_INFER_RETURN_IF_ERROR(buffer());
    while (in_.accept("  slot s")) EDGE_INFER_RETURN_IF_ERROR(slot());
    while (in_.accept("  units u")) EDGE_INFER_RETURN_IF_ERROR(unit_list());
    while (in_.accept("  kernel ")) EDGE_INFER_RETURN_IF_ERROR(kernel());
    while (in_.accept("  phase ")) EDGE_INFER_RETURN_IF_ERROR(phase());
    if (!in_.at_end()) return in_.error("the next declaration or the end");
    return std::move(program_);
  }

 private:
  Result<SymInt> expression(std::string_view text) const {
    auto parsed = SymInt::parse(text);
    if (!parsed) return in_.error_at_line(parsed.error().message);
    return parsed;
  }
  Result<SymInt> expression_before(std::string_view end) {
    EDGE_INFER_ASSIGN(const std::string_view text, in_.until(end));
    return expression(text);
  }
  Result<std::vector<SymInt>> expressions(char end) {
    EDGE_INFER_ASSIGN(const std::vector<std::string_view> items, in_.list(end));
    std::vector<SymInt> result;
    for (const std::string_view item : items) {
      EDGE_INFER_ASSIGN(SymInt e, expression(item));
      result.push_back(std::move(e));
    }
    return result;
  }
  Result<DType> dtype() {
    EDGE_INFER_ASSIGN(const std::string_view name, in_.word("a dtype"));
    const auto type = parse_dtype(name);
    if (!type) return in_.error_at_line(fmt::format("found dtype {}, expected one of f32, ...", name));
    return *type;
  }
  Result<int32_t> index32() {
    EDGE_INFER_ASSIGN(const int64_t value, in_.integer(0, INT32_MAX));
    return static_cast<int32_t>(value);
  }
  // The number of a declaration: they are counted from 0 in order.
  Status number(size_t expected, std::string_view after) {
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(std::to_string(expected)));
    return in_.expect(after);
  }

  Status symbol() {
    Symbol s;
    EDGE_INFER_ASSIGN(const std::string_view name, in_.word("a symbol's name"));
    s.name = name;
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" in "));
    EDGE_INFER_ASSIGN(s.range.lo, in_.integer(INT64_MIN, INT64_MAX));
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(".."));
    EDGE_INFER_ASSIGN(s.range.hi, in_.integer(INT64_MIN, INT64_MAX));
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" hint "));
    EDGE_INFER_ASSIGN(s.hint, in_.integer(INT64_MIN, INT64_MAX));
    if (in_.accept(" = input ")) {
      if (program_.symbol_sources.size() != program_.symbols.size())
        return in_.error_at_line(fmt::format("symbol {} has a source, the one before it has none", s.name));
      Program::SymbolSource source;
      EDGE_INFER_ASSIGN(source.input, index32());
      EDGE_INFER_RETURN_IF_ERROR(in_.expect(" dim "));
      EDGE_INFER_ASSIGN(source.dim, index32());
      EDGE_INFER_RETURN_IF_ERROR(in_.expect(" minus "));
      EDGE_INFER_ASSIGN(source.minus, in_.integer(INT64_MIN, INT64_MAX));
      program_.symbol_sources.push_back(source);
    }
    program_.symbols.push_back(std::move(s));
    return in_.expect("\n");
  }

  Status constant() {
    EDGE_INFER_RETURN_IF_ERROR(number(program_.constants.size(), ": "));
    ConstantDecl c;
    EDGE_INFER_ASSIGN(const std::string_view format, in_.word("a format"));
    c.format = format;
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" "));
    EDGE_INFER_ASSIGN(c.dtype, dtype());
    EDGE_INFER_RETURN_IF_ERROR(in_.expect("["));
    while (!in_.accept("]")) {
      if (!c.sizes.empty()) EDGE_INFER_RETURN_IF_ERROR(in_.expect(", "));
      EDGE_INFER_ASSIGN(const int64_t size, in_.integer(0, INT64_MAX));
      c.sizes.push_back(size);
    }
    if (in_.accept(" literal ")) {
      EDGE_INFER_ASSIGN(const std::string_view digits, in_.until("\n"));
      auto bytes = from_hex(digits);
      if (!bytes) return in_.error_at_line(bytes.error().message);
      c.literal.resize(bytes->size());
      if (!bytes->empty()) std::memcpy(c.literal.data(), bytes->data(), bytes->size());
    } else {
      EDGE_INFER_RETURN_IF_ERROR(in_.expect(" "));
      do {
        EDGE_INFER_ASSIGN(std::string source, in_.quoted());
        c.sources.push_back(std::move(source));
      } while (in_.accept(" ++ "));
    }
    program_.constants.push_back(std::move(c));
    return in_.expect("\n");
  }

  Status buffer() {
    EDGE_INFER_RETURN_IF_ERROR(number(program_.buffers.size(), ": "));
    BufferDecl b;
    EDGE_INFER_ASSIGN(const std::string_view role, in_.word("a role"));
    int r = 0;
    while (r < kBufferRoles && role != role_name(static_cast<BufferRole>(r))) ++r;
    if (r == kBufferRoles)
      return in_.error_at_line(fmt::format("found role {}, expected in, out, ...", role));
    b.role = static_cast<BufferRole>(r);
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" "));
    EDGE_INFER_ASSIGN(b.dtype, dtype());
    EDGE_INFER_RETURN_IF_ERROR(in_.expect("["));
    EDGE_INFER_ASSIGN(b.sizes, expressions(']'));
    if (b.role != BufferRole::kTemp) {
      EDGE_INFER_RETURN_IF_ERROR(in_.expect(std::string(" ") + index_prefix(b.role)));
      EDGE_INFER_ASSIGN(b.index, index32());
    } else if (in_.accept(" s")) {
      EDGE_INFER_ASSIGN(b.slot, index32());
    }
    program_.buffers.push_back(std::move(b));
    return in_.expect("\n");
  }

  Status slot() {
    EDGE_INFER_RETURN_IF_ERROR(number(program_.slots.size(), ": "));
    EDGE_INFER_ASSIGN(SymInt bytes, expression_before(" bytes\n"));
    program_.slots.push_back(std::move(bytes));
    return in_.expect(" bytes\n");
  }

  Status unit_list() {
    EDGE_INFER_RETURN_IF_ERROR(number(program_.unit_lists.size(), ": "));
    UnitListDecl u;
    EDGE_INFER_ASSIGN(const std::string_view count, in_.word("a symbol's name"));
    u.count = count;
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" = blocks of "));
    EDGE_INFER_ASSIGN(u.block_rows, in_.integer(1, INT64_MAX));
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" rows of b"));
    EDGE_INFER_ASSIGN(u.offsets, index32());
    program_.unit_lists.push_back(std::move(u));
    return in_.expect("\n");
  }

  Status kernel() {
    EDGE_INFER_ASSIGN(const std::string_view name, in_.word("a kernel's name"));
    program_.kernels.push_back({std::string(name)});
    return in_.expect("\n");
  }

  Status phase() {
    EDGE_INFER_RETURN_IF_ERROR(number(program_.phases.size(), " "));
    Phase phase;
    EDGE_INFER_ASSIGN(const std::string_view split, in_.word("a way to split"));
    int s = 0;
    while (s < kSplits && split != split_name(static_cast<Phase::Split>(s))) ++s;
    if (s == kSplits)
      return in_.error_at_line(fmt::format("found split {}, expected rows, columns, tiles or serial", split));
    phase.split = static_cast<Phase::Split>(s);
    if (in_.accept(" when ")) {
      const size_t line_end = in_.text().find('\n', in_.position());
      const bool blocked = in_.text().substr(in_.position(), line_end - in_.position()).find(" rows of ") !=
                           std::string_view::npos;
      EDGE_INFER_ASSIGN(phase.when, expression_before(blocked ? " rows of " : "\n"));
    }
    if (in_.accept(" rows of ")) {
      EDGE_INFER_ASSIGN(phase.row_block, in_.integer(1, INT64_MAX));
    }
    EDGE_INFER_RETURN_IF_ERROR(in_.expect("\n"));
    while (in_.accept("    ")) {
      EDGE_INFER_ASSIGN(Call c, call());
      phase.calls.push_back(std::move(c));
    }
    program_.phases.push_back(std::move(phase));
    return {};
  }

  Result<Call> call() {
    Call c;
    EDGE_INFER_ASSIGN(const std::string_view name, in_.word("a kernel's name"));
    size_t kernel = 0;
    while (kernel < program_.kernels.size() && program_.kernels[kernel].name != name) ++kernel;
    if (kernel == program_.kernels.size())
      return in_.error_at_line(fmt::format("kernel {} is not declared", name));
    c.kernel = static_cast<int32_t>(kernel);
    EDGE_INFER_RETURN_IF_ERROR(in_.expect("("));
    while (!in_.accept(")")) {
      if (!c.buffers.empty()) EDGE_INFER_RETURN_IF_ERROR(in_.expect(", "));
      int32_t b = -1;
      if (!in_.accept("none")) {
        EDGE_INFER_RETURN_IF_ERROR(in_.expect("b"));
        EDGE_INFER_ASSIGN(b, index32());
      }
      c.buffers.push_back(b);
    }
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" ["));
    EDGE_INFER_ASSIGN(c.integers, expressions(']'));
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" over "));
    EDGE_INFER_ASSIGN(c.rows, expression_before(" by "));
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" by "));
    EDGE_INFER_ASSIGN(c.row_grain, in_.integer(1, INT64_MAX));
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" x "));
    EDGE_INFER_ASSIGN(c.columns, expression_before(" by "));
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" by "));
    EDGE_INFER_ASSIGN(c.column_grain, in_.integer(1, INT64_MAX));
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(" cost "));
    const size_t line_end = in_.text().find('\n', in_.position());
    const bool has_node =
        in_.text().substr(in_.position(), line_end - in_.position()).find(" node ") != std::string_view::npos;
    EDGE_INFER_ASSIGN(c.row_cost, expression_before(has_node ? " node " : "\n"));
    if (in_.accept(" node ")) {
      EDGE_INFER_ASSIGN(c.node, index32());
    }
    EDGE_INFER_RETURN_IF_ERROR(in_.expect("\n"));
    return c;
  }

  TextScanner in_;
  Program program_;
};

}  // namespace

Result<Program> parse_program(std::string_view text) {
  if (text.size() > kMaxProgramText)
    return fail(ErrorCode::kCorruption, "program text of {} bytes, at most {} are allowed", text.size(),
                kMaxProgramText);
  EDGE_INFER_ASSIGN(Program program, Parser(text).parse());
  if (const Status verified = verify_program(program); !verified)
    return fail(ErrorCode::kCorruption, "{}", verified.error().message);
  return program;
}

}  // namespace edge_infer
