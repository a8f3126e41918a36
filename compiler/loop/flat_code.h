// A nest's statements with their expressions and indices flattened, as the evaluator runs them (internal to
// compiler/loop).
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "compiler/loop/loop_nest.h"
#include "compiler/loop/register_code.h"

namespace edge_infer::loop {

struct AxisCode {
  int32_t variable = -1;
  IndexCode begin, extent;
};
struct StmtCode;
using BodyCode = std::vector<StmtCode>;
struct ForCode {
  AxisCode axis;
  BodyCode body;
};
struct LetCode {
  int32_t value;
  ExprCode expr;
};
struct DeclareCode {
  int32_t local;
  IndexCode size;
};
struct StoreLocalCode {
  int32_t local;
  IndexCode index;
  ExprCode expr;
};
struct StoreCode {
  int32_t buffer;
  IndexCode index;
  ExprCode expr;
  std::optional<ExprCode> predicate;
};
struct ReduceCode {
  const Reduce* reduce;
  std::vector<AxisCode> axes;
  ExprCode expr;
  DType dtype;    // of expr
  bool segments;  // in blocks
};
struct GemmCode {
  const Gemm* gemm;
  AxisCode n, k;
  ExprCode a;
  BodyCode body;
};
struct AttentionCode {
  const Attention* attention;
  int32_t work;  // variable
};
struct StmtCode {
  std::variant<ForCode, LetCode, DeclareCode, StoreLocalCode, StoreCode, ReduceCode, GemmCode, AttentionCode>
      node;
};

// Statements of a nest that verifies, flattened once.
class Flattener {
 public:
  explicit Flattener(const LoopNest& nest) : nest_(nest), builder_(nest) {}
  size_t variables() const { return builder_.variables(); }
  const CodeBuilder& builder() const { return builder_; }

  Result<BodyCode> body(const Body& statements);

 private:
  Result<AxisCode> enter(AxisId id);
  Result<StmtCode> flatten(const For& loop);
  Result<StmtCode> flatten(const Let& let);
  Result<StmtCode> flatten(const DeclareLocal& declare);
  Result<StmtCode> flatten(const StoreLocal& store);
  Result<StmtCode> flatten(const Store& store);
  Result<StmtCode> flatten(const Reduce& reduce);
  Result<StmtCode> flatten(const Gemm& gemm);
  Result<StmtCode> flatten(const Attention& attention);

  const LoopNest& nest_;
  CodeBuilder builder_;
  int32_t work_ = -1;
};

}  // namespace edge_infer::loop
