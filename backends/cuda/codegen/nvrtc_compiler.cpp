#include "backends/cuda/codegen/nvrtc_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <ctime>
#include <optional>
#include <thread>

#include "backends/cuda/codegen/cuda_target.h"
#include "runtime/base/cpu.h"

namespace edge_infer::cuda {
namespace {

constexpr int kMostThreads = 8;
// Products and sums are fused only where the text says so: results must agree with the nests' meaning. Names
// that a schedule does not need are no defect (177).
constexpr const char* kOptions[] = {"-default-device", "-std=c++17", "--fmad=false", "--diag-suppress=177"};
// Of the log, not of the code. NVRTC 12.9 began to cache by itself, which keeps figures out of the log.
constexpr const char* kVerbose = "--ptxas-options=-v";
constexpr const char* kNoCache = "--no-cache";

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The number in front of the last occurrence of `unit` in `line`.
int32_t number_before(std::string_view line, std::string_view unit) {
  const size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int32_t value = 0;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

// ptxas' figures, and what else there is to read.
void read_log(std::string_view log, NvrtcKernel& kernel) {
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (line.contains("spill stores")) {
      kernel.image.spill_bytes +=
          number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
    } else if (line.contains("ptxas info")) {
      if (line.contains(" registers")) {
        kernel.image.registers = number_before(line, " registers");
        kernel.image.static_shared_bytes = number_before(line, " bytes smem");
      } else if (line.contains("(C7") || line.contains("advisory")) {
        kernel.warnings.emplace_back(line);
      }
    } else if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      kernel.warnings.emplace_back(line);
    }
  }
}

}  // namespace

NvrtcCompiler::NvrtcCompiler(std::filesystem::path library, int threads)
    : file_(std::move(library)),
      threads_(threads > 0 ? threads : std::clamp(worker_budget(), 1, kMostThreads)) {}

std::string NvrtcCompiler::identity() const {
  return NvrtcLibrary::identity_of(file_);
}

std::string NvrtcCompiler::options() const {
  std::string text;
  for (const char* option : kOptions) text += fmt::format("{}{}", text.empty() ? "" : " ", option);
  return text;
}

Status NvrtcCompiler::available() const {
  if (file_.empty())
    return fail(ErrorCode::kUnsupported,
                "no libnvrtc.so.13 or .12 beside the program, in a CUDA toolkit or in the wheel "
                "nvidia-cuda-nvrtc");
  return {};
}

Result<std::shared_ptr<const NvrtcLibrary>> NvrtcCompiler::library() {
  EDGE_INFER_RETURN_IF_ERROR(available());
  const std::scoped_lock lock(mutex_);
  if (library_ == nullptr) {
    EDGE_INFER_ASSIGN(library_, NvrtcLibrary::load(file_));
  }
  return library_;
}

Result<NvrtcKernel> NvrtcCompiler::compile_one(const KernelSource& source) {
  EDGE_INFER_ASSIGN(const std::shared_ptr<const NvrtcLibrary> nvrtc, library());
  EDGE_INFER_ASSIGN(const CudaTarget target, CudaTarget::of(source.target));
  NvrtcKernel kernel;
  EDGE_INFER_ASSIGN(kernel.image.launch, CudaLaunch::of_source(source.source));
  std::vector<std::string> options{fmt::format("--gpu-architecture={}", target.architecture)};
  options.insert(options.end(), std::begin(kOptions), std::end(kOptions));
  options.emplace_back(kVerbose);
  if (nvrtc->major() > 12 || (nvrtc->major() == 12 && nvrtc->minor() >= 9)) options.emplace_back(kNoCache);
  const double begin = cpu_seconds();
  EDGE_INFER_ASSIGN(NvrtcResult result, nvrtc->compile(source.source, options, source.keep_assembly));
  kernel.seconds = cpu_seconds() - begin;
  kernel.image.cubin = std::move(result.cubin);
  kernel.assembly = std::move(result.ptx);
  read_log(result.log, kernel);
  return kernel;
}

std::vector<Result<CompiledKernel>> NvrtcCompiler::compile(std::span<const KernelSource> sources,
                                                           const std::function<bool()>& is_cancelled) {
  std::vector<std::optional<Result<CompiledKernel>>> results(sources.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < sources.size(); i = next++) {
      if (is_cancelled && is_cancelled()) {
        results[i] = fail(ErrorCode::kCancelled, "compilation was cancelled");
        continue;
      }
      Result<NvrtcKernel> kernel = compile_one(sources[i]);
      if (kernel)
        results[i] = CompiledKernel{kernel->image.to_blob(), std::move(kernel->assembly), kernel->seconds};
      else
        results[i] = std::unexpected(std::move(kernel).error());
    }
  };
  {
    std::vector<std::jthread> helpers;
    const size_t count = std::min(static_cast<size_t>(threads_), sources.size());
    for (size_t i = 1; i < count; ++i) helpers.emplace_back(work);
    work();
  }
  std::vector<Result<CompiledKernel>> all;
  for (auto& result : results) all.push_back(*std::move(result));
  return all;
}

}  // namespace edge_infer::cuda
