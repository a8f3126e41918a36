#include "compiler/program/build_program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/fallback/symbol_sources.h"
#include "compiler/program/prebuilt_step.h"
#include "compiler/program/row_access.h"
#include "runtime/program/buffer_plan.h"

namespace edge_infer {
namespace {

using loop::LoopNest;
using loop::LoopProgram;
using loop::ProgramBuffer;
using loop::Step;

using Substitution = std::map<std::string, SymInt, std::less<>>;

// What passes through a phase's kernels should stay in a core's L2, but every row block also fetches all
// weights of the phase anew: fewer rows than the least cost more than they save.
constexpr int64_t kPhaseBytes = 768 << 10;
constexpr int64_t kMinRowBlock = 144, kMaxRowBlock = 512;
// FLOPs and bytes a nanosecond of one core, roughly: only to decide how many workers pay.
constexpr double kFlopsPerNs = 50, kBytesPerNs = 10;

class Builder {
 public:
  Builder(const Graph& graph, const Target& target) : graph_(graph), target_(target) {}

  Result<Program> run(std::span<const ProgramForm> forms) {
    program_.name = graph_.name();
    program_.accumulation_class = forms.front().loops->accumulation_class;
    program_.symbols = graph_.symbols();
    EDGE_INFER_RETURN_IF_ERROR(declare_interface());
    for (const ProgramForm& form : forms) EDGE_INFER_RETURN_IF_ERROR(add(form));
    plan_buffers(program_);
    EDGE_INFER_RETURN_IF_ERROR(verify_program(program_));
    return std::move(program_);
  }

 private:
  // A phase in the making: what has been written in it, by program buffer.
  struct OpenPhase {
    bool open = false;
    SymInt rows;
    std::map<int32_t, SymInt> written;  // with the stride
  };

  int32_t declare(BufferDecl buffer) {
    program_.buffers.push_back(std::move(buffer));
    return static_cast<int32_t>(program_.buffers.size()) - 1;
  }

  Status declare_interface() {
    int32_t index = 0;
    for (const GraphInput& input : graph_.inputs()) {
      const TensorType& t = graph_.value(input.value).type;
      inputs_[input.value] =
          declare({.role = BufferRole::kInput, .dtype = t.dtype, .sizes = t.sizes, .index = index++});
    }
    index = 0;
    for (const GraphOutput& output : graph_.outputs()) {
      const TensorType& t = graph_.value(output.value).type;
      outputs_.push_back(
          declare({.role = BufferRole::kOutput, .dtype = t.dtype, .sizes = t.sizes, .index = index++}));
    }
    EDGE_INFER_ASSIGN(program_.symbol_sources, find_symbol_sources(graph_));
    return {};
  }

  Result<int32_t> constant(const std::vector<ValueId>& sources, const std::string& format) {
    ConstantDecl decl;
    decl.format = format;
    for (const ValueId v : sources) {
      const Value& value = graph_.value(v);
      decl.sources.push_back(value.name);
      decl.dtype = value.type.dtype;
      std::vector<int64_t> sizes;
      for (const SymInt& size : value.type.sizes) {
        if (!size.constant())
          return fail(ErrorCode::kUnsupported, "constant \"{}\" has the symbolic size {}", value.name,
                      size.str());
        sizes.push_back(*size.constant());
      }
      if (decl.sizes.empty())
        decl.sizes = std::move(sizes);
      else
        decl.sizes[0] += sizes[0];
    }
    return constant(std::move(decl));
  }

  int32_t constant(ConstantDecl decl) {
    for (size_t c = 0; c < program_.constants.size(); ++c)
      if (program_.constants[c] == decl) return constant_buffers_[c];
    std::vector<SymInt> sizes(decl.sizes.begin(), decl.sizes.end());
    const DType dtype = decl.dtype;
    program_.constants.push_back(std::move(decl));
    constant_buffers_.push_back(declare({.role = BufferRole::kConstant,
                                         .dtype = dtype,
                                         .sizes = std::move(sizes),
                                         .index = static_cast<int32_t>(program_.constants.size()) - 1}));
    return constant_buffers_.back();
  }

  // The unit list over input buffer `offsets`; its count gets a symbol of the program.
  std::pair<int32_t, std::string> units(int32_t offsets, int64_t block_rows) {
    for (size_t u = 0; u < program_.unit_lists.size(); ++u)
      if (program_.unit_lists[u].offsets == offsets && program_.unit_lists[u].block_rows == block_rows)
        return {unit_buffers_[u], program_.unit_lists[u].count};
    std::string name = fmt::format("U{}", program_.unit_lists.size());
    const auto taken = [&] {
      return std::ranges::any_of(program_.symbols, [&](const Symbol& s) { return s.name == name; });
    };
    while (taken()) name += "_";
    program_.symbols.push_back({name, {0, int64_t{1} << 24}, 1});
    program_.unit_lists.push_back({offsets, block_rows, name});
    unit_buffers_.push_back(declare({.role = BufferRole::kIndex,
                                     .dtype = DType::kI32,
                                     .sizes = {SymInt::symbol(name), 2},
                                     .index = static_cast<int32_t>(program_.unit_lists.size()) - 1}));
    return {unit_buffers_.back(), name};
  }

