// Reductions, arg-reductions and scans.
#include <limits>

#include "tests/conformance/case.h"

namespace edge_infer::test {
namespace {

using Ints = std::vector<int64_t>;

struct Space {
  const char* label;
  bool uses_t;
  Sizes sizes;  // 0 stands for T
  Ints dims;
  int64_t terms;
};
const std::vector<Space>& spaces() {
  static const std::vector<Space> all = {{"[1031] all", false, {1031}, {}, 1031},
                                         {"[] all", false, {}, {}, 1},
                                         {"[T,33] rows", true, {0, 33}, {1}, 33},
                                         {"[T,70] columns", true, {0, 70}, {0}, 40},
                                         {"[T,5,3] 0,2", true, {0, 5, 3}, {0, -1}, 120},
                                         {"[3,17,20] middle", false, {3, 17, 20}, {1}, 17},
                                         {"[4,1,65] all", false, {4, 1, 65}, {}, 260},
                                         {"[2,3,2,3,2,3] 1,3,4", false, {2, 3, 2, 3, 2, 3}, {1, 3, 4}, 18}};
  return all;
}

ValueId operand(CaseBuilder& c, DType dtype, const Space& space, Fill fill) {
  Sizes sizes = space.sizes;
  if (space.uses_t) sizes[0] = c.t();
  return c.input(dtype, sizes, std::move(fill));
}

void add_over_dims(Cases& cases, const char* op, const Attributes& extra, const std::string& extra_label,
                   Fill fill) {
  for (const DType dtype : kAllTypes)
    for (const Space& space : spaces())
      for (const bool keepdim : {false, true}) {
        CaseBuilder c(op, dtype, fmt::format("{} keepdim {} {}", space.label, keepdim, extra_label));
        c.reduces(space.terms);
        const ValueId x = operand(c, dtype, space, fill);
        Attributes attributes = extra;
        attributes.push_back({"dim", space.dims});
        attributes.push_back({"keepdim", keepdim});
        c.node({x}, attributes);
        add(cases, std::move(c));
      }
}

}  // namespace

void add_reduction_cases(Cases& cases) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  add_over_dims(cases, "aten.sum", {}, "", {});
  add_over_dims(cases, "aten.mean", {}, "", {});
  // Factors about 1, and integers that wrap.
  add_over_dims(cases, "aten.prod", {}, "", {Fill::kSmall});
  for (const char* op : {"aten.amax", "aten.amin", "aten.any", "aten.all"}) {
    add_over_dims(cases, op, {}, "", {});
    add_over_dims(cases, op, {}, "special", {Fill::kSpecial});
    add_over_dims(cases, op, {}, "small", {Fill::kSmall});
  }
  for (const double correction : {0.0, 1.0}) {
    const std::string label = fmt::format("correction {}", correction);
    add_over_dims(cases, "aten.var", {{"correction", correction}}, label, {});
  }
  for (const double order : {2.0, 1.0, 0.0, 3.0, kInf, -kInf})
    add_over_dims(cases, "aten.linalg_vector_norm", {{"ord", order}}, fmt::format("order {}", order), {});

  for (const char* op : {"aten.argmax", "aten.argmin"})
    for (const DType dtype : kAllTypes)
      for (const Fill::Kind kind : {Fill::kNormal, Fill::kSpecial, Fill::kSmall})
        for (const Space& space : spaces()) {
          if (space.dims.size() > 1) continue;
          CaseBuilder c(op, dtype, fmt::format("{} fill {}", space.label, static_cast<int>(kind)));
          const ValueId x = operand(c, dtype, space, {kind});
          Attributes attributes = {{"keepdim", kind == Fill::kNormal}};
          if (!space.dims.empty()) attributes.push_back({"dim", space.dims[0]});
          c.node({x}, attributes);
          add(cases, std::move(c));
        }
  for (const DType dtype : kAllTypes)
    for (const Space& space : spaces()) {
      if (space.dims.size() != 1) continue;
      CaseBuilder c("aten.cumsum", dtype, space.label);
      c.reduces(16 * space.terms);  // ascending, not in lanes
      const ValueId x = operand(c, dtype, space, {});
      c.node({x}, {{"dim", space.dims[0]}});
      add(cases, std::move(c));
    }
}

}  // namespace edge_infer::test
