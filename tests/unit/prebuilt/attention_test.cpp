// edge.varlen_attention and aten.scaled_dot_product_attention against double, and their independence of
// everything but a row's own query and keys.
#include <cmath>
#include <numeric>

#include "tests/unit/prebuilt/kernel_call.h"

namespace edge_infer {
namespace {

struct Shape {
  int64_t heads, kv_heads, dim;
  bool causal = false;
  int64_t width() const { return (heads + 2 * kv_heads) * dim; }  // q, k, v beside each other
};

// One packed batch: q, k, v in one buffer, as a fused projection leaves them.
struct Batch {
  Batch(const std::vector<int64_t>& lengths, Shape s, uint32_t seed)
      : Batch(lengths, s,
              random_floats(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) * s.width(), seed,
                            2.0F)) {}
  Batch(const std::vector<int64_t>& lengths, Shape s, Fenced<float> values)
      : shape(s),
        qkv(std::move(values)),
        cu(static_cast<int64_t>(lengths.size()) + 1),
        units(make_units(lengths)) {
    cu[0] = 0;
    for (size_t i = 0; i < lengths.size(); ++i)
      cu[static_cast<int64_t>(i) + 1] = cu[static_cast<int64_t>(i)] + static_cast<int32_t>(lengths[i]);
    tokens = cu[static_cast<int64_t>(lengths.size())];
  }
  static Fenced<int32_t> make_units(const std::vector<int64_t>& lengths) {
    std::vector<int32_t> list;
    for (size_t i = 0; i < lengths.size(); ++i)
      for (int64_t row = 0; row < lengths[i]; row += 32) {
        list.push_back(static_cast<int32_t>(i));
        list.push_back(static_cast<int32_t>(row));
      }
    Fenced<int32_t> f(static_cast<int64_t>(list.size()));
    std::copy(list.begin(), list.end(), f.begin());
    return f;
  }
  int64_t unit_count() const { return static_cast<int64_t>(units.size()) / 2; }
  int64_t out_width() const { return shape.heads * shape.dim; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(shape.dim)); }
  void run(Kernel& kernel, Fenced<float>& out, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
    const int64_t w = shape.width();
    kernel({out.data(), qkv.data(), qkv.data() + shape.heads * shape.dim,
            qkv.data() + (shape.heads + shape.kv_heads) * shape.dim, cu.data(), units.data()},
           {shape.heads, shape.kv_heads, shape.dim, w, w, w, out_width(), as_integer(scale()),
            shape.causal ? 1 : 0, 32},
           m0, m1, n0, n1);
  }
  Fenced<float> run(Kernel& kernel) {
    Fenced<float> out(tokens * out_width());
    run(kernel, out, 0, unit_count(), 0, shape.heads);
    return out;
  }
  // Worst difference to the double reference, relative to the largest value a weighted mean could take.
  double worst(const Fenced<float>& out) const {
    double worst = 0;
    const int64_t w = shape.width(), d = shape.dim;
    for (int64_t s = 0; s + 1 < static_cast<int64_t>(cu.size()); ++s)
      for (int64_t h = 0; h < shape.heads; ++h) {
        const int64_t kv = h / (shape.heads / shape.kv_heads);
        for (int64_t i = cu[s]; i < cu[s + 1]; ++i) {
          const int64_t end = shape.causal ? i + 1 : cu[s + 1];
          std::vector<double> p;
          double top = -INFINITY, total = 0;
          for (int64_t j = cu[s]; j < end; ++j) {
            double dot = 0;
            for (int64_t e = 0; e < d; ++e)
              dot += static_cast<double>(qkv[i * w + h * d + e]) *
                     static_cast<double>(qkv[j * w + (shape.heads + kv) * d + e]);
            p.push_back(dot * scale());
            top = std::max(top, p.back());
          }
          for (double& x : p) total += x = std::exp(x - top);
          for (int64_t e = 0; e < d; ++e) {
            double sum = 0;
            for (int64_t j = cu[s]; j < end; ++j)
              sum += p[static_cast<size_t>(j - cu[s])] *
                     static_cast<double>(qkv[j * w + (shape.heads + shape.kv_heads + kv) * d + e]);
            const double error =
                std::fabs(sum / total - static_cast<double>(out[i * out_width() + h * d + e]));
            if (!(error <= worst)) worst = error;
          }
        }
      }
    return worst;
  }

