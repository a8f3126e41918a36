#include "tests/kernels/nest_run.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "backends/cpu/codegen/cpu_code_generator.h"
#include "backends/cpu/pack_bf16.h"
#include "tests/kernels/guarded_buffer.h"
#include "tests/kernels/loaded_nest.h"

namespace edge_infer::testing {
namespace {

// [ceil(N / P)][K][P], zeros beyond N.
HostTensor packed(const HostTensor& weight, int64_t panel) {
  const int64_t n = weight.sizes[0], k = weight.sizes[1];
  const std::vector<double> rows = weight.to_doubles();
  std::vector<double> panels(static_cast<size_t>((n + panel - 1) / panel * panel * k));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j)
      panels[static_cast<size_t>(i / panel * panel * k + j * panel + i % panel)] =
          rows[static_cast<size_t>(i * k + j)];
  HostTensor tensor = *make_host_tensor(weight.dtype, {static_cast<int64_t>(panels.size())});
  tensor.store(panels);
  return tensor;
}

HostTensor packed_bf16(const HostTensor& weight, std::string_view format) {
  const Bf16Layout layout = *Bf16Layout::find(format);
  const int64_t n = weight.sizes[0], k = weight.sizes[1];
  const std::vector<double> numbers = weight.to_doubles();
  const std::vector<float> rows(numbers.begin(), numbers.end());
  const auto bytes = static_cast<int64_t>(*bf16_packed_bytes(layout, n, k));
  HostTensor tensor = *make_host_tensor(DType::kBF16, {bytes / 2});
  const Device::Rows source{rows.data(), n};
  pack_bf16(layout, std::span(&source, 1), k, tensor.bytes);
  return tensor;
}

// "cpu.avx512+bf16.amx32": the features that make the generator choose the class.
Result<CpuCodeGenerator> generator_of(std::string_view target) {
  CpuFeatures cpu;
  cpu.avx512_bf16 = target.ends_with("+bf16.dp2") || target.ends_with("+bf16.amx32");
  cpu.amx_bf16 = target.ends_with("+bf16.amx32");
  return CpuCodeGenerator::for_target(target.substr(0, target.find('+')), cpu);
}

}  // namespace

std::vector<std::string> runnable_targets() {
  std::vector<std::string> targets = {"cpu.portable"};
  if (cpu_features().avx2_fma) targets.emplace_back("cpu.avx2");
  if (cpu_features().avx512) targets.emplace_back("cpu.avx512");
  return targets;
}

std::vector<std::string> runnable_bf16_targets() {
  std::vector<std::string> targets;
  for (const std::string& target : runnable_targets()) targets.push_back(target + "+bf16.f32");
  if (cpu_features().avx512_bf16) targets.emplace_back("cpu.avx512+bf16.dp2");
  if (request_amx()) targets.emplace_back("cpu.avx512+bf16.amx32");
  return targets;
}

Result<KernelRun> run_kernel(const loop::LoopNest& nest, const std::string& target,
                             const std::string& schedule, const std::vector<int64_t>& symbols,
                             std::vector<HostTensor> buffers, int pieces) {
  EDGE_INFER_ASSIGN(const CpuCodeGenerator generator, generator_of(target));
  EDGE_INFER_ASSIGN(const GeneratedKernel generated, generator.generate(nest, schedule));
  // A kernel often runs several times: whole, and in pieces.
  static std::map<std::string, LoadedNest, std::less<>> compiled;
  const std::string key = target + generated.source.source;
  if (!compiled.contains(key)) {
    EDGE_INFER_ASSIGN(LoadedNest made, LoadedNest::compile(generated.source));
    if (compiled.size() > 64) compiled.clear();
    compiled.emplace(key, std::move(made));
  }
  const LoadedNest kernel = compiled.at(key);

  std::vector<std::unique_ptr<GuardedBuffer>> memory;
  std::vector<void*> pointers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool pack = nest.buffers[i].access == loop::Access::kPacked;
    const DType dtype = nest.buffers[i].dtype;
    const HostTensor& from = !pack ? buffers[i]
                             : dtype == DType::kF32
                                 ? packed(buffers[i], target.starts_with("cpu.avx512") ? 32 : 16)
                                 : packed_bf16(buffers[i], generator.packed_format(dtype));
    const auto alignment = pack ? size_t{64} : static_cast<size_t>(dtype_size(from.dtype));
    memory.push_back(std::make_unique<GuardedBuffer>(from.bytes.size(), alignment));
    std::memcpy(memory.back()->data(), from.bytes.data(), from.bytes.size());
    pointers.push_back(memory.back()->data());
  }
  GuardedBuffer scratch(generated.source.scratch_bytes, 64);
  std::memset(scratch.data(), 0xff, scratch.bytes());  // NaN

  const SymbolMap values = symbol_values(nest, symbols);
  EDGE_INFER_ASSIGN(const int64_t rows, nest.work().extent.evaluate(values));
  int64_t columns = 1;
  if (generated.splits_columns) {
    EDGE_INFER_ASSIGN(columns, nest.axis(nest.split_columns()).extent.evaluate(values));
  }
  const KernelArgs args{pointers.data(), symbols.data()};
  const auto step = [pieces](int64_t total, int64_t grain) {
    const int64_t grains = (total + grain - 1) / grain;
    return std::max<int64_t>(1, (grains + pieces - 1) / pieces) * grain;
  };
  const int64_t row_step = step(rows, generated.row_grain),
                column_step = step(columns, generated.column_grain);
  for (int64_t m = 0; m < rows; m += row_step)
    for (int64_t n = 0; n < columns; n += column_step)
      kernel.function()(&args, m, std::min(m + row_step, rows), n, std::min(n + column_step, columns),
                        scratch.data());

  if (!scratch.intact()) return fail(ErrorCode::kInternal, "the kernel wrote beside its scratch");
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!memory[i]->intact()) return fail(ErrorCode::kInternal, "the kernel wrote beside b{}", i);
    if (nest.buffers[i].access == loop::Access::kOut)
      std::memcpy(buffers[i].bytes.data(), memory[i]->data(), buffers[i].bytes.size());
  }
  return KernelRun{std::move(buffers), generated.source.source};
}

std::string compare_with_evaluate(const NestCase& c) {
  auto prepared = prepare(c);
  if (!prepared) return prepared.error().message;
  loop::LoopNest& nest = prepared->nest;
  const std::vector<HostTensor>& buffers = prepared->buffers;
  const bool is_bf16 = nest.accumulation_class == "bf16";
  for (const std::string& target : is_bf16 ? runnable_bf16_targets() : runnable_targets()) {
    if (is_bf16) nest.accumulation_class = target.substr(target.find('+') + 1);
    const auto whole = run_kernel(nest, target, c.schedule, c.symbols, buffers, 1);
    if (!whole) return fmt::format("{}: {}", target, whole.error().message);
    if (const std::string wrong = compare_outputs(whole->buffers, *prepared, c); !wrong.empty())
      return fmt::format("{}: {}", target, wrong);
    const auto split = run_kernel(nest, target, c.schedule, c.symbols, buffers, 3);
    if (!split) return fmt::format("{} split: {}", target, split.error().message);
    for (size_t b = 0; b < buffers.size(); ++b)
      if (split->buffers[b].bytes != whole->buffers[b].bytes)
        return fmt::format("{}: b{} has other bits where rows and columns are split", target, b);
  }
  return "";
}

}  // namespace edge_infer::testing