  int32_t kernel(const std::string& name) {
    for (size_t k = 0; k < program_.kernels.size(); ++k)
      if (program_.kernels[k].name == name) return static_cast<int32_t>(k);
    program_.kernels.push_back({name});
    return static_cast<int32_t>(program_.kernels.size()) - 1;
  }

  Status add(const ProgramForm& form) {
    const LoopProgram& loops = *form.loops;
    std::vector<int32_t> buffers;
    Substitution renamed;  // symbols of the form as the program names them
    size_t output = 0;
    for (const ProgramBuffer& b : loops.buffers) {
      switch (b.role) {
        case loop::Role::kInput:
          buffers.push_back(inputs_.at(b.value));
          break;
        case loop::Role::kOutput:
          buffers.push_back(outputs_.at(output++));
          break;
        case loop::Role::kTemp:
          buffers.push_back(declare({.role = BufferRole::kTemp, .dtype = b.dtype, .sizes = b.sizes}));
          break;
        case loop::Role::kConstant: {
          EDGE_INFER_ASSIGN(const int32_t c,
                            constant(b.sources, b.packed ? packed_format(form, b.dtype) : "raw"));
          buffers.push_back(c);
          break;
        }
        case loop::Role::kUnits: {
          const auto offsets = inputs_.find(b.value);
          if (offsets == inputs_.end())
            return fail(ErrorCode::kUnsupported, "sequence offsets %{} must be an input of the graph",
                        graph_.value(b.value).name);
          const auto [buffer, count] = units(offsets->second, b.block_rows);
          buffers.push_back(buffer);
          renamed.insert_or_assign(b.count, SymInt::symbol(count));
          break;
        }
      }
    }
    for (const int32_t b : buffers)
      for (SymInt& size : program_.buffers[static_cast<size_t>(b)].sizes) size = size.substitute(renamed);

    OpenPhase phase;
    for (const Step& step : loops.steps) {
      if (step.nest < 0) {
        close(phase);
        EDGE_INFER_RETURN_IF_ERROR(add_prebuilt(form, step, buffers));
        continue;
      }
      add_nest(form, step, buffers, renamed, phase);
    }
    close(phase);
    return {};
  }

  static std::string packed_format(const ProgramForm& form, DType dtype) {
    return dtype == DType::kBF16  ? form.packed_bf16_format
           : dtype == DType::kF16 ? form.packed_f16_format
                                  : form.packed_format;
  }

  void add_nest(const ProgramForm& form, const Step& step, const std::vector<int32_t>& buffers,
                const Substitution& renamed, OpenPhase& phase) {
    const auto n = static_cast<size_t>(step.nest);
    const LoopNest& nest = form.loops->nests[n];
    const ProgramForm::Kernel& k = form.kernels[n];
    Substitution values;
    Call call;
    for (size_t s = 0; s < nest.symbols.size(); ++s) {
      const SymInt value = step.symbols[s].substitute(renamed);
      values.insert_or_assign(nest.symbols[s].name, value);
      call.integers.push_back(value);
    }
    call.kernel = kernel(k.name);
    for (const int32_t b : step.buffers) call.buffers.push_back(b < 0 ? -1 : buffers[static_cast<size_t>(b)]);
    call.rows = nest.work().extent.substitute(values);
    if (const loop::AxisId columns = nest.split_columns(); columns >= 0)
      call.columns = nest.axis(columns).extent.substitute(values);
    call.row_grain = k.generated.row_grain;
    call.column_grain = k.generated.column_grain;
    call.row_cost = static_cast<int64_t>(1 + k.generated.flops_per_row / kFlopsPerNs +
                                         k.generated.bytes_per_row / kBytesPerNs);
    call.node = step.nodes.empty() ? -1 : step.nodes.front();
    const std::vector<RowAccess> accesses = row_accesses(nest);

    // May it follow within the phase?
    const bool alone = form.splits_columns && k.generated.splits_columns;
    bool joins = phase.open && phase.rows == call.rows && !alone;
    bool own_rows = !alone;  // of all that it writes: else nothing may follow it within the phase
    for (size_t b = 0; b < accesses.size(); ++b) {
      const int32_t buffer = call.buffers[b];
      std::optional<SymInt> stride;
      if (accesses[b].stride) stride = accesses[b].stride->substitute(values);
      const auto written = phase.written.find(buffer);
      if (written != phase.written.end() && (!stride || !(*stride == written->second))) joins = false;
      if (accesses[b].writes && !stride) own_rows = false;
    }
    if (!joins || !own_rows) {
      close(phase);
      program_.phases.push_back({.when = form.when});
      phase.open = own_rows;
      phase.rows = call.rows;
    }
    for (size_t b = 0; b < accesses.size(); ++b)
      if (accesses[b].writes && accesses[b].stride)
        phase.written.insert_or_assign(call.buffers[b], accesses[b].stride->substitute(values));
    Phase& current = program_.phases.back();
    current.split = k.generated.splits_columns && current.calls.empty() ? Phase::Split::kRowsColumns
                                                                        : Phase::Split::kRows;
    current.calls.push_back(std::move(call));
    if (!phase.open) finish(current);
  }

