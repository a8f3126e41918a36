#include "backends/cuda/codegen/nest_plan.h"

#include <algorithm>
#include <set>
#include <variant>

#include "backends/cuda/codegen/nest_survey.h"
#include "compiler/codegen/index_text.h"
#include "runtime/symbolic/sym_node.h"

namespace edge_infer::cuda {

using loop::AxisId;
using loop::AxisKind;

namespace {

constexpr int kWarp = 32;
constexpr int kMostThreads = 512;
// Elements of a row that one thread holds: more threads share longer rows.
constexpr int kMostParts = 8;
constexpr int64_t kMostHeld = 32;
constexpr int64_t kMostHeldOfAll = 96;
constexpr int64_t kMostRounds = 32;
constexpr int64_t kMostPrivate = 64;

bool is_divisible(const SymInt& e, int64_t divisor, std::string_view axis) {
  const Polynomial p = to_polynomial(e);
  if (p.constant % divisor != 0) return false;
  return std::ranges::all_of(p.terms, [&](const SymTerm& term) {
    if (term.coefficient % divisor == 0) return true;
    return std::ranges::any_of(term.factors, [&](const SymInt& factor) {
      const SymNode& node = factor.node();
      if (node.kind == SymKind::kSymbol) return node.name == axis;
      if (node.kind != SymKind::kMod) return false;
      const auto by = node.args[1].constant();
      return by && *by % divisor == 0 && is_divisible(node.args[0], divisor, axis);
    });
  });
}

class Planner {
 public:
  Planner(const loop::LoopNest& nest, const CudaTarget& target)
      : nest_(nest), target_(target), survey_(nest) {}

  Result<NestPlan> plan() {
    EDGE_INFER_RETURN_IF_ERROR(survey_.check());
    plan_.rows = survey_.wants_groups();
    plan_.columns = plan_.rows ? -1 : nest_.split_columns();
    if (plan_.rows) choose_group();
    if (plan_.rows) choose_pools();
    choose_spreads();
    EDGE_INFER_RETURN_IF_ERROR(place_locals());
    return plan_;
  }

 private:
  std::optional<int64_t> length(AxisId id) const {
    const loop::Axis& axis = nest_.axis(id);
    return axis.begin.constant() == 0 ? axis.extent.constant() : std::nullopt;
  }

  void choose_group() {
    int64_t longest = 1;
    for (const AxisId axis : survey_.shared_axes()) longest = std::max(longest, survey_.usual_length(axis));
    plan_.group = kWarp;
    while (plan_.group < kMostThreads && longest > kMostHeld * plan_.group) plan_.group *= 2;
    plan_.threads = std::max(plan_.threads, plan_.group);
    // Groups are single warps or whole CTAs: only these can wait for one another.
    if (plan_.group > kWarp) plan_.group = plan_.threads;
  }

  // Few rows, each of them long work: as many threads as the blocks of a usual sequence can use.
  void choose_pools() {
    for (const AxisId axis : survey_.pools()) {
      const auto n = length(axis);
      if (!n || *n < 1) continue;
      PoolPlan pool;
      pool.vector = std::max(survey_.vector_limit(axis), 1);
      while (*n % pool.vector != 0) pool.vector /= 2;
      if (*n / pool.vector > kMostThreads) continue;
      pool.columns = static_cast<int>(*n / pool.vector);
      while (pool.parts < kMostParts && pool.columns * pool.parts * 2 <= kMostThreads) pool.parts *= 2;
      plan_.threads = std::max(plan_.threads, (pool.columns * pool.parts + kWarp - 1) / kWarp * kWarp);
      pool.offset = plan_.row_shared_bytes;
      plan_.row_shared_bytes += *n * pool.parts * int64_t{sizeof(double)};
      plan_.pools[axis] = pool;
    }
    if (!plan_.pools.empty()) plan_.group = plan_.threads;
  }

