#include "tests/support/templates/template_kernel.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace edge_infer::testing {
namespace {

const char* march(TemplateIsa isa) {
  switch (isa) {
    case TemplateIsa::kPortable:
      return "-march=x86-64";
    case TemplateIsa::kAvx2:
      return "-march=x86-64-v3";
    case TemplateIsa::kAvx512:
      return "-march=x86-64-v4 -mprefer-vector-width=512";
  }
  return "";
}

constexpr const char* kPrelude = R"(#define EDGE_PRELUDE 1
typedef int int32_t;
typedef long int64_t;
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef int i32x16 __attribute__((ext_vector_type(16)));
typedef f32x16 f32x16u __attribute__((aligned(4)));
struct KernelArgs { void* const* buffers; const int64_t* integers; };
#define INLINE static inline __attribute__((always_inline))
INLINE f32x16 fma16(f32x16 a, f32x16 b, f32x16 c) {
#ifdef __FMA__
  return __builtin_elementwise_fma(a, b, c);
#else
  return a * b + c;
#endif
}
INLINE f32x16 load16(const float* p, int64_t lanes) {
  if (lanes == 16) return *(const f32x16u*)p;
  f32x16 r = 0.0f;
  for (int l = 0; l < 16; l++) if (l < lanes) r[l] = p[l];
  return r;
}
INLINE void store16(float* p, f32x16 x, int64_t lanes) {
  if (lanes == 16) { *(f32x16u*)p = x; return; }
  for (int l = 0; l < 16; l++) if (l < lanes) p[l] = x[l];
}
INLINE f32x16 exp16(f32x16 x) {
  f32x16 t = fma16(x, 1.44269504f, 12582912.0f), n = t - 12582912.0f;
  f32x16 r = fma16(n, -1.42860677e-6f, fma16(n, -0.693145752f, x));
  f32x16 p = fma16(8.37312452e-3f, r, 4.16695364e-2f);
  p = fma16(p, r, 1.66664705e-1f); p = fma16(p, r, 4.99999851e-1f); p = fma16(p, r, 1.0f); p = fma16(p, r, 1.0f);
  return (f32x16)((i32x16)p + ((i32x16)t << 23));
}
INLINE f32x16 gelu16(f32x16 x) {
  f32x16 a = x * 0.70710678f, t = __builtin_elementwise_abs(a), s = a * a;
  f32x16 r = fma16(fma16(fma16(fma16(fma16(-5.96761703e-4f, s, 4.99119423e-3f), s, -2.67681349e-2f), s, 1.12819925e-1f), s,
                         -3.76125336e-1f), s, 1.28379166e-1f);
  f32x16 inner = fma16(r, a, a);
  f32x16 q = fma16(fma16(-1.72853470e-5f, t, 3.83197126e-4f), s, fma16(-3.88396438e-3f, t, 2.42546219e-2f));
  q = fma16(fma16(fma16(q, t, -1.06777877e-1f), t, -6.34846687e-1f), t, -1.28717512e-1f);
  q = fma16(q, t, -t);
  f32x16 e = 1.0f - exp16(q < -80.0f ? (f32x16)-80.0f : q);
  f32x16 erf = t > 0.927734375f ? (a < 0.0f ? -e : e) : inner, h = x * 0.5f;
  return fma16(h, erf, h);
}
INLINE float sum16(f32x16 v) {
  for (int w = 8; w; w /= 2) for (int i = 0; i < w; i++) v[i] += v[i + w];
  return v[0];
}
)";

}  // namespace

const char* template_isa_name(TemplateIsa isa) {
  return isa == TemplateIsa::kPortable ? "portable" : isa == TemplateIsa::kAvx2 ? "avx2" : "avx512";
}

std::vector<TemplateIsa> template_isas() {
  std::vector<TemplateIsa> isas = {TemplateIsa::kPortable};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) isas.push_back(TemplateIsa::kAvx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    isas.push_back(TemplateIsa::kAvx512);
  return isas;
}

int panel_columns(TemplateIsa isa) {
  return isa == TemplateIsa::kAvx512 ? 32 : 16;
}

std::string template_prelude() {
  return kPrelude;
}