  void close(OpenPhase& phase) {
    if (phase.open) finish(program_.phases.back());
    phase = {};
  }

  // Grain and row block of a phase whose calls are all there.
  void finish(Phase& phase) {
    int64_t grain = 1;
    for (const Call& call : phase.calls) grain = std::lcm(grain, call.row_grain);
    phase.calls.front().row_grain = grain;
    if (phase.calls.size() < 2) return;
    // A call that follows others works on whole rows.
    for (Call& call : phase.calls) call.column_grain = 1;
    std::map<std::string, int64_t, std::less<>> hints;
    for (const Symbol& s : program_.symbols) hints[s.name] = s.hint;
    std::vector<int32_t> seen;
    int64_t bytes = 0;
    const int64_t rows = std::max<int64_t>(1, phase.calls.front().rows.evaluate(hints).value_or(1));
    for (const Call& call : phase.calls)
      for (const int32_t b : call.buffers) {
        if (b < 0 || std::ranges::find(seen, b) != seen.end()) continue;
        seen.push_back(b);
        const BufferDecl& decl = program_.buffers[static_cast<size_t>(b)];
        if (decl.role == BufferRole::kConstant || decl.role == BufferRole::kIndex) continue;
        bytes += buffer_bytes(decl).evaluate(hints).value_or(0) / rows;
      }
    const int64_t block = std::clamp(kPhaseBytes / std::max<int64_t>(1, bytes), kMinRowBlock, kMaxRowBlock);
    phase.row_block = std::max<int64_t>(1, block / grain) * grain;
  }

  Status add_prebuilt(const ProgramForm& form, const Step& step, const std::vector<int32_t>& buffers) {
    const NodeId id = step.nodes.front();
    EDGE_INFER_ASSIGN(const Program alone, lower_prebuilt_step(graph_, id, target_));
    // Positions of step.buffers by graph value.
    const Node& node = graph_.node(id);
    std::map<ValueId, int32_t> bound;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] != kNoValue && step.buffers[i] >= 0)
        bound[node.inputs[i]] = buffers[static_cast<size_t>(step.buffers[i])];
    const std::vector<ValueId> inputs = prebuilt_step_inputs(graph_, id);
    std::vector<int32_t> mapped;
    Substitution renamed;
    for (const BufferDecl& b : alone.buffers) {
      const auto index = static_cast<size_t>(b.index);
      switch (b.role) {
        case BufferRole::kInput:
          mapped.push_back(index < inputs.size() ? bound.at(inputs[index]) : -1);
          break;
        case BufferRole::kOutput:
          mapped.push_back(buffers[static_cast<size_t>(step.buffers[node.inputs.size() + index])]);
          break;
        case BufferRole::kConstant:
          mapped.push_back(constant(alone.constants[index]));
          break;
        case BufferRole::kIndex: {
          const UnitListDecl& list = alone.unit_lists[index];
          const int32_t offsets = mapped[static_cast<size_t>(list.offsets)];
          if (program_.buffers[static_cast<size_t>(offsets)].role != BufferRole::kInput)
            return fail(ErrorCode::kUnsupported, "sequence offsets must be an input of the graph");
          const auto [buffer, count] = units(offsets, list.block_rows);
          mapped.push_back(buffer);
          renamed.insert_or_assign(list.count, SymInt::symbol(count));
          break;
        }
        default: {
          BufferDecl temp{.role = BufferRole::kTemp, .dtype = b.dtype, .sizes = b.sizes};
          for (SymInt& size : temp.sizes) size = size.substitute(renamed);
          mapped.push_back(declare(std::move(temp)));
        }
      }
    }
    for (const Phase& source : alone.phases) {
      Phase phase = source;
      phase.when = form.when;
      for (Call& call : phase.calls) {
        call.kernel = kernel(alone.kernels[static_cast<size_t>(call.kernel)].name);
        for (int32_t& b : call.buffers) b = b < 0 ? -1 : mapped[static_cast<size_t>(b)];
        for (SymInt& e : call.integers) e = e.substitute(renamed);
        call.rows = call.rows.substitute(renamed);
        call.columns = call.columns.substitute(renamed);
        call.row_cost = call.row_cost.substitute(renamed);
        call.node = id;
      }
      program_.phases.push_back(std::move(phase));
    }
    return {};
  }

  const Graph& graph_;
  const Target& target_;
  Program program_;
  std::map<ValueId, int32_t> inputs_;
  std::vector<int32_t> outputs_, constant_buffers_, unit_buffers_;
};

}  // namespace

Result<Program> build_program(const Graph& graph, const Target& target, std::span<const ProgramForm> forms) {
  return Builder(graph, target).run(forms);
}

}  // namespace edge_infer