  // Loops of one length get one width: an element of a local then always belongs to the same thread.
  void choose_spreads() {
    std::map<int64_t, int> limits;
    std::vector<AxisId> axes = survey_.shared_axes();
    if (!plan_.rows) axes.clear();
    if (plan_.columns >= 0) axes.push_back(plan_.columns);
    for (const AxisId axis : axes)
      if (const auto n = length(axis)) {
        const auto [known, added] = limits.emplace(*n, 0);
        const int limit = survey_.vector_limit(axis);
        // 1: the loop must not be a vector; 0: it does not care.
        known->second = known->second == 1 || limit == 1 ? 1 : std::max(known->second, limit);
      }
    for (const AxisId axis : axes) {
      const auto n = length(axis);
      plan_.spreads[axis] = n ? spread(*n, limits.at(*n)) : Spread{};
    }
  }
  Spread spread(int64_t n, int limit) const {
    if (n <= 0) return {};
    Spread best;
    int64_t least = INT64_MAX;
    for (int vector = std::max(limit, 1); vector >= 1; vector /= 2) {
      if (n % vector != 0) continue;
      const int64_t turn = int64_t{plan_.group} * vector, rounds = (n + turn - 1) / turn;
      // Without groups the widest one is the best.
      const int64_t held = plan_.rows ? rounds * vector : 0;
      if (held >= least) continue;
      least = held;
      best = {.vector = vector, .rounds = rounds <= kMostRounds ? rounds : 0, .whole = n % turn == 0};
    }
    return best;
  }

  Status place_locals() {
    int64_t held = 0;
    for (size_t i = 0; i < nest_.locals.size(); ++i) {
      const loop::Local& local = nest_.locals[i];
      const LocalUse& use = survey_.local_use(i);
      LocalPlan placed;
      const auto size = local.size.constant();
      placed.elements = size ? std::max<int64_t>(*size, 1) : -1;
      const int64_t mine = plan_.rows ? held_elements(use, size) : 0;
      if (!plan_.rows || use.in_thread) {
        placed.place = Place::kPrivate;
        if (placed.elements < 0 || placed.elements > kMostPrivate * 16)
          return fail(ErrorCode::kUnsupported, "too large: a local of {} elements for each thread",
                      local.size.str());
      } else if (mine > 0 && held + mine <= kMostHeldOfAll) {
        placed.place = Place::kRegisters;
        placed.elements = mine;
        held += mine;
      } else if (use.uniform && placed.elements > 0 && placed.elements <= kMostPrivate) {
        placed.place = Place::kPrivate;
      } else {
        placed.place = Place::kShared;
        if (!size) placed.elements = std::max<int64_t>(local.size.range(nest_.symbols).hi, 1);
        if (placed.elements > target_.shared_bytes)
          return fail(ErrorCode::kUnsupported, "too large: a local of {} elements", local.size.str());
        placed.offset = plan_.row_shared_bytes;
        plan_.row_shared_bytes += (placed.elements * dtype_size(local.dtype) + 15) / 16 * 16;
      }
      plan_.locals.push_back(placed);
    }
    // Fewer rows a CTA where they need much.
    const auto most = static_cast<int64_t>(target_.shared_bytes) - 1'024;
    while (plan_.group == kWarp && plan_.threads > kWarp &&
           plan_.row_shared_bytes * plan_.rows_per_block() > most / 2)
      plan_.threads /= 2;
    if (plan_.row_shared_bytes * plan_.rows_per_block() > most)
      return fail(ErrorCode::kUnsupported, "too large: locals of {} bytes a row, expected at most {}",
                  plan_.row_shared_bytes, most);
    return {};
  }
  // Elements of a local that a thread holds where all its accesses follow the same deal; else 0.
  int64_t held_elements(const LocalUse& use, std::optional<int64_t> size) const {
    if (!use.along_axes || use.axes.empty() || !size) return 0;
    for (const AxisId axis : use.axes) {
      const auto found = plan_.spreads.find(axis);
      if (found == plan_.spreads.end() || length(axis) != *size || found->second.rounds == 0) return 0;
    }
    const Spread& spread = plan_.spreads.at(*use.axes.begin());
    return spread.rounds * spread.vector;
  }

  const loop::LoopNest& nest_;
  const CudaTarget& target_;
  NestSurvey survey_;
  NestPlan plan_;
};

}  // namespace

bool is_vector_access(const SymInt& index, std::string_view axis, int vector,
                      const std::function<bool(std::string_view)>& varies) {
  const auto step = codegen::lane_step(index, axis, vector,
                                       [&](std::string_view name) { return name == axis || varies(name); });
  return step && step->constant() == 1 && is_divisible(index, vector, axis);
}

Result<NestPlan> plan_nest(const loop::LoopNest& nest, const CudaTarget& target) {
  return Planner(nest, target).plan();
}

int held_registers(const loop::LoopNest& nest, const NestPlan& plan) {
  int64_t registers = 0;
  for (size_t i = 0; i < plan.locals.size(); ++i)
    if (plan.locals[i].place == Place::kRegisters)
      registers += plan.locals[i].elements * (dtype_size(nest.locals[i].dtype) > 4 ? 2 : 1);
  return static_cast<int>(registers);
}

}  // namespace edge_infer::cuda