Result<TemplateKernel> TemplateKernel::compile(const std::string& source, TemplateIsa isa) {
  std::string folder = (std::filesystem::temp_directory_path() / "edge-template-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr)
    return fail(ErrorCode::kIoError, "cannot make a folder in the temporary directory");
  const std::string base = folder + "/k";
  std::ofstream(base + ".c") << source;
  const std::string command = fmt::format(
      "clang-19 -shared -fPIC -O2 -std=gnu11 -ffreestanding -fno-builtin -ffp-contract=off "
      "-fvisibility=default -Wall "
      "-Werror -Wno-psabi -Wno-unused-function -nostdlib -Wl,-z,defs {} -I. -o {}.so {}.c 2> {}.txt",
      march(isa), base, base, base);
  const auto begin = std::chrono::steady_clock::now();
  const int status = std::system(command.c_str());
  TemplateKernel kernel;
  kernel.seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::stringstream diagnostics;
  diagnostics << std::ifstream(base + ".txt").rdbuf();
  if (status == 0)
    kernel.library_ = {dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL), [](void* p) {
                         if (p != nullptr) dlclose(p);
                       }};
  if (getenv("EDGE_KEEP_TEMPLATES") == nullptr) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  } else {
    std::fprintf(stderr, "%s\n", base.c_str());
  }
  if (status != 0) return fail(ErrorCode::kInvalidArgument, "{}", diagnostics.str());
  if (kernel.library_ == nullptr) return fail(ErrorCode::kIoError, "{}", dlerror());
  kernel.fn_ = reinterpret_cast<KernelFn>(dlsym(kernel.library_.get(), "k"));
  if (kernel.fn_ == nullptr) return fail(ErrorCode::kInvalidArgument, "the source defines no k");
  return kernel;
}

std::string gemm_source(const GemmKernelSpec& spec, TemplateIsa isa, int64_t template_scratch) {
  const bool row = spec.body == GemmBody::kResidualLayerNorm, before = spec.body == GemmBody::kScaledInput;
  std::string s = kPrelude;
  s += fmt::format(
      "#define GEMM_N {}\n#define GEMM_K {}\n#define GEMM_PANEL {}\n#define GEMM_HAS_BEFORE {}\n#define "
      "GEMM_HAS_ROW {}\n{}",
      spec.n, spec.k, panel_columns(isa), before ? 1 : 0, row ? 1 : 0, spec.defines);
  s += R"(struct Ctx {
  float* out;
  const float *a, *w, *bias, *residual, *gamma, *beta;
  float* rows;
};
#define PITCH ((GEMM_N + 15) / 16 * 16)
#define DEPTH ((GEMM_K + 15) / 16 * 16)
INLINE const float* gemm_weight(const struct Ctx* c) { return c->w; }
)";
  s +=
      before
          ? R"(INLINE const float* gemm_a(const struct Ctx* c, int64_t m, int64_t r) { (void)m; return c->rows + r * DEPTH; }
INLINE void gemm_before(const struct Ctx* c, int64_t m, int64_t r) {
  for (int64_t k = 0; k < GEMM_K; k += 16) {
    int64_t lanes = GEMM_K - k < 16 ? GEMM_K - k : 16;
    *(f32x16*)(c->rows + r * DEPTH + k) = load16(c->a + m * GEMM_K + k, lanes) * 2.0f;
  }
}
)"
          : R"(INLINE const float* gemm_a(const struct Ctx* c, int64_t m, int64_t r) { (void)r; return c->a + m * GEMM_K; }