  Shape shape;
  Fenced<float> qkv;
  Fenced<int32_t> cu, units;
  int64_t tokens = 0;
};

class Attention : public EveryIsa {};

TEST_P(Attention, is_softmax_of_every_length_and_head_size) {
  Kernel kernel(isa(), "edge.varlen_attention.f32");
  const std::vector<int64_t> lengths = {1, 0, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0, 100, 129, 300, 0};
  for (const Shape shape : {Shape{2, 2, 8},
                            {2, 1, 20},
                            {2, 2, 32},
                            {2, 1, 64},
                            {1, 1, 96},
                            {1, 1, 128},
                            {1, 1, 1},
                            {2, 2, 32, true},
                            {4, 1, 20, true}}) {
    Batch batch(lengths, shape, 3);
    EXPECT_LT(batch.worst(batch.run(kernel)), 2e-6)
        << "head size " << shape.dim << " causal " << shape.causal;
  }
}

TEST_P(Attention, gives_a_sequence_the_same_bits_alone_and_in_any_batch) {
  Kernel kernel(isa(), "edge.varlen_attention.f32");
  for (const bool causal : {false, true}) {
    const Shape shape = {3, 3, 32, causal};
    const std::vector<int64_t> lengths = {70, 1, 128, 0, 33, 200, 16};
    Batch batch(lengths, shape, 5);
    const auto together = batch.run(kernel);
    for (size_t s = 0; s < lengths.size(); ++s) {
      const int64_t begin = batch.cu[static_cast<int64_t>(s)];
      Fenced<float> own(lengths[s] * shape.width());
      std::copy_n(batch.qkv.data() + begin * shape.width(), own.size(), own.data());
      Batch alone({lengths[s]}, shape, std::move(own));
      const auto out = alone.run(kernel);
      EXPECT_EQ(
          first_difference<float>(out.copy(), std::span(&together[begin * batch.out_width()], out.size())),
          "")
          << "sequence " << s << " causal " << causal;
    }
  }
}

TEST_P(Attention, writes_exactly_its_units_and_heads_and_the_same_bits_from_any_split) {
  Kernel kernel(isa(), "edge.varlen_attention.f32");
  Batch batch({70, 33, 128}, {6, 3, 20}, 6);
  const auto whole = batch.run(kernel);
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    Fenced<float> out(batch.tokens * batch.out_width());
    const int64_t m0 = random() % static_cast<unsigned>(batch.unit_count());
    const int64_t m1 = m0 + 1 + random() % static_cast<unsigned>(batch.unit_count() - m0);
    const int64_t n0 = random() % 6, n1 = n0 + 1 + random() % static_cast<unsigned>(6 - n0);
    batch.run(kernel, out, m0, m1, n0, n1);
    for (int64_t unit = 0; unit < batch.unit_count(); ++unit) {
      const int64_t s = batch.units[2 * unit], first = batch.cu[s] + batch.units[2 * unit + 1];
      for (int64_t row = first; row < std::min<int64_t>(first + 32, batch.cu[s + 1]); ++row)
        for (int64_t e = 0; e < batch.out_width(); ++e) {
          const bool inside = unit >= m0 && unit < m1 && e / 20 >= n0 && e / 20 < n1;
          ASSERT_EQ(std::bit_cast<uint32_t>(out[row * batch.out_width() + e]),
                    inside ? std::bit_cast<uint32_t>(whole[row * batch.out_width() + e]) : 0xffffffffU);
        }
    }
  }
}

