// Normalization, softmax and gathers.
#include "tests/conformance/case.h"

namespace edge_infer::test {

void add_row_cases(Cases& cases) {
  for (const DType dtype : kAllTypes) {
    for (const int64_t n : {1, 33, 384})
      for (const int parts : {0, 1, 2}) {
        CaseBuilder c("aten.layer_norm", dtype, fmt::format("[T,{}] with {} of weight and bias", n, parts));
        c.reduces(n);
        c.widen_tolerance(4);  // divides by the deviation
        const ValueId x = c.input(dtype, {c.t(), n});
        c.node(
            {x, parts > 0 ? c.constant(dtype, {n}) : kNoValue, parts > 1 ? c.constant(dtype, {n}) : kNoValue},
            {{"normalized_shape", Sizes{n}}, {"eps", 1e-5}});
        add(cases, std::move(c));
        CaseBuilder rms("edge.rms_norm", dtype, fmt::format("[T,{}] weight {}", n, parts > 0));
        rms.reduces(n);
        rms.widen_tolerance(4);
        const ValueId y = rms.input(dtype, {rms.t(), n});
        rms.node({y, parts > 0 ? rms.constant(dtype, {n}) : kNoValue}, {{"eps", 1e-6}});
        if (parts < 2) add(cases, std::move(rms));
      }
    CaseBuilder two("aten.layer_norm", dtype, "[B,5,7] over two dimensions, eps 1e-12");
    two.reduces(35);
    two.widen_tolerance(4);
    const ValueId x = two.input(dtype, {two.b(), 5, 7});
    two.node({x, two.input(dtype, {5, 7}), two.input(dtype, {5, 7})},
             {{"normalized_shape", Sizes{5, 7}}, {"eps", 1e-12}});
    add(cases, std::move(two));

    for (const char* op : {"aten.softmax", "aten.log_softmax"}) {
      for (const int64_t n : {1, 33, 300}) {
        CaseBuilder rows(op, dtype, fmt::format("[T,{}] rows", n));
        rows.reduces(n);
        rows.node({rows.input(dtype, {rows.t(), n})}, {{"dim", int64_t{-1}}});
        add(cases, std::move(rows));
        CaseBuilder columns(op, dtype, fmt::format("[T,{}] columns", n));
        columns.reduces(40);
        columns.node({columns.input(dtype, {columns.t(), n})}, {{"dim", int64_t{0}}});
        add(cases, std::move(columns));
      }
      CaseBuilder middle(op, dtype, "[3,17,5] middle");
      middle.reduces(17);
      middle.node({middle.input(dtype, {3, 17, 5})}, {{"dim", int64_t{1}}});
      add(cases, std::move(middle));
    }

    for (const DType ids : {DType::kI32, DType::kI64}) {
      const std::string of = " by " + std::string(dtype_name(ids));
      for (const bool constant : {true, false}) {
        CaseBuilder table("aten.embedding", dtype, fmt::format("[50,24] constant {}{}", constant, of));
        table.moves_data();
        const ValueId w = constant ? table.constant(dtype, {50, 24}) : table.input(dtype, {50, 24});
        table.node({w, table.input(ids, {table.t()}, index_below(50))});
        add(cases, std::move(table));
      }
      CaseBuilder grid("aten.embedding", dtype, "[3,1] ids [B,5]" + of);
      grid.moves_data();
      grid.node({grid.constant(dtype, {3, 1}), grid.input(ids, {grid.b(), 5}, index_below(3))});
      add(cases, std::move(grid));
      for (const int64_t dim : {0, 1, 2}) {
        CaseBuilder select("aten.index_select", dtype, fmt::format("[4,5,6] along {}{}", dim, of));
        select.moves_data();
        select.node({select.input(dtype, {4, 5, 6}), select.input(ids, {select.t()}, index_below(4))},
                    {{"dim", dim}});
        add(cases, std::move(select));
        CaseBuilder gather("aten.gather", dtype, fmt::format("[5,6,7] along {}{}", dim, of));
        gather.moves_data();
        gather.node({gather.input(dtype, {5, 6, 7}), gather.input(ids, {3, 4, 2}, index_below(5))},
                    {{"dim", dim}});
        add(cases, std::move(gather));
      }
      CaseBuilder rows("aten.index_select", dtype, "[T,33] rows" + of);
      rows.moves_data();
      const ValueId from = rows.input(dtype, {rows.t(), 33});
      rows.node({from, rows.input(ids, {9}, index_below(rows.t()))}, {{"dim", int64_t{0}}});
      add(cases, std::move(rows));
    }
  }
}

}  // namespace edge_infer::test
