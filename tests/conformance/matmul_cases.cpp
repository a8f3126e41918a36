// Products of matrices.
#include "tests/conformance/case.h"

namespace edge_infer::test {
namespace {

void add_product(Cases& cases, const char* op, const char* label, const Sizes& a, const Sizes& b, int64_t k) {
  for (const DType dtype : kAllTypes) {
    CaseBuilder c(op, dtype, label);
    c.reduces(16 * k);  // one chain of k terms
    c.node({c.input(dtype, a), c.input(dtype, b)});
    add(cases, std::move(c));
  }
}

}  // namespace

void add_matmul_cases(Cases& cases) {
  add_product(cases, "aten.mm", "[5,7] [7,9]", {5, 7}, {7, 9}, 7);
  add_product(cases, "aten.mm", "[33,130] [130,70]", {33, 130}, {130, 70}, 130);
  add_product(cases, "aten.bmm", "[3,4,5] [3,5,6]", {3, 4, 5}, {3, 5, 6}, 5);
  add_product(cases, "aten.matmul", "[4] [4]", {4}, {4}, 4);
  add_product(cases, "aten.matmul", "[4] [4,5]", {4}, {4, 5}, 4);
  add_product(cases, "aten.matmul", "[3,4] [4]", {3, 4}, {4}, 4);
  add_product(cases, "aten.matmul", "[17,65] [65,34]", {17, 65}, {65, 34}, 65);
  add_product(cases, "aten.matmul", "[2,1,3,8] [5,8,4]", {2, 1, 3, 8}, {5, 8, 4}, 8);
  add_product(cases, "aten.matmul", "[3,0] [0,2]", {3, 0}, {0, 2}, 1);
  for (const DType dtype : kAllTypes) {
    CaseBuilder c("aten.matmul", dtype, "[B,T,33] [33,T]");
    c.reduces(16 * 33);
    const SymInt t = c.t(), b = c.b();
    c.node({c.input(dtype, {b, t, 33}), c.input(dtype, {33, t})});
    add(cases, std::move(c));

    for (const auto& [beta, alpha] : {std::pair{1.0, 1.0}, {0.5, 2.0}, {0.0, 1.0}}) {
      CaseBuilder addmm("aten.addmm", dtype, fmt::format("[9] [T,16] [16,9] beta {} alpha {}", beta, alpha));
      addmm.reduces(16 * 16);
      const SymInt rows = addmm.t();
      addmm.node({addmm.input(dtype, {9}), addmm.input(dtype, {rows, 16}), addmm.input(dtype, {16, 9})},
                 {{"beta", beta}, {"alpha", alpha}});
      add(cases, std::move(addmm));
    }

    for (const auto& [k, n] : {std::pair<int64_t, int64_t>{16, 48}, {33, 70}, {384, 100}, {1, 1}})
      for (const bool bias : {false, true})
        for (const bool constant : {true, false}) {
          CaseBuilder linear("aten.linear", dtype,
                             fmt::format("[T,{}] to {} bias {} constant {}", k, n, bias, constant));
          linear.reduces(16 * k);
          const ValueId x = linear.input(dtype, {linear.t(), k});
          const ValueId w = constant ? linear.constant(dtype, {n, k}) : linear.input(dtype, {n, k});
          const ValueId shift = !bias      ? kNoValue
                                : constant ? linear.constant(dtype, {n})
                                           : linear.input(dtype, {n});
          linear.node({x, w, shift});
          add(cases, std::move(linear));
        }
    CaseBuilder vector("aten.linear", dtype, "[33] to 7");
    vector.reduces(16 * 33);
    vector.node({vector.input(dtype, {33}), vector.constant(dtype, {7, 33}), kNoValue});
    add(cases, std::move(vector));
    CaseBuilder deep("aten.linear", dtype, "[B,T,20] to 33");
    deep.reduces(16 * 20);
    const SymInt rows = deep.t(), batch = deep.b();
    deep.node(
        {deep.input(dtype, {batch, rows, 20}), deep.constant(dtype, {33, 20}), deep.constant(dtype, {33})});
    add(cases, std::move(deep));
  }
}

}  // namespace edge_infer::test
