#include "tests/unit/cuda_device/sample.h"

#include <bit>
#include <cstdlib>
#include <numeric>
#include <random>

#include "backends/cuda/pack_rows.h"
#include "runtime/base/hash.h"
#include "runtime/executor/bound_program.h"
#include "runtime/program/buffer_plan.h"

namespace edge_infer::cuda {
namespace {

float widen(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16, exponent = half >> 10 & 31U,
                 fraction = half & 0x3ffU;
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

void gather(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  auto* x = static_cast<float*>(args->buffers[0]);
  const auto* ids = static_cast<const int32_t*>(args->buffers[1]);
  const auto* table = static_cast<const float*>(args->buffers[2]);
  for (int64_t t = m0; t < m1; ++t)
    for (int64_t k = 0; k < kWidth; ++k) x[t * kWidth + k] = table[ids[t] * kWidth + k];
}
void linear(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  auto* y = static_cast<float*>(args->buffers[0]);
  const auto* x = static_cast<const float*>(args->buffers[1]);
  const auto* w = static_cast<const uint16_t*>(args->buffers[2]);
  for (int64_t t = m0; t < m1; ++t)
    for (int64_t n = 0; n < kWidth; ++n) {
      float sum = 0;
      for (int64_t k = 0; k < kWidth; ++k) sum += x[t * kWidth + k] * widen(w[n * kWidth + k]);
      y[t * kWidth + n] = sum;
    }
}
void pool(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  auto* out = static_cast<float*>(args->buffers[0]);
  const auto* y = static_cast<const float*>(args->buffers[1]);
  const auto* offsets = static_cast<const int32_t*>(args->buffers[2]);
  const auto* units = static_cast<const WorkUnit*>(args->buffers[3]);
  const int64_t unit_count = args->integers[1], width = args->integers[2];
  for (int64_t b = m0; b < m1; ++b) {
    float mine = 0;
    for (int64_t u = 0; u < unit_count; ++u) mine += units[u].sequence == b ? 1.0F : 0.0F;
    for (int64_t n = 0; n < width; ++n) {
      float sum = 0;
      for (int32_t t = offsets[b]; t < offsets[b + 1]; ++t) sum += y[t * kWidth + n % kWidth];
      out[b * width + n] = sum * mine;
    }
  }
}

struct SampleKernel {
  std::string_view name;
  KernelFn function;
  size_t buffers, maps;
};
constexpr SampleKernel kKernels[] = {
    {"gather", gather, 3, 0}, {"linear", linear, 3, 2}, {"linear_large", linear, 3, 0}, {"pool", pool, 4, 0}};

// The same kernels on the host.
class HostDevice final : public Device {
 public:
  const Target& target() const override { return target_; }
  Result<LoadedKernel> load_kernel(std::string_view name) const override {
    for (const SampleKernel& k : kKernels)
      if (name == kernel_name(k.name)) return LoadedKernel{k.function, 0};
    return fail(ErrorCode::kNotFound, "no {}", name);
  }
  Result<std::unique_ptr<Executable>> bind(Program program, ConstantSource& constants) const override {
    return BoundProgram::bind(std::move(program), *this, constants);
  }
  Result<size_t> packed_bytes(std::string_view, int64_t n, int64_t k) const override {
    return static_cast<size_t>(n * k) * 2;
  }
  Status pack(std::string_view, std::span<const Rows> sources, int64_t k,
              std::span<std::byte> out) const override {
    return pack_rows(DType::kF16, sources, k, out);
  }

 private:
  Target target_{.name = "host"};
};

Call call(int32_t kernel, std::vector<int32_t> buffers, SymInt rows, std::vector<SymInt> integers) {
  Call c;
  c.kernel = kernel;
  c.buffers = std::move(buffers);
  c.rows = std::move(rows);
  c.integers = std::move(integers);
  return c;
}

}  // namespace

std::string kernel_name(std::string_view kernel) {
  return "kernel:" + content_digest(kernel).substr(0, 32);
}

CudaImage kernel_image(std::string_view kernel) {
  CudaImage image;
  image.launch = {.threads = 128, .blocks_per_sm = 2, .tile_rows = 64};
  if (kernel == "linear") {
    image.launch.threads = 384;
    image.launch.shared_bytes = 100'000;
    image.launch.cluster = 2;
    image.launch.maps = {{1, DType::kF32, kWidth, 8, 64, 32}, {2, DType::kF16, kWidth, 8, 8, 0}};
  }
  if (kernel == "pool") image.launch.waits = false;
  const std::string code = "FAKE " + std::string(kernel);
  for (const char c : code + '\0') image.cubin.push_back(static_cast<std::byte>(c));
  return image;
}

void register_kernels() {
  for (const SampleKernel& k : kKernels) {
    fake::Kernel kernel;
    kernel.parameter_bytes.assign(1 + k.buffers, sizeof(DeviceAddress));
    kernel.parameter_bytes.insert(kernel.parameter_bytes.end(), k.maps, sizeof(EncodedTensorMap));
    kernel.body = [k](const fake::Launch& launch) {
      std::vector<void*> buffers;
      for (size_t b = 0; b < k.buffers; ++b) buffers.push_back(launch.pointer<void>(1 + b));
      const auto* integers = launch.pointer<const int64_t>(0);
      const KernelArgs args{buffers.data(), integers};
      k.function(&args, 0, integers[0], 0, 1, nullptr);
    };
    fake::state().kernels[std::string(k.name)] = kernel;
  }
}

Program sample_program(const SampleOptions& options) {
  const SymInt t = SymInt::symbol("T"), b = SymInt::symbol("B"), u = SymInt::symbol("U");
  Program p;
  p.name = options.name;
  p.symbols = {{"T", {1, options.most_tokens}, 16}, {"B", {1, 1024}, 1}, {"U", {0, 1 << 24}, 1}};
  p.symbol_sources = {{0, 0, 0}, {1, 0, 1}};
  p.kernels = {{kernel_name("gather")}, {kernel_name("linear")}, {kernel_name("pool")}};
  if (options.second_form) p.kernels.push_back({kernel_name("linear_large")});
  p.constants = {{{"table"}, "raw", DType::kF32, {kVocabulary, kWidth}, {}},
                 {{"weight"}, "nk.f16", DType::kF32, {kWidth, kWidth}, {}}};
  p.unit_lists = {{1, 64, "U"}};
  p.buffers = {{.role = BufferRole::kInput, .dtype = DType::kI32, .sizes = {t}, .index = 0},
               {.role = BufferRole::kInput, .dtype = DType::kI32, .sizes = {b + 1}, .index = 1},
               {.role = BufferRole::kConstant, .sizes = {kVocabulary, kWidth}, .index = 0},
               {.role = BufferRole::kConstant, .sizes = {kWidth, kWidth}, .index = 1},
               {.role = BufferRole::kIndex, .dtype = DType::kI32, .sizes = {u, 2}, .index = 0},
               {.role = BufferRole::kTemp, .sizes = {t, kWidth}},
               {.role = BufferRole::kTemp, .sizes = {t, kWidth}},
               {.role = BufferRole::kOutput, .sizes = {b, options.width}, .index = 0}};
  const auto phase = [&](Call c, const SymInt& when = 1) {
    Phase made;
    made.split = Phase::Split::kSerial;
    made.when = when;
    made.calls = {std::move(c)};
    p.phases.push_back(made);
  };
  const SymInt small = min(1, floordiv(200, t));
  phase(call(0, {5, 0, 2}, t, {t}));
  phase(call(1, {6, 5, 3}, t, {t}), options.second_form ? small : SymInt(1));
  if (options.second_form) phase(call(3, {6, 5, 3}, t, {t}), 1 - small);
  phase(call(2, {7, 6, 1, 4}, b, {b, u, options.width}));
  plan_buffers(p);
  return p;
}

void CudaTest::SetUp() {
  fake::reset();
  register_kernels();
  ::setenv("EDGE_INFER_LIBCUDA", EDGE_INFER_FAKE_CUDA, 1);
}

std::shared_ptr<const CudaDevice> CudaTest::open(const CudaDeviceOptions& options) {
  auto device = CudaDevice::open(options);
  EXPECT_TRUE(device) << device.error().message;
  return device ? *device : nullptr;
}

std::shared_ptr<const CudaDevice> CudaTest::open_loaded(const CudaDeviceOptions& options) {
  auto device = open(options);
  if (device == nullptr) return nullptr;
  std::vector<KernelBlob> blobs;
  std::vector<std::string> names;
  for (const SampleKernel& k : kKernels) {
    blobs.push_back(kernel_image(k.name).to_blob());
    names.push_back(kernel_name(k.name));
  }
  std::vector<NamedBlob> named;
  for (size_t i = 0; i < blobs.size(); ++i) named.push_back({names[i], &blobs[i]});
  const auto loaded = device->load_code(named);
  EXPECT_TRUE(loaded) << loaded.error().message;
  return device;
}

SampleConstants::SampleConstants() : table_(kVocabulary * kWidth), weight_(kWidth * kWidth) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& x : table_) x = uniform(random);
  for (float& x : weight_) x = uniform(random);
}

