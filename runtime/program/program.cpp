#include "runtime/program/program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace edge_infer {
namespace {

const char* role_name(BufferRole role) {
  switch (role) {
    case BufferRole::kInput:
      return "in";
    case BufferRole::kOutput:
      return "out";
    case BufferRole::kTemp:
      return "temp";
    case BufferRole::kConstant:
      return "const";
    case BufferRole::kState:
      return "state";
    case BufferRole::kSaved:
      return "saved";
    case BufferRole::kIndex:
      return "index";
  }
  return "?";
}

const char* split_name(Phase::Split split) {
  switch (split) {
    case Phase::Split::kRows:
      return "rows";
    case Phase::Split::kColumns:
      return "columns";
    case Phase::Split::kRowsColumns:
      return "rows x columns";
    case Phase::Split::kSerial:
      return "serial";
  }
  return "?";
}

std::string join(const std::vector<SymInt>& list) {
  std::string out;
  for (const SymInt& item : list) out += (out.empty() ? "" : ", ") + item.str();
  return out;
}

std::string print_buffer(const Program& program, size_t i) {
  const BufferDecl& b = program.buffers[i];
  std::string text =
      fmt::format("  b{}: {} {}[{}]", i, role_name(b.role), dtype_name(b.dtype), join(b.sizes));
  if (b.role == BufferRole::kConstant) {
    const ConstantDecl& c = program.constants[static_cast<size_t>(b.index)];
    text += fmt::format(" = {} {}", c.format,
                        c.sources.empty() ? "literal" : fmt::format("{}", fmt::join(c.sources, " ++ ")));
  } else if (b.slot >= 0) {
    text += fmt::format(" s{}", b.slot);
  } else if (b.index >= 0) {
    text += fmt::format(" #{}", b.index);
  }
  return text + "\n";
}

Status check_symbols(const Program& program, const SymInt& expression, const std::string& where) {
  for (const std::string& name : expression.symbols()) {
    bool known = false;
    for (const Symbol& s : program.symbols) known = known || s.name == name;
    if (!known)
      return fail(ErrorCode::kInternal, "program \"{}\": {} uses undeclared symbol {}", program.name, where,
                  name);
  }
  return {};
}

}  // namespace

std::string print_program(const Program& program) {
  std::string out = fmt::format("program @{} class {} symbols(", program.name, program.accumulation_class);
  for (size_t i = 0; i < program.symbols.size(); ++i) {
    const Symbol& s = program.symbols[i];
    out += fmt::format("{}{} in {}..{} hint {}", i == 0 ? "" : ", ", s.name, s.range.lo, s.range.hi, s.hint);
  }
  out += ")\n";
  for (size_t i = 0; i < program.buffers.size(); ++i) out += print_buffer(program, i);
  for (size_t i = 0; i < program.slots.size(); ++i)
    out += fmt::format("  slot s{}: {} bytes\n", i, program.slots[i].str());
  for (const UnitListDecl& u : program.unit_lists)
    out += fmt::format("  units {} = blocks of {} rows of b{}\n", u.count, u.block_rows, u.offsets);
  for (size_t p = 0; p < program.phases.size(); ++p) {
    out += fmt::format("  phase {} {}\n", p, split_name(program.phases[p].split));
    for (const Call& c : program.phases[p].calls) {
      std::string buffers;
      for (const int32_t b : c.buffers)
        buffers += fmt::format("{}{}", buffers.empty() ? "" : ", ", b < 0 ? "none" : fmt::format("b{}", b));
      out += fmt::format("    {}({}) [{}] over {} by {} x {} by {}\n",
                         program.kernels[static_cast<size_t>(c.kernel)].name, buffers, join(c.integers),
                         c.rows.str(), c.row_grain, c.columns.str(), c.column_grain);
    }
  }
  return out;
}

Status verify_program(const Program& program) {
  const auto bad = [&](const std::string& what) {
    return fail(ErrorCode::kInternal, "program \"{}\": {}", program.name, what);
  };
  std::set<int32_t> written;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const BufferDecl& b = program.buffers[i];
    for (const SymInt& size : b.sizes)
      EDGE_INFER_RETURN_IF_ERROR(check_symbols(program, size, fmt::format("buffer b{}", i)));
    if (b.role == BufferRole::kConstant &&
        (b.index < 0 || b.index >= static_cast<int32_t>(program.constants.size())))
      return bad(fmt::format("buffer b{} names constant {} of {}", i, b.index, program.constants.size()));
    if (b.role == BufferRole::kIndex &&
        (b.index < 0 || b.index >= static_cast<int32_t>(program.unit_lists.size())))
      return bad(fmt::format("buffer b{} names unit list {} of {}", i, b.index, program.unit_lists.size()));
    if (b.slot >= static_cast<int32_t>(program.slots.size()))
      return bad(fmt::format("buffer b{} has slot {} of {}", i, b.slot, program.slots.size()));
    if (b.role != BufferRole::kTemp && b.role != BufferRole::kOutput) written.insert(static_cast<int32_t>(i));
  }
  for (size_t p = 0; p < program.phases.size(); ++p) {
    for (const Call& c : program.phases[p].calls) {
      const std::string where = fmt::format("phase {}", p);
      if (c.kernel < 0 || c.kernel >= static_cast<int32_t>(program.kernels.size()))
        return bad(fmt::format("{} calls kernel {} of {}", where, c.kernel, program.kernels.size()));
      for (size_t i = 0; i < c.buffers.size(); ++i) {
        const int32_t b = c.buffers[i];
        if (b >= static_cast<int32_t>(program.buffers.size()))
          return bad(fmt::format("{} uses buffer {} of {}", where, b, program.buffers.size()));
        if (b < 0) continue;
        if (program.buffers[static_cast<size_t>(b)].role == BufferRole::kTemp &&
            program.buffers[static_cast<size_t>(b)].slot < 0)
          return bad(fmt::format("{} uses temp b{} without memory", where, b));
        const bool is_written = std::ranges::find(c.writes, static_cast<int32_t>(i)) != c.writes.end();
        if (!is_written && !written.contains(b))
          return bad(fmt::format("{} reads b{} before it is written", where, b));
      }
      for (const int32_t w : c.writes) {
        if (w < 0 || w >= static_cast<int32_t>(c.buffers.size()))
          return bad(fmt::format("{} writes operand {} of {}", where, w, c.buffers.size()));
        if (c.buffers[static_cast<size_t>(w)] >= 0) written.insert(c.buffers[static_cast<size_t>(w)]);
      }
      for (const SymInt& e : c.integers) EDGE_INFER_RETURN_IF_ERROR(check_symbols(program, e, where));
      EDGE_INFER_RETURN_IF_ERROR(check_symbols(program, c.rows, where));
      EDGE_INFER_RETURN_IF_ERROR(check_symbols(program, c.columns, where));
      if (c.row_grain < 1 || c.column_grain < 1) return bad(where + " has a grain below 1");
    }
  }
  return {};
}

}  // namespace edge_infer
