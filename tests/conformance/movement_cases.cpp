// Views, copies, casts and fills: exact.
#include "tests/conformance/case.h"

namespace edge_infer::test {
namespace {

using Ints = std::vector<int64_t>;

void add_view(Cases& cases, const char* op, const char* label, const Sizes& sizes,
              const Attributes& attributes) {
  for (const DType dtype : kAllTypes) {
    CaseBuilder c(op, dtype, label);
    c.moves_data();
    c.node({c.input(dtype, sizes)}, attributes);
    add(cases, std::move(c));
  }
}

// `make` gets T, and gives sizes and attributes.
template <typename F>
void add_symbolic(Cases& cases, const char* op, const char* label, F make) {
  for (const DType dtype : kAllTypes) {
    CaseBuilder c(op, dtype, label);
    c.moves_data();
    const auto [sizes, attributes] = make(c.t());
    c.node({c.input(dtype, sizes)}, attributes);
    add(cases, std::move(c));
  }
}

}  // namespace

void add_movement_cases(Cases& cases) {
  using Pair = std::pair<Sizes, Attributes>;
  add_symbolic(cases, "aten.view", "[T,6] as [T,2,3]",
               [](const SymInt& t) { return Pair{{t, 6}, {{"size", Sizes{t, 2, 3}}}}; });
  add_symbolic(cases, "aten.view", "[T,6] as [T*6]",
               [](const SymInt& t) { return Pair{{t, 6}, {{"size", Sizes{t * 6}}}}; });
  add_view(cases, "aten.view", "[0,3] as [3,0]", {0, 3}, {{"size", Sizes{3, 0}}});
  add_symbolic(cases, "aten.permute", "[T,3,17] by 2,0,1",
               [](const SymInt& t) { return Pair{{t, 3, 17}, {{"dims", Ints{2, 0, 1}}}}; });
  add_view(cases, "aten.permute", "[2,3,4,5] by 3,-3,0,2", {2, 3, 4, 5}, {{"dims", Ints{3, -3, 0, 2}}});
  add_view(cases, "aten.permute", "rank 8", {2, 1, 3, 2, 1, 2, 2, 3},
           {{"dims", Ints{7, 6, 5, 4, 3, 2, 1, 0}}});
  add_symbolic(cases, "aten.transpose", "[T,65]",
               [](const SymInt& t) { return Pair{{t, 65}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}}}; });
  add_view(cases, "aten.transpose", "[3,5,7] 0,-1", {3, 5, 7}, {{"dim0", int64_t{0}}, {"dim1", int64_t{-1}}});
  add_view(cases, "aten.transpose", "[3,5,64] 0,1", {3, 5, 64}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
  add_view(cases, "aten.slice", "[9,5] 1..7 step 2", {9, 5},
           {{"dim", int64_t{0}}, {"start", SymInt(1)}, {"end", SymInt(7)}, {"step", int64_t{2}}});
  add_view(cases, "aten.slice", "[3,70] last -5..", {3, 70}, {{"dim", int64_t{1}}, {"start", SymInt(-5)}});
  add_view(cases, "aten.slice", "[3,7] ..-2", {3, 7}, {{"dim", int64_t{-1}}, {"end", SymInt(-2)}});
  add_view(cases, "aten.slice", "[4] empty", {4}, {{"start", SymInt(3)}, {"end", SymInt(3)}});
  add_symbolic(cases, "aten.slice", "[T,8] columns 2..6", [](const SymInt& t) {
    return Pair{{t, 8}, {{"dim", int64_t{1}}, {"start", SymInt(2)}, {"end", SymInt(6)}}};
  });
  add_symbolic(cases, "aten.slice", "[T,3] ..T-1",
               [](const SymInt& t) { return Pair{{t, 3}, {{"end", t - 1}}}; });
  add_view(cases, "aten.select", "[4,5,6] 1,2", {4, 5, 6}, {{"dim", int64_t{1}}, {"index", SymInt(2)}});
  add_view(cases, "aten.select", "[7] -1", {7}, {{"dim", int64_t{0}}, {"index", SymInt(-1)}});
  add_symbolic(cases, "aten.select", "[T,4] 0,T-1",
               [](const SymInt& t) { return Pair{{t, 4}, {{"dim", int64_t{0}}, {"index", t - 1}}}; });
  add_symbolic(cases, "aten.expand", "[T,1,5] to [T,4,5]",
               [](const SymInt& t) { return Pair{{t, 1, 5}, {{"size", Sizes{t, 4, 5}}}}; });
  add_view(cases, "aten.expand", "[3,1] to [2,3,70]", {3, 1}, {{"size", Sizes{2, 3, 70}}});
  add_view(cases, "aten.expand", "[] to [9]", {}, {{"size", Sizes{9}}});
  add_view(cases, "aten.unsqueeze", "[3,4] -1", {3, 4}, {{"dim", int64_t{-1}}});
  add_view(cases, "aten.unsqueeze", "[] 0", {}, {{"dim", int64_t{0}}});
  add_view(cases, "aten.squeeze", "[1,3,1] all", {1, 3, 1}, {});
  add_view(cases, "aten.squeeze", "[1,3,1] -1", {1, 3, 1}, {{"dim", Ints{-1}}});
  add_view(cases, "aten.split_with_sizes", "[9,5] 2,3,4", {9, 5}, {{"split_sizes", Sizes{2, 3, 4}}});
  add_symbolic(cases, "aten.split_with_sizes", "[T,12] 4,4,4", [](const SymInt& t) {
    return Pair{{t, 12}, {{"split_sizes", Sizes{4, 4, 4}}, {"dim", int64_t{1}}}};
  });
  add_symbolic(cases, "aten.clone", "[T,5]", [](const SymInt& t) { return Pair{{t, 5}, {}}; });

  for (const DType dtype : kAllTypes) {
    CaseBuilder along("aten.cat", dtype, "[T,3] [T,5] [T,1] along 1");
    along.moves_data();
    const SymInt t = along.t();
    along.node({along.input(dtype, {t, 3}), along.input(dtype, {t, 5}), along.input(dtype, {t, 1})},
               {{"dim", int64_t{-1}}});
    add(cases, std::move(along));
    CaseBuilder rows("aten.cat", dtype, "[2,33] [0,33] [3,33] along 0");
    rows.moves_data();
    rows.node({rows.input(dtype, {2, 33}), rows.input(dtype, {0, 33}), rows.input(dtype, {3, 33})});
    add(cases, std::move(rows));
    CaseBuilder twice("aten.cat", dtype, "one operand twice");
    twice.moves_data();
    const ValueId x = twice.input(dtype, {4});
    twice.node({x, x});
    add(cases, std::move(twice));

    for (const DType to : kAllTypes) {
      for (const Fill::Kind kind : {Fill::kNormal, Fill::kSpecial}) {
        CaseBuilder cast("aten._to_copy", dtype,
                         fmt::format("to {} {}", dtype_name(to), kind == Fill::kSpecial));
        cast.node({cast.input(dtype, {cast.t(), 33}, {kind})}, {{"dtype", to}});
        // A cast is exact but for f64 and integers that reach 16 bits through f32.
        const bool through_f32 = (to == DType::kF16 || to == DType::kBF16) && dtype != DType::kF32;
        if (!through_f32) cast.moves_data();
        add(cases, std::move(cast));
      }
    }

    const bool is_float = is_floating(dtype);
    for (const Attribute& value : {Attribute(int64_t{3}), Attribute(-1.75), Attribute(true)}) {
      CaseBuilder full("aten.full", dtype, fmt::format("[T,5] of kind {}", value.index()));
      full.moves_data();
      full.input(DType::kF32, {full.t()});  // gives T its value
      full.node({}, {{"size", Sizes{SymInt::symbol("T"), 5}}, {"fill_value", value}, {"dtype", dtype}});
      add(cases, std::move(full));
    }
    CaseBuilder scalar("aten.full", dtype, "[]");
    scalar.moves_data();
    scalar.node({}, {{"size", Sizes{}},
                     {"fill_value", is_float ? Attribute(0.1) : Attribute(int64_t{7})},
                     {"dtype", dtype}});
    add(cases, std::move(scalar));
    for (const auto& [start, step] : {std::pair<int64_t, int64_t>{0, 1}, {3, 2}}) {
      CaseBuilder range("aten.arange", dtype, fmt::format("{}..T+5 step {}", start, step));
      range.moves_data();
      range.input(DType::kF32, {range.t()});
      range.node(
          {}, {{"start", SymInt(start)}, {"end", SymInt::symbol("T") + 5}, {"step", step}, {"dtype", dtype}});
      add(cases, std::move(range));
    }
    CaseBuilder down("aten.arange", dtype, "10..-3 step -4");
    down.moves_data();
    down.node({}, {{"start", SymInt(10)}, {"end", SymInt(-3)}, {"step", int64_t{-4}}, {"dtype", dtype}});
    add(cases, std::move(down));
  }
}

}  // namespace edge_infer::test
