#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "runtime/program/buffer_plan.h"
#include "runtime/program/program.h"

namespace edge_infer {
namespace {

bool is_word(std::string_view text, std::string_view others) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
  });
}

bool is_symbol_name(std::string_view name) {
  return is_word(name, "_") && !(name[0] >= '0' && name[0] <= '9') && name != "min" && name != "max";
}

bool is_writable(BufferRole role) {
  return role == BufferRole::kTemp || role == BufferRole::kOutput || role == BufferRole::kState ||
         role == BufferRole::kSaved;
}

class Verifier {
 public:
  explicit Verifier(const Program& program) : p_(program) {}

  Status verify() {
    EDGE_INFER_RETURN_IF_ERROR(symbols());
    EDGE_INFER_RETURN_IF_ERROR(constants());
    for (size_t i = 0; i < p_.slots.size(); ++i)
      EDGE_INFER_RETURN_IF_ERROR(known(p_.slots[i], fmt::format("slot s{}", i)));
    for (size_t i = 0; i < p_.buffers.size(); ++i) EDGE_INFER_RETURN_IF_ERROR(buffer(i));
    EDGE_INFER_RETURN_IF_ERROR(dense_indices());
    EDGE_INFER_RETURN_IF_ERROR(unit_lists());
    EDGE_INFER_RETURN_IF_ERROR(symbol_sources());
    EDGE_INFER_RETURN_IF_ERROR(kernels());
    for (size_t i = 0; i < p_.phases.size(); ++i) EDGE_INFER_RETURN_IF_ERROR(phase(i));
    EDGE_INFER_RETURN_IF_ERROR(outputs_written());
    return lifetimes();
  }

