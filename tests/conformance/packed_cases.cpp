// Attention, ops on packed sequences, rotary embedding.
#include "tests/conformance/case.h"

namespace edge_infer::test {

void add_packed_cases(Cases& cases) {
  {
    CaseBuilder c("edge.packed_positions", DType::kI32, "[T] of B sequences");
    const SymInt t = c.t(), b = c.b();
    c.node({c.input(DType::kI32, {t}), c.input(DType::kI32, {b + 1}, offsets_over(t))});
    add(cases, std::move(c));
  }
  for (const DType dtype : kAllTypes) {
    for (const char* mode : {"mean", "max", "cls", "last", "sum", "mean_sqrt_len", "weighted_mean"})
      for (const int64_t width : {24, 33}) {
        CaseBuilder c("edge.segment_pool", dtype, fmt::format("[T,{}] {}", width, mode));
        c.reduces(16 * 40);
        const SymInt t = c.t(), b = c.b();
        const ValueId x = c.input(dtype, {t, width});
        c.node({x, c.input(DType::kI32, {b + 1}, offsets_over(t))}, {{"mode", std::string(mode)}});
        add(cases, std::move(c));
      }
    for (const auto& [heads, kv_heads, head_dim] :
         {std::array<int64_t, 3>{1, 1, 16}, {3, 3, 32}, {4, 2, 8}, {6, 1, 20}})
      for (const bool causal : {false, true}) {
        CaseBuilder c("edge.varlen_attention", dtype,
                      fmt::format("{} of {} heads of {} causal {}", heads, kv_heads, head_dim, causal));
        c.reduces(16 * 40);
        const SymInt t = c.t(), b = c.b();
        const ValueId q = c.input(dtype, {t, heads * head_dim}), k = c.input(dtype, {t, kv_heads * head_dim}),
                      v = c.input(dtype, {t, kv_heads * head_dim});
        c.node({q, k, v, c.input(DType::kI32, {b + 1}, offsets_over(t))},
               {{"heads", heads}, {"kv_heads", kv_heads}, {"scale", 0.3}, {"causal", causal}});
        add(cases, std::move(c));
      }
    struct Mask {
      const char* label;
      bool causal, is_bool, has_mask;
    };
    for (const Mask& mask : {Mask{"plain", false, false, false},
                             {"causal", true, false, false},
                             {"mask", false, false, true},
                             {"bool mask", false, true, true}}) {
      for (const bool grouped : {false, true}) {
        CaseBuilder c("aten.scaled_dot_product_attention", dtype,
                      fmt::format("[B,4,T,16] {} grouped {}", mask.label, grouped));
        c.reduces(16 * 40);
        const SymInt t = c.t(), b = c.b();
        const int64_t kv_heads = grouped ? 2 : 4;
        const ValueId q = c.input(dtype, {b, 4, t, 16}), k = c.input(dtype, {b, kv_heads, t, 16}),
                      v = c.input(dtype, {b, kv_heads, t, 20});
        const ValueId m =
            !mask.has_mask ? kNoValue : c.input(mask.is_bool ? DType::kBool : dtype, {b, 1, t, t});
        c.node({q, k, v, m}, {{"is_causal", mask.causal}, {"enable_gqa", grouped}});
        add(cases, std::move(c));
      }
    }
    CaseBuilder plain("aten.scaled_dot_product_attention", dtype, "[5,8] [9,8] scale 0.5");
    plain.reduces(16 * 9);
    plain.node({plain.input(dtype, {5, 8}), plain.input(dtype, {9, 8}), plain.input(dtype, {9, 8}), kNoValue},
               {{"scale", 0.5}});
    add(cases, std::move(plain));
    for (const bool interleaved : {false, true}) {
      CaseBuilder rope("edge.rope", dtype, fmt::format("[T,64] interleaved {}", interleaved));
      rope.reduces(64);
      // A frequency an ulp off turns an angle of 99 radians by 99 ulp: in f64 2.2e-14, of elements of 3.
      rope.widen_tolerance(dtype == DType::kF64 ? 12 : 2);
      const SymInt t = rope.t();
      rope.node({rope.input(dtype, {t, 64}), rope.input(DType::kI32, {t}, index_below(100))},
                {{"head_dim", int64_t{16}}, {"interleaved", interleaved}});
      add(cases, std::move(rope));
    }
  }
}

}  // namespace edge_infer::test