INLINE void gemm_before(const struct Ctx* c, int64_t m, int64_t r) { (void)c, (void)m, (void)r; }
)";
  s += "INLINE void gemm_epilogue(const struct Ctx* c, int64_t m, int64_t r, int64_t n, int64_t lanes, "
       "f32x16 acc) {\n  (void)r;\n";
  switch (spec.body) {
    case GemmBody::kStore:
    case GemmBody::kScaledInput:
      s += "  store16(c->out + m * GEMM_N + n, acc, lanes);\n";
      break;
    case GemmBody::kBias:
      s += "  store16(c->out + m * GEMM_N + n, acc + load16(c->bias + n, lanes), lanes);\n";
      break;
    case GemmBody::kBiasGelu:
      s += "  store16(c->out + m * GEMM_N + n, gelu16(acc + load16(c->bias + n, lanes)), lanes);\n";
      break;
    case GemmBody::kResidualLayerNorm:
      s += "  *(f32x16*)(c->rows + r * PITCH + n) = acc + load16(c->bias + n, lanes) + load16(c->residual + "
           "m * GEMM_N + n, lanes);\n";
      break;
  }
  s += row ? "}\nINLINE void gemm_touch(const struct Ctx* c, int64_t m, int64_t n) {\n"
             "  __builtin_prefetch(c->residual + m * GEMM_N + n, 0, 2);\n"
           : "}\nINLINE void gemm_touch(const struct Ctx* c, int64_t m, int64_t n) {\n"
             "  __builtin_prefetch(c->out + m * GEMM_N + n, 0, 2);\n";
  s += "}\nINLINE void gemm_row(const struct Ctx* c, int64_t m, int64_t r) {\n";
  s += !row ? "  (void)c, (void)m, (void)r;\n" : R"(  const float* x = c->rows + r * PITCH;
  f32x16 total = 0.0f, squares = 0.0f;
  for (int64_t n = 0; n < GEMM_N; n += 16) total += load16(x + n, GEMM_N - n < 16 ? GEMM_N - n : 16);
  const float mean = sum16(total) / GEMM_N;
  for (int64_t n = 0; n < GEMM_N; n += 16) {
    f32x16 d = load16(x + n, GEMM_N - n < 16 ? GEMM_N - n : 16) - mean;
    for (int l = 0; l < 16; l++) if (n + l >= GEMM_N) d[l] = 0.0f;
    squares = fma16(d, d, squares);
  }
  const float factor = 1.0f / __builtin_elementwise_sqrt(sum16(squares) / GEMM_N + 1e-12f);
  for (int64_t n = 0; n < GEMM_N; n += 16) {
    int64_t lanes = GEMM_N - n < 16 ? GEMM_N - n : 16;
    store16(c->out + m * GEMM_N + n, fma16((load16(x + n, lanes) - mean) * factor, load16(c->gamma + n, lanes), load16(c->beta + n, lanes)), lanes);
  }
)";
  s += fmt::format(R"(}}
#include "backends/cpu/templates/gemm_sweep.h"
#include "backends/cpu/templates/gemm_sweep.c"
#include "backends/cpu/templates/gemm.c"
void k(const struct KernelArgs* args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {{
  void* const* b = args->buffers;
  const struct Ctx c = {{b[0], b[1], b[2], b[3], b[4], b[5], b[6], (float*)((char*)scratch + {})}};
  gemm(&c, m0, m1, n0, n1, scratch);
}}
)",
                   template_scratch);
  return s;
}

std::string attention_source(const AttentionKernelSpec& spec) {
  std::string s = kPrelude;
  s += fmt::format(
      "#define ATTENTION_HEADS {}\n#define ATTENTION_KV_HEADS {}\n#define ATTENTION_DIM {}\n#define "
      "ATTENTION_BLOCK_ROWS {}\n"
      "#define ATTENTION_Q_ROW {}\n#define ATTENTION_K_ROW {}\n#define ATTENTION_V_ROW {}\n#define "
      "ATTENTION_OUT_ROW {}\n"
      "#define ATTENTION_CAUSAL {}\n#define ATTENTION_SCALE {:a}f\n",
      spec.heads, spec.kv_heads, spec.dim, spec.block_rows, spec.q_row, spec.k_row, spec.v_row, spec.out_row,
      spec.causal ? 1 : 0, spec.scale);
  s += fmt::format(R"(struct Ctx {{ void* const* b; }};
INLINE float* attention_out(const struct Ctx* c) {{ return c->b[0]; }}
INLINE const float* attention_q(const struct Ctx* c) {{ return (const float*)c->b[1] + {}; }}
INLINE const float* attention_k(const struct Ctx* c) {{ return (const float*)c->b[2] + {}; }}
INLINE const float* attention_v(const struct Ctx* c) {{ return (const float*)c->b[3] + {}; }}
INLINE const int32_t* attention_cu(const struct Ctx* c) {{ return c->b[4]; }}
INLINE const int32_t* attention_units(const struct Ctx* c) {{ return c->b[5]; }}
#include "backends/cpu/templates/attention.c"
void k(const struct KernelArgs* args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {{
  (void)n0, (void)n1;
  const struct Ctx c = {{args->buffers}};
  attention(&c, m0, m1, scratch);
}}
)",
                   spec.q_offset, spec.k_offset, spec.v_offset);
  return s;
}

Floats::Floats(int64_t count, float value)
    : memory_(std::make_unique_for_overwrite<float[]>(static_cast<size_t>(count) + 16)), count_(count) {
  const auto address = reinterpret_cast<uintptr_t>(memory_.get());
  at_ = memory_.get() + (64 - address % 64) % 64 / sizeof(float);
  std::fill_n(at_, count, value);
}

Floats random_floats(int64_t count, uint32_t seed) {
  Floats values(count);
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values[i] = static_cast<float>(static_cast<int32_t>(seed) >> 8) * 0x1p-23F;
  }
  return values;
}

Floats pack_panels(const float* w, int64_t n, int64_t k, int panel) {
  Floats packed((n + panel - 1) / panel * k * panel);
  for (int64_t row = 0; row < n; ++row)
    for (int64_t i = 0; i < k; ++i)
      packed[row / panel * panel * k + i * panel + row % panel] = w[row * k + i];
  return packed;
}

}  // namespace edge_infer::testing