TEST_P(Attention, keeps_nan_of_other_sequences_and_of_hidden_tokens_out) {
  Kernel kernel(isa(), "edge.varlen_attention.f32");
  const Shape shape = {2, 2, 32, true};
  Batch clean({40, 100, 20}, shape, 9);
  const auto want = clean.run(kernel);
  // Sequences 0 and 2, and the tokens after the 70th of sequence 1.
  Batch dirty({40, 100, 20}, shape, 9);
  for (int64_t t = 0; t < dirty.tokens; ++t)
    if (t < 40 || t >= 40 + 70)
      for (int64_t e = 0; e < shape.width(); ++e)
        dirty.qkv[t * shape.width() + e] = e % 2 == 0 ? NAN : INFINITY;
  const auto out = dirty.run(kernel);
  const int64_t first = 40 * clean.out_width(), count = 70 * clean.out_width();
  EXPECT_EQ(first_difference<float>(std::span(&out[first], static_cast<size_t>(count)),
                                    std::span(&want[first], static_cast<size_t>(count))),
            "");
  EXPECT_TRUE(std::isnan(out[0])) << "a sequence's own NaN must show";
}

TEST_P(Attention, keeps_nan_and_infinity_of_one_query_to_its_row) {
  Kernel kernel(isa(), "edge.varlen_attention.f32");
  const Shape shape = {1, 1, 16};
  Batch clean({90}, shape, 4), dirty({90}, shape, 4);
  for (int64_t e = 0; e < 16; ++e)
    dirty.qkv[33 * shape.width() + e] = std::bit_cast<float>(0xffffffffU),
                                   dirty.qkv[50 * shape.width() + e] = 1e30F;
  const auto want = clean.run(kernel), out = dirty.run(kernel);
  for (int64_t t = 0; t < 90; ++t)
    for (int64_t e = 0; e < 16; ++e) {
      const float x = out[t * 16 + e];
      if (t == 33 || t == 50) {
        ASSERT_EQ(std::isnan(x), t == 33) << t;
      } else {
        ASSERT_EQ(x, want[t * 16 + e]) << t;
      }
    }
}

TEST_P(Attention, has_the_same_bits_where_keys_do_not_fit_into_scratch) {
  Kernel kernel(isa(), "edge.varlen_attention.f32");
  // Causal, so that the first rows of the long sequence see what a short one sees.
  const Shape shape = {1, 1, 128, true};
  Batch longer({1100}, shape, 8);
  const auto all = longer.run(kernel);
  Fenced<float> head(150 * shape.width());
  std::copy_n(longer.qkv.data(), head.size(), head.data());
  Batch shorter({150}, shape, std::move(head));
  const auto first = shorter.run(kernel);
  EXPECT_EQ(first_difference<float>(first.copy(), std::span(&all[0], first.size())), "");
  EXPECT_LT(longer.worst(all), 2e-6);
}

TEST_P(Attention, takes_heads_wider_than_a_scratch_block) {
  Kernel kernel(isa(), "edge.varlen_attention.f32");
  Batch batch({70, 300}, {1, 1, 1300}, 2);
  EXPECT_LT(batch.worst(batch.run(kernel)), 1e-5);
}

TEST_P(Attention, survives_scores_that_rise_from_block_to_block) {
  Kernel kernel(isa(), "edge.varlen_attention.f32");
  const Shape shape = {1, 1, 8};
  Batch batch({400}, shape, 2);
  for (int64_t t = 0; t < 400; ++t)
    for (int64_t e = 0; e < 8; ++e) {
      batch.qkv[t * 24 + e] = 1.0F;
      batch.qkv[t * 24 + 8 + e] = static_cast<float>(t) * (t % 64 < 32 ? 1.0F : -1.0F);
    }
  // Scores reach 1,173, where one ulp is 1.2e-4, and softmax turns absolute errors into relative ones.
  EXPECT_LT(batch.worst(batch.run(kernel)), 3e-5);
}

EDGE_EVERY_ISA(Attention);

class DenseAttention : public EveryIsa {};