 private:
  template <typename... Args>
  std::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::kInternal, "program \"{}\": {}", p_.name,
                fmt::format(format, std::forward<Args>(args)...));
  }

  Status known(const SymInt& e, const std::string& where, bool workers = false) const {
    for (const std::string& name : e.symbols())
      if (!names_.contains(name) && !(workers && name == kWorkersSymbol))
        return bad("{} uses undeclared symbol {}", where, name);
    return {};
  }

  Status symbols() {
    for (const Symbol& s : p_.symbols) {
      if (!is_symbol_name(s.name) || s.name == kWorkersSymbol)
        return bad("symbol \"{}\", expected an identifier other than min, max and {}", s.name,
                   kWorkersSymbol);
      if (!names_.insert(s.name).second) return bad("symbol {} is declared twice", s.name);
      if (s.range.lo < 0 || s.range.lo > s.range.hi)
        return bad("symbol {} in {}..{}, expected a range of sizes", s.name, s.range.lo, s.range.hi);
    }
    return {};
  }

  Status constants() const {
    for (size_t i = 0; i < p_.constants.size(); ++i) {
      const ConstantDecl& c = p_.constants[i];
      if (!is_word(c.format, "._-")) return bad("constant c{} has format \"{}\"", i, c.format);
      int64_t bytes = dtype_size(c.dtype);
      for (const int64_t size : c.sizes)
        if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes))
          return bad("constant c{} has a dimension of {}", i, size);
      if (!c.sources.empty() && !c.literal.empty()) return bad("constant c{} has sources and a literal", i);
      if (c.sources.empty() && (c.format != "raw" || static_cast<int64_t>(c.literal.size()) != bytes))
        return bad("literal c{} has {} bytes of format {}, expected {} of format raw", i, c.literal.size(),
                   c.format, bytes);
    }
    return {};
  }

  Status buffer(size_t i) const {
    const BufferDecl& b = p_.buffers[i];
    for (const SymInt& size : b.sizes) EDGE_INFER_RETURN_IF_ERROR(known(size, fmt::format("buffer b{}", i)));
    if (b.role == BufferRole::kTemp) {
      if (b.index != -1) return bad("temp b{} has index {}", i, b.index);
      if (b.slot < -1 || b.slot >= static_cast<int32_t>(p_.slots.size()))
        return bad("buffer b{} has slot {} of {}", i, b.slot, p_.slots.size());
      return b.slot < 0 ? Status{} : fits(i);
    }
    if (b.slot != -1) return bad("buffer b{} has slot {}, which only temps have", i, b.slot);
    if (b.role == BufferRole::kConstant) return constant_buffer(i);
    return {};
  }

  // A slot is the maximum over its members, which the simplifier sees; the ranges decide for plans made
  // otherwise.
  Status fits(size_t i) const {
    const BufferDecl& b = p_.buffers[i];
    const SymInt& slot = p_.slots[static_cast<size_t>(b.slot)];
    const SymInt bytes = buffer_bytes(b);
    if (max(slot, ceildiv(bytes, 64) * 64) == slot || max(slot, bytes) == slot ||
        (slot - bytes).range(p_.symbols).lo >= 0)
      return {};
    return bad("temp b{} of {} bytes may not fit slot s{} of {} bytes", i, bytes.str(), b.slot, slot.str());
  }

  Status constant_buffer(size_t i) const {
    const BufferDecl& b = p_.buffers[i];
    if (b.index < 0 || b.index >= static_cast<int32_t>(p_.constants.size()))
      return bad("buffer b{} names constant {} of {}", i, b.index, p_.constants.size());
    const ConstantDecl& c = p_.constants[static_cast<size_t>(b.index)];
    SymInt constant = 1, buffer = 1;
    for (const int64_t size : c.sizes) constant = constant * size;
    for (const SymInt& size : b.sizes) buffer = buffer * size;
    if (!(constant == buffer))
      return bad("buffer b{} has {} elements, its constant {}", i, buffer.str(), constant.str());
    if (c.format == "raw" && b.dtype != c.dtype)
      return bad("buffer b{} is {}, its constant {}", i, dtype_name(b.dtype), dtype_name(c.dtype));
    return {};
  }

  // The call's inputs are the in and state buffers, its outputs the out and saved ones.
  Status dense_indices() {
    std::set<int32_t> outputs, lists;
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      const BufferDecl& b = p_.buffers[i];
      if (b.role == BufferRole::kTemp || b.role == BufferRole::kConstant) continue;
      const bool input = b.role == BufferRole::kInput || b.role == BufferRole::kState;
      bool fresh = false;
      if (b.role == BufferRole::kIndex)
        fresh = lists.insert(b.index).second;
      else if (input)
        fresh = inputs_.emplace(b.index, i).second;
      else
        fresh = outputs.insert(b.index).second;
      if (!fresh || b.index < 0)
        return bad("buffer b{} has index {}, which is negative or taken", i, b.index);
    }
    const auto dense = [](const auto& set, auto last) {
      return set.empty() || last + 1 == static_cast<int32_t>(set.size());
    };
    if (!dense(inputs_, inputs_.empty() ? 0 : inputs_.rbegin()->first))
      return bad("inputs are not numbered 0..{}", inputs_.size() - 1);
    if (!dense(outputs, outputs.empty() ? 0 : *outputs.rbegin()))
      return bad("outputs are not numbered 0..{}", outputs.size() - 1);
    if (!lists.empty() && *lists.rbegin() >= static_cast<int32_t>(p_.unit_lists.size()))
      return bad("a buffer names unit list {} of {}", *lists.rbegin(), p_.unit_lists.size());
    return {};
  }

  Status unit_lists() {
    for (size_t i = 0; i < p_.unit_lists.size(); ++i) {
      const UnitListDecl& u = p_.unit_lists[i];
      if (u.offsets < 0 || u.offsets >= static_cast<int32_t>(p_.buffers.size()))
        return bad("unit list u{} reads buffer {} of {}", i, u.offsets, p_.buffers.size());
      const BufferDecl& offsets = p_.buffers[static_cast<size_t>(u.offsets)];
      if (offsets.role != BufferRole::kInput || offsets.dtype != DType::kI32 || offsets.sizes.size() != 1)
        return bad("unit list u{} reads b{}, expected an input of i32 offsets", i, u.offsets);
      if (u.block_rows < 1) return bad("unit list u{} has blocks of {} rows", i, u.block_rows);
      if (!names_.contains(u.count)) return bad("unit list u{} counts undeclared symbol {}", i, u.count);
      if (!counts_.insert(u.count).second) return bad("symbol {} counts two unit lists", u.count);
    }
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      const BufferDecl& b = p_.buffers[i];
      if (b.role != BufferRole::kIndex) continue;
      const SymInt count = SymInt::symbol(p_.unit_lists[static_cast<size_t>(b.index)].count);
      if (b.dtype != DType::kI32 || b.sizes != std::vector<SymInt>{count, 2})
        return bad("index buffer b{} must be i32[{}, 2]", i, count.str());
    }
    return {};
  }

  // Input symbols first, each from an input dimension; then the unit counts.
  Status symbol_sources() const {
    if (p_.symbol_sources.size() + counts_.size() != p_.symbols.size())
      return bad("{} symbols have {} sources and {} unit lists", p_.symbols.size(), p_.symbol_sources.size(),
                 counts_.size());
    for (size_t i = 0; i < p_.symbols.size(); ++i) {
      const std::string& name = p_.symbols[i].name;
      if (counts_.contains(name) != (i >= p_.symbol_sources.size()))
        return bad("symbol {} has {} source", name, counts_.contains(name) ? "a second" : "no");
      if (i >= p_.symbol_sources.size()) continue;
      const Program::SymbolSource& s = p_.symbol_sources[i];
      const auto input = inputs_.find(s.input);
      if (input == inputs_.end())
        return bad("symbol {} comes from input {} of {}", name, s.input, inputs_.size());
      const std::vector<SymInt>& sizes = p_.buffers[input->second].sizes;
      if (s.dim < 0 || s.dim >= static_cast<int32_t>(sizes.size()))
        return bad("symbol {} comes from dim {} of input {}, which has {}", name, s.dim, s.input,
                   sizes.size());
      if (!(sizes[static_cast<size_t>(s.dim)] == SymInt::symbol(name) + s.minus))
        return bad("symbol {} + {} is not dim {} of input {}", name, s.minus, s.dim, s.input);
    }
    return {};
  }

  Status kernels() const {
    std::set<std::string_view> names;
    for (const KernelRef& k : p_.kernels) {
      if (!is_kernel_name(k.name))
        return bad("kernel \"{}\", expected prebuilt:<op>.<dtype> or kernel:<id>", k.name);
      if (!names.insert(k.name).second) return bad("kernel {} is listed twice", k.name);
    }
    return {};
  }

  Status phase(size_t i) {
    const std::string where = fmt::format("phase {}", i);
    const Phase& phase = p_.phases[i];
    if (phase.calls.empty()) return bad("{} has no call", where);
    EDGE_INFER_RETURN_IF_ERROR(known(phase.when, where, true));
    if (phase.row_block < 0) return bad("{} has blocks of {} rows", where, phase.row_block);
    for (const Call& c : phase.calls) {
      if (c.kernel < 0 || c.kernel >= static_cast<int32_t>(p_.kernels.size()))
        return bad("{} calls kernel {} of {}", where, c.kernel, p_.kernels.size());
      EDGE_INFER_RETURN_IF_ERROR(operands(c, where));
      for (const SymInt& e : c.integers) EDGE_INFER_RETURN_IF_ERROR(known(e, where));
      EDGE_INFER_RETURN_IF_ERROR(known(c.rows, where));
      EDGE_INFER_RETURN_IF_ERROR(known(c.columns, where));
      EDGE_INFER_RETURN_IF_ERROR(known(c.row_cost, where));
      if (c.row_grain < 1 || c.column_grain < 1) return bad("{} has a grain below 1", where);
      if (c.node < -1) return bad("{} has node {}", where, c.node);
    }
    return {};
  }

  Status operands(const Call& c, const std::string& where) {
    const bool compiled = p_.kernels[static_cast<size_t>(c.kernel)].name.starts_with("kernel:");
    bool writes = false;
    std::vector<int32_t> fresh;
    for (size_t i = 0; i < c.buffers.size(); ++i) {
      const int32_t b = c.buffers[i];
      if (b < -1 || b >= static_cast<int32_t>(p_.buffers.size()))
        return bad("{} uses buffer {} of {}", where, b, p_.buffers.size());
      if (b < 0) continue;
      const BufferDecl& decl = p_.buffers[static_cast<size_t>(b)];
      if (decl.role == BufferRole::kTemp && decl.slot < 0)
        return bad("{} uses temp b{} without memory", where, b);
      if (!is_writable(decl.role) || (!compiled && i > 0)) {
        const bool initialized = !is_writable(decl.role) || decl.role == BufferRole::kState;
        if (!compiled && i == 0) return bad("{} writes b{}, which is read only", where, b);
        if (!initialized && !written_.contains(b)) return bad("{} reads b{} before it is written", where, b);
        continue;
      }
      writes = true;
      fresh.push_back(b);
    }
    if (!writes) return bad("{} has a call that writes nothing", where);
    written_.insert(fresh.begin(), fresh.end());
    return {};
  }

  Status outputs_written() const {
    for (size_t i = 0; i < p_.buffers.size(); ++i)
      if (p_.buffers[i].role == BufferRole::kOutput && !written_.contains(static_cast<int32_t>(i)))
        return bad("output b{} is never written", i);
    return {};
  }

  // Temps of one slot live one after the other.
  Status lifetimes() const {
    struct Life {
      int32_t first, last;
      size_t buffer;
    };
    std::vector<std::vector<Life>> slots(p_.slots.size());
    std::map<int32_t, Life> lives;
    for (size_t i = 0; i < p_.phases.size(); ++i)
      for (const Call& c : p_.phases[i].calls)
        for (const int32_t b : c.buffers) {
          if (b < 0 || p_.buffers[static_cast<size_t>(b)].role != BufferRole::kTemp) continue;
          const auto phase = static_cast<int32_t>(i);
          lives.emplace(b, Life{phase, phase, static_cast<size_t>(b)}).first->second.last = phase;
        }
    for (const auto& [b, life] : lives)
      slots[static_cast<size_t>(p_.buffers[life.buffer].slot)].push_back(life);
    for (std::vector<Life>& members : slots) {
      std::sort(members.begin(), members.end(),
                [](const Life& a, const Life& b) { return a.first < b.first; });
      for (size_t i = 1; i < members.size(); ++i)
        if (members[i].first <= members[i - 1].last)
          return bad("temps b{} and b{} are alive together in one slot", members[i - 1].buffer,
                     members[i].buffer);
    }
    return {};
  }

  const Program& p_;
  std::set<std::string, std::less<>> names_, counts_;
  std::map<int32_t, size_t> inputs_;  // index among the call's inputs -> buffer
  std::set<int32_t> written_;
};

}  // namespace

bool is_kernel_name(std::string_view name) {
  constexpr std::string_view kPrebuilt = "prebuilt:", kCompiled = "kernel:";
  if (name.starts_with(kPrebuilt)) return is_word(name.substr(kPrebuilt.size()), "._-");
  if (!name.starts_with(kCompiled)) return false;
  const std::string_view id = name.substr(kCompiled.size());
  return id.size() == 32 && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Status verify_program(const Program& program) {
  return Verifier(program).verify();
}

}  // namespace edge_infer
