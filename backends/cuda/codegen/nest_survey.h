// What a nest does, as far as dealing it to threads depends on it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/loop/loop_nest.h"
#include "runtime/base/error.h"

namespace edge_infer::cuda {

struct LocalUse {
  bool in_thread = false;  // declared by an iteration that one thread does
  bool uniform = true;     // all threads of a row do the same to it
  bool along_axes = true;  // always element i in iteration i of one of `axes`
  std::set<loop::AxisId> axes;
};

class NestSurvey {
 public:
  explicit NestSurvey(const loop::LoopNest& nest);

  // That the nest is one loop over a work axis, of statements that a plain kernel has. Errors: kUnsupported.
  Status check() const { return status_; }
  // Whether several threads should share a row: it has lane loops, or reductions that read along the row.
  bool wants_groups() const;
  // Lane loops that begin with sums over the rows of one sequence.
  const std::vector<loop::AxisId>& pools() const { return pools_; }
  // Axes of the row's lane loops and, of its reductions, those that threads share; each once.
  const std::vector<loop::AxisId>& shared_axes() const { return shared_axes_; }
  const LocalUse& local_use(size_t local) const { return locals_[local]; }
  // How many iterations of the axis a thread should take at once for its widest access: 16 bytes of the
  // smallest type. 0: no access along the axis; 1: the loop must not be a vector.
  int vector_limit(loop::AxisId axis) const;
  // At the hint sizes; 0 where data decides.
  int64_t usual_length(loop::AxisId axis) const;

 private:
  void row(const loop::Body& body);
  void thread(const loop::Body& body, loop::AxisId around);
  void expression(loop::ExprId e, loop::AxisId around, bool shared);
  void access_local(int32_t local, const SymInt& index, loop::AxisId around, bool shared);
  void weigh(const loop::Reduce& reduce);
  void limit_vectors(const loop::Body& body, loop::AxisId axis, std::set<std::string>& varying, int& limit,
                     bool& fits) const;
  void limit_access(DType dtype, const SymInt& index, loop::AxisId axis, const std::set<std::string>& varying,
                    int& limit) const;
  void limit_expression(loop::ExprId e, loop::AxisId axis, const std::set<std::string>& varying,
                        int& limit) const;

  const loop::LoopNest& nest_;
  Status status_;
  std::vector<loop::AxisId> shared_axes_;
  std::vector<LocalUse> locals_;
  std::multimap<loop::AxisId, const loop::Body*> lane_bodies_;
  std::multimap<loop::AxisId, loop::ExprId> reduced_;
  std::vector<loop::AxisId> pools_;
  bool has_lanes_ = false, large_locals_ = false;
  bool in_pool_ = false;        // its threads are dealt in another way
  int along_ = 0, across_ = 0;  // row reductions that read along the work axis, and along their own
};

}  // namespace edge_infer::cuda
