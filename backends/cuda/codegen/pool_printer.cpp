// Sums over the rows of a sequence as CUDA C++: a CTA a sequence, its threads in parts that take blocks of 64
// rows in turn; the blocks' sums are added in the order of the blocks, as a thread alone would.
#include "backends/cuda/codegen/nest_printer.h"

namespace edge_infer::cuda {

namespace {
constexpr int kSegmentBlock = 64;
}

void NestPrinter::print_pool(const loop::For& loop, const PoolPlan& pool) {
  const std::string i = printer_.names().axis_name(loop.axis);
  out_.open_block();
  out_.line("const i32 part = lane / {};", pool.columns);
  out_.line("const i64 {} = lane % {}{};", i, pool.columns,
            pool.vector > 1 ? fmt::format(" * {}", pool.vector) : "");
  in_group_ = false;
  if (pool.vector > 1) vector_ = Vector{loop.axis, pool.vector};
  size_t sums = 0;
  while (sums < loop.body.size() && is_pool(nest_, loop.body[sums], loop.axis))
    pool_sum(std::get<loop::Reduce>(loop.body[sums++].node), pool);
  out_.open("if (part == 0)");
  print_body(loop::Body(loop.body.begin() + static_cast<std::ptrdiff_t>(sums), loop.body.end()));
  out_.close();
  vector_.reset();
  in_group_ = true;
  out_.close();
}

void NestPrinter::pool_sum(const loop::Reduce& reduce, const PoolPlan& pool) {
  const loop::AxisId segment = reduce.axes.front();
  const loop::Axis& axis = nest_.axis(segment);
  const Lane lane = lane_of(nest_.expr(reduce.expr).dtype);
  const std::string type(scalar_type(lane)), zero = number_literal(0, lane);
  const std::string total = fmt::format("v{}", reduce.values.front()), partial = printer_.fresh("a"),
                    first = printer_.fresh("first"), begin = printer_.fresh("block"),
                    sums = printer_.fresh("sums"), end = printer_.index_operand(axis.extent),
                    block_end = printer_.fresh("end");
  const int width = pool.columns * pool.vector;
  const std::string each =
      vector_ ? fmt::format("for (i32 j = 0; j < {}; ++j) ", pool.vector) : std::string();
  const char* j = vector_ ? "j" : "0";
  out_.line("{0}* const {1} = reinterpret_cast<{0}*>(shared + {2});", type, sums, pool.offset);
  declare(type, total, zero);
  // All threads go round as often: they wait for one another.
  out_.open("for (i64 {0} = {1}; {0} < {2}; {0} += {3})", first, printer_.index(axis.begin), end,
            kSegmentBlock * pool.parts);
  out_.line("const i64 {} = {} + part * {};", begin, first, kSegmentBlock);
  out_.line("const i64 {} = part < {} ? min1_i64({} + {}, {}) : {};", block_end, pool.parts, begin,
            kSegmentBlock, end, begin);
  declare(type, partial, zero);
  bounds_[segment] = {begin, block_end};
  out_.line("#pragma unroll 8");
  serial(segment, [&] {
    statement({reduce.expr}, [&] { add_element(reduce, loop::ReduceOp::kSum, lane, element_of(partial)); });
  });
  bounds_.erase(segment);
  const std::string mine = fmt::format("lane * {}", pool.vector), moved = printer_.fresh("t");
  out_.line("Pack<{}, {}> {};", type, pool.vector, moved);
  if (vector_) out_.line("#pragma unroll");
  out_.line("{}{}.v[{}] = {};", each, moved, j, element_of(partial));
  out_.line("if (part < {}) store_vector<{}>({} + {}, {});", pool.parts, pool.vector, sums, mine, moved);
  synchronize();
  out_.open("if (part == 0)");
  out_.open("for (i32 p = 0; p < {} && {} + p * {} < {}; ++p)", pool.parts, first, kSegmentBlock, end);
  out_.line("{} = load_vector<{}>({} + p * {} + {});", moved, pool.vector, sums, width, mine);
  if (vector_) out_.line("#pragma unroll");
  out_.line("{0}{1} = {1} + {2}.v[{3}];", each, element_of(total), moved, j);
  out_.close();
  out_.close();
  synchronize();
  out_.close();
  define(reduce.values.front());
}

}  // namespace edge_infer::cuda