TEST_P(DenseAttention, is_softmax_with_every_kind_of_mask) {
  Kernel kernel(isa(), "aten.scaled_dot_product_attention.f32");
  const int64_t batch = 2, heads = 4, kv_heads = 2, l = 70, s = 150, e = 24, ev = 40;
  auto q = random_floats(batch * heads * l * e, 1, 2), k = random_floats(batch * kv_heads * s * e, 2, 2);
  auto v = random_floats(batch * kv_heads * s * ev, 3);
  auto additive = random_floats(heads * l * s, 4, 3);
  Fenced<uint8_t> boolean(batch * l * s);
  std::mt19937 random(5);
  for (uint8_t& x : boolean) x = random() % 3 != 0;
  for (int64_t j = 0; j < s; ++j) boolean[(l + 3) * s + j] = 0;  // batch 1, row 3: sees nothing
  for (int64_t j = 0; j < s; ++j) additive[(2 * l + 7) * s + j] = j % 2 == 0 ? -INFINITY : 0.0F;
  for (int form = 0; form < 4; ++form) {  // none, additive, boolean, causal
    const bool causal = form == 3;
    const int64_t type = form == 3 ? 0 : form;
    // Additive: [heads, l, s] for every batch. Boolean: [batch, 1, l, s].
    const std::vector<int64_t> strides =
        form == 1 ? std::vector<int64_t>{0, l * s, s, 1} : std::vector<int64_t>{l * s, 0, s, 1};
    void* mask = form == 1   ? static_cast<void*>(additive.data())
                 : form == 2 ? static_cast<void*>(boolean.data())
                             : nullptr;
    const double scale = 0.3;
    const std::vector<int64_t> integers = {
        batch,          heads, kv_heads,   l,          s,          e,         ev, as_integer(scale),
        causal ? 1 : 0, type,  strides[0], strides[1], strides[2], strides[3]};
    Fenced<float> out(batch * heads * l * ev), split(batch * heads * l * ev);
    kernel({out.data(), q.data(), k.data(), v.data(), mask}, integers, 0, batch * heads * l);
    for (const auto& [m0, m1] :
         {std::pair<int64_t, int64_t>{0, 5}, {5, 91}, {91, 92}, {92, batch * heads * l}})
      kernel({split.data(), q.data(), k.data(), v.data(), mask}, integers, m0, m1);
    EXPECT_EQ(first_difference<float>(out.copy(), split.copy()), "") << "form " << form;
    double worst = 0;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < l; ++i) {
          const int64_t kv = b * kv_heads + h / 2;
          std::vector<double> p(static_cast<size_t>(s), -INFINITY);
          double top = -INFINITY, total = 0;
          for (int64_t j = 0; j < (causal ? i + 1 : s); ++j) {
            double dot = 0;
            for (int64_t d = 0; d < e; ++d)
              dot += static_cast<double>(q[((b * heads + h) * l + i) * e + d]) *
                     static_cast<double>(k[(kv * s + j) * e + d]);
            dot *= scale;
            if (form == 1) dot += static_cast<double>(additive[(h * l + i) * s + j]);
            if (form == 2 && boolean[(b * l + i) * s + j] == 0) dot = -INFINITY;
            p[static_cast<size_t>(j)] = dot;
            top = std::max(top, dot);
          }
          for (double& x : p) total += x = top == -INFINITY ? 0.0 : std::exp(x - top);
          for (int64_t d = 0; d < ev; ++d) {
            double sum = 0;
            for (int64_t j = 0; j < s; ++j)
              sum += p[static_cast<size_t>(j)] * static_cast<double>(v[(kv * s + j) * ev + d]);
            const double want = total == 0 ? 0 : sum / total;
            const double error =
                std::fabs(want - static_cast<double>(out[((b * heads + h) * l + i) * ev + d]));
            if (!(error <= worst)) worst = error;
          }
        }
    EXPECT_LT(worst, 2e-6) << "form " << form;
  }
}

EDGE_EVERY_ISA(DenseAttention);

}  // namespace
}  // namespace edge_infer