Result<const void*> SampleConstants::locate(const ConstantDecl& constant, const Device& device) {
  if (constant.format == "raw") return table_.data();
  if (packed_.empty()) {
    EDGE_INFER_ASSIGN(const size_t bytes, device.packed_bytes(constant.format, kWidth, kWidth));
    packed_.resize(bytes);
    const Device::Rows rows{weight_.data(), kWidth};
    EDGE_INFER_RETURN_IF_ERROR(device.pack(constant.format, {&rows, 1}, kWidth, packed_));
  }
  return packed_.data();
}

SampleCall::SampleCall(std::vector<int64_t> lengths, int64_t width, unsigned seed) : offsets{0} {
  std::mt19937 random(seed);
  for (const int64_t length : lengths) offsets.push_back(offsets.back() + static_cast<int32_t>(length));
  ids.resize(static_cast<size_t>(offsets.back()));
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % kVocabulary);
  out.assign(lengths.size() * static_cast<size_t>(width), -7);
  id_sizes[0] = offsets.back();
  offset_sizes[0] = static_cast<int64_t>(offsets.size());
  out_sizes[0] = static_cast<int64_t>(lengths.size());
  out_sizes[1] = width;
}

std::vector<TensorView> SampleCall::inputs() {
  return {{ids.data(), DType::kI32, id_sizes}, {offsets.data(), DType::kI32, offset_sizes}};
}

std::vector<TensorView> SampleCall::outputs() {
  return {{out.data(), DType::kF32, out_sizes}};
}

std::vector<float> expected(const SampleCall& original, const SampleOptions& options) {
  SampleCall call = original;
  HostDevice device;
  SampleConstants constants;
  auto program = BoundProgram::bind(sample_program(options), device, constants);
  EXPECT_TRUE(program) << program.error().message;
  ExecutionContext context;
  // The views point into `call`, not into what it was copied from.
  const TensorView inputs[] = {{call.ids.data(), DType::kI32, call.id_sizes},
                               {call.offsets.data(), DType::kI32, call.offset_sizes}};
  const TensorView outputs[] = {{call.out.data(), DType::kF32, call.out_sizes}};
  const Status status = (*program)->run(context, inputs, outputs, 1);
  EXPECT_TRUE(status) << status.error().message;
  return call.out;
}

}  // namespace edge_infer::cuda
