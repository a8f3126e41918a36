#include "tests/conformance/random_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <utility>

namespace edge_infer::test {
namespace {

using Ints = std::vector<int64_t>;
constexpr int64_t kLargestT = 23;
constexpr double kMostMagnitude = 1e6, kMostError = 1e-2;

struct Known {
  ValueId value;
  double magnitude;  // |x| <= magnitude
  double error;      // of the backend against evaluate(); 0: same bits
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed), builder_("random") {
    t_ = builder_.symbol("T", {1, 64}, 16);
    // Inputs that the rest grows from.
    source(DType::kF32, {t_, 8});
    source(DType::kF32, random_sizes());
    source(pick(2) == 0 ? DType::kF64 : DType::kF32, random_sizes());
    source(pick(2) == 0 ? DType::kI64 : DType::kI32, random_sizes());
    source(DType::kBool, random_sizes());
  }

  RandomGraph finish(int nodes) {
    using Step = bool (Generator::*)();
    static constexpr Step kSteps[] = {
        &Generator::binary, &Generator::binary,        &Generator::unary,        &Generator::unary,
        &Generator::scalar, &Generator::safe_division, &Generator::root,         &Generator::clamp,
        &Generator::where,  &Generator::compare,       &Generator::logic,        &Generator::rounding,
        &Generator::reduce, &Generator::reduce,        &Generator::softmax,      &Generator::layer_norm,
        &Generator::matmul, &Generator::linear,        &Generator::view,         &Generator::permute,
        &Generator::slice,  &Generator::expand,        &Generator::squeeze,      &Generator::cat,
        &Generator::split,  &Generator::cast,          &Generator::index_select, &Generator::cumsum,
        &Generator::arg,    &Generator::fill};
    for (int attempt = 0; made_ < nodes && attempt < 60 * nodes; ++attempt)
      (this->*kSteps[pick(std::size(kSteps))])();
    outputs();
    RandomGraph result{Graph("none"), error_bounds_, {}, std::move(constants_), std::move(counts_)};
    Result<Graph> graph = builder_.finish();
    if (!graph) {
      ADD_FAILURE() << "the generator made a wrong graph: " << graph.error().message;
      return result;
    }
    result.graph = *std::move(graph);
    for (const int64_t t : {int64_t{1}, int64_t{5}, kLargestT}) {
      std::vector<HostTensor> inputs;
      for (size_t i = 0; i < fills_.size(); ++i) {
        const TensorType& type = result.graph.value(result.graph.inputs()[i].value).type;
        inputs.push_back(make_tensor(type.dtype, concrete(type.sizes, t), fills_[i],
                                     fills_[i].limit.constant().value_or(0), random_));
      }
      result.input_sets.push_back(std::move(inputs));
    }
    return result;
  }

 private:
  // ---- choices
  // -----------------------------------------------------------------------------------------------------

  size_t pick(size_t n) { return static_cast<size_t>(random_() % n); }
  const TensorType& type(ValueId v) { return builder_.type(v); }
  const TensorType& type(const Known& k) { return type(k.value); }
  static Ints concrete(const Sizes& sizes, int64_t t) {
    Ints result;
    for (const SymInt& s : sizes) result.push_back(s.evaluate({{"T", t}}).value_or(1));
    return result;
  }
  static int64_t elements(const Sizes& sizes) {
    int64_t n = 1;
    for (const int64_t s : concrete(sizes, kLargestT)) n *= s;
    return n;
  }
  // The size's largest value.
  static int64_t most(const SymInt& size) { return size.evaluate({{"T", kLargestT}}).value_or(1); }

  Sizes random_sizes() {
    static constexpr int64_t kSizes[] = {1, 2, 3, 5, 8, 17};
    Sizes sizes;
    const size_t rank = pick(4);
    for (size_t d = 0; d < rank; ++d)
      sizes.push_back(pick(3) == 0 ? t_ : SymInt(kSizes[pick(std::size(kSizes))]));
    return sizes;
  }

  Known source(DType dtype, const Sizes& sizes, Fill fill = {Fill::kSmall}) {
    fills_.push_back(fill);
    const ValueId v = builder_.input(fmt::format("x{}", fills_.size() - 1), dtype, sizes);
    const Known known{v, is_floating(dtype) ? 1.0 : dtype == DType::kBool ? 1.0 : 3.0, 0};
    pool_.push_back(known);
    return known;
  }

  // A value that satisfies the condition; recent ones are likelier, so that graphs grow deep.
  template <typename F>
  std::optional<Known> find(F&& wanted) {
    std::vector<size_t> fitting;
    for (size_t i = 0; i < pool_.size(); ++i)
      if (wanted(pool_[i])) fitting.push_back(i);
    if (fitting.empty()) return std::nullopt;
    const size_t from = pick(2) == 0 ? fitting.size() / 2 : 0;
    return pool_[fitting[from + pick(fitting.size() - from)]];
  }
  std::optional<Known> find_float() {
    return find([&](const Known& k) { return is_floating(type(k).dtype); });
  }
  std::optional<Known> find_ranked(int64_t least) {
    return find([&](const Known& k) { return type(k).rank() >= least; });
  }

  // A second operand of `dtype` that broadcasts with `a`: one of the pool, else a new input.
  Known partner(const Known& a, DType dtype) {
    const Sizes sizes = type(a).sizes;
    const auto broadcasts = [&](const Known& k) {
      const TensorType& other = type(k);
      if (other.dtype != dtype) return false;
      for (size_t i = 0; i < std::min(sizes.size(), other.sizes.size()); ++i) {
        const SymInt &x = sizes[sizes.size() - 1 - i], &y = other.sizes[other.sizes.size() - 1 - i];
        if (!(x == y) && x.constant() != 1 && y.constant() != 1) return false;
      }
      return elements(sizes) * elements(other.sizes) <= 60000 && other.rank() + type(a).rank() <= 8;
    };
    if (pick(3) != 0)
      if (const auto found = find(broadcasts)) return *found;
    Sizes own = sizes;
    for (SymInt& s : own)
      if (pick(3) == 0) s = 1;
    while (!own.empty() && pick(3) == 0) own.erase(own.begin());
    return source(dtype, own);
  }

  // ---- results
  // -----------------------------------------------------------------------------------------------------

  static double eps(DType dtype) { return dtype == DType::kF64 ? 0x1p-52 : 0x1p-23; }

  // Whether results of that magnitude and error are worth keeping; checked before a node is made.
  static bool tame(double magnitude, double error) {
    return magnitude <= kMostMagnitude && error <= kMostError;
  }

  std::vector<ValueId> emit(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const auto values = builder_.op_multi(op, std::move(inputs), std::move(attributes));
    if (const Error* error = builder_.error()) ADD_FAILURE() << op << ": " << error->message;
    ++made_;
    ++counts_[op];
    return values;
  }
  Known keep(ValueId v, double magnitude, double error) {
    pool_.push_back({v, magnitude, error});
    return pool_.back();
  }
  bool one(const std::string& op, std::vector<ValueId> inputs, Attributes attributes, double magnitude,
           double error) {
    if (!tame(magnitude, error)) return false;
    keep(emit(op, std::move(inputs), std::move(attributes))[0], magnitude, error);
    return true;
  }
  // Rounds once where the operands were exact already: sums, products, quotients and roots are then the same
  // bits.
  static double rounded(double error, double magnitude, DType dtype) {
    return error == 0 || !is_floating(dtype) ? error : error + eps(dtype) * magnitude;
  }

  // ---- steps: each makes one node, or nothing
  // ------------------------------------------------------------------------

  bool binary() {
    const auto a = find([&](const Known& k) { return type(k).dtype != DType::kBool; });
    if (!a) return false;
    const DType dtype = type(*a).dtype;
    const Known b = partner(*a, dtype);
    static constexpr const char* kOps[] = {"aten.add", "aten.sub", "aten.mul", "aten.maximum",
                                           "aten.minimum"};
    const std::string op = kOps[pick(std::size(kOps))];
    double magnitude = a->magnitude + b.magnitude, error = a->error + b.error;
    if (op == "aten.mul") {
      magnitude = a->magnitude * b.magnitude;
      error = a->error * b.magnitude + b.error * a->magnitude + a->error * b.error;
    } else if (op.starts_with("aten.m")) {
      magnitude = std::max(a->magnitude, b.magnitude);
      error = std::max(a->error, b.error);
    }
    return one(op, {a->value, b.value}, {}, magnitude, rounded(error, magnitude, dtype));
  }

  bool unary() {
    const auto a = find_float();
    if (!a) return false;
    struct Row {
      const char* op;
      double slope, most, units;  // most 0: as the operand; units of rounding of the result
    };
    static constexpr Row kRows[] = {
        {"aten.neg", 1, 0, 0},     {"aten.abs", 1, 0, 0},     {"aten.relu", 1, 0, 0}, {"aten.tanh", 1, 1, 4},
        {"aten.sigmoid", 1, 1, 8}, {"aten.sin", 1, 1, 4},     {"aten.cos", 1, 1, 4},  {"aten.erf", 1.2, 1, 4},
        {"aten.gelu", 1.2, 0, 12}, {"aten.silu", 1.2, 0, 12}, {"aten.exp", 0, 0, 4}};
    const Row& row = kRows[pick(std::size(kRows))];
    double magnitude = row.most > 0 ? row.most : a->magnitude, slope = row.slope;
    if (row.slope == 0) {
      if (a->magnitude > 6) return false;
      magnitude = slope = std::exp(a->magnitude);
    }
    const std::string_view op = row.op;
    if ((op == "aten.sin" || op == "aten.cos") && a->magnitude > 1000) return false;
    const double error = a->error * slope + row.units * eps(type(*a).dtype) * std::max(magnitude, 1.0);
    return one(row.op, {a->value}, {}, magnitude, row.units == 0 ? a->error : error);
  }

  bool scalar() {
    const auto a = find([&](const Known& k) { return type(k).dtype != DType::kBool; });
    if (!a) return false;
    const DType dtype = type(*a).dtype;
    static constexpr const char* kOps[] = {"aten.add.Scalar", "aten.sub.Scalar", "aten.mul.Scalar"};
    const std::string op = kOps[pick(3)];
    const auto number = static_cast<int64_t>(pick(5)) - 2;
    const double value =
        is_floating(dtype) ? static_cast<double>(number) + 0.25 : static_cast<double>(number);
    const bool product = op == "aten.mul.Scalar";
    const double magnitude = product ? a->magnitude * std::fabs(value) : a->magnitude + std::fabs(value);
    const double error = product ? a->error * std::fabs(value) : a->error;
    Attributes attributes = {{"scalar", number}};
    if (is_floating(dtype)) attributes = {{"scalar", value}};
    return one(op, {a->value}, attributes, magnitude, rounded(error, magnitude, dtype));
  }

  // a / (|b| + 0.5)
  bool safe_division() {
    const auto a = find_float();
    if (!a) return false;
    const DType dtype = type(*a).dtype;
    const Known b = partner(*a, dtype);
    const double below = b.magnitude + 0.5, error = rounded(b.error, below, dtype);
    const double magnitude = 2 * a->magnitude;
    const double total = rounded(2 * a->error + 4 * a->magnitude * error, magnitude, dtype);
    if (!tame(below, error) || !tame(magnitude, total)) return false;
    const Known size = keep(emit("aten.abs", {b.value})[0], b.magnitude, b.error);
    const Known divisor = keep(emit("aten.add.Scalar", {size.value}, {{"scalar", 0.5}})[0], below, error);
    return one("aten.div", {a->value, divisor.value}, {}, magnitude, total);
  }

  // sqrt(|a| + 0.5)
  bool root() {
    const auto a = find_float();
    if (!a) return false;
    const DType dtype = type(*a).dtype;
    const double above = a->magnitude + 0.5, error = rounded(a->error, above, dtype);
    if (!tame(above, error)) return false;
    const Known size = keep(emit("aten.abs", {a->value})[0], a->magnitude, a->error);
    const Known radicand = keep(emit("aten.add.Scalar", {size.value}, {{"scalar", 0.5}})[0], above, error);
    const double magnitude = std::sqrt(above);
    return one("aten.sqrt", {radicand.value}, {}, magnitude, rounded(error, magnitude, dtype));
  }

  bool clamp() {
    const auto a = find_float();
    if (!a) return false;
    Attributes bounds = {{"min", -0.75}};
    if (pick(2) == 0) bounds.push_back({"max", 1.5});
    const bool both = bounds.size() == 2;
    return one("aten.clamp", {a->value}, bounds, both ? 1.5 : std::max(a->magnitude, 0.75), a->error);
  }

  bool where() {
    const auto condition = find([&](const Known& k) { return type(k).dtype == DType::kBool; });
    if (!condition) return false;
    const Known a = partner(*condition, DType::kF32);
    // The second branch broadcasts with both: the first one, scaled.
    const Known b = keep(emit("aten.mul.Scalar", {a.value}, {{"scalar", -0.5}})[0], a.magnitude / 2,
                         rounded(a.error / 2, a.magnitude, DType::kF32));
    return one("aten.where", {condition->value, a.value, b.value}, {}, a.magnitude,
               std::max(a.error, b.error));
  }

  bool compare() {
    const auto a = find([&](const Known& k) { return k.error == 0; });
    if (!a) return false;
    static constexpr const char* kOps[] = {"aten.eq", "aten.ne", "aten.lt", "aten.le", "aten.gt", "aten.ge"};
    const std::string op = kOps[pick(6)];
    if (pick(2) == 0 && type(*a).dtype != DType::kBool)
      return one(op + ".Scalar", {a->value},
                 {{"scalar", is_floating(type(*a).dtype) ? Attribute(0.25) : Attribute(int64_t{1})}}, 1, 0);
    const Known b = partner(*a, type(*a).dtype);
    if (b.error != 0) return false;
    return one(op, {a->value, b.value}, {}, 1, 0);
  }

  bool logic() {
    const auto a = find([&](const Known& k) { return k.error == 0; });
    if (!a) return false;
    if (pick(2) == 0) return one("aten.logical_not", {a->value}, {}, 1, 0);
    const Known b = partner(*a, DType::kBool);
    return one(pick(2) == 0 ? "aten.logical_and" : "aten.logical_or", {a->value, b.value}, {}, 1, 0);
  }

  bool rounding() {
    const auto a = find([&](const Known& k) { return k.error == 0 && is_floating(type(k).dtype); });
    if (!a) return false;
    static constexpr const char* kOps[] = {"aten.floor", "aten.ceil", "aten.round", "aten.sign"};
    return one(kOps[pick(4)], {a->value}, {}, a->magnitude + 1, 0);
  }

  bool reduce() {
    const auto a = find([&](const Known& k) { return type(k).rank() >= 1; });
    if (!a) return false;
    const DType dtype = type(*a).dtype;
    Ints dims;
    int64_t terms = 1;
    for (int64_t d = 0; d < type(*a).rank(); ++d)
      if (pick(2) == 0) dims.push_back(d);
    for (int64_t d = 0; d < type(*a).rank(); ++d)
      if (dims.empty() || std::ranges::count(dims, d) > 0)
        terms *= most(type(*a).sizes[static_cast<size_t>(d)]);
    const Attributes attributes = {{"dim", dims}, {"keepdim", pick(2) == 0}};
    const auto n = static_cast<double>(terms);
    const double rounding = eps(dtype) * (8 + n / 4) * a->magnitude;
    switch (pick(6)) {
      case 0:
        return one("aten.sum", {a->value}, attributes, n * a->magnitude,
                   is_floating(dtype) ? n * a->error + std::sqrt(n) * rounding : 0);
      case 1:
        if (!is_floating(dtype)) return false;
        return one("aten.mean", {a->value}, attributes, a->magnitude, a->error + rounding);
      case 2:
        return one("aten.amax", {a->value}, attributes, a->magnitude, a->error);
      case 3:
        return one("aten.amin", {a->value}, attributes, a->magnitude, a->error);
      case 4:
        return a->error == 0 && one("aten.any", {a->value}, attributes, 1, 0);
      default:
        return a->error == 0 && one("aten.all", {a->value}, attributes, 1, 0);
    }
  }

  bool softmax() {
    const auto a = find([&](const Known& k) {
      return is_floating(type(k).dtype) && type(k).rank() >= 1 && k.magnitude < 1000;
    });
    if (!a) return false;
    const auto dim = static_cast<int64_t>(pick(static_cast<size_t>(type(*a).rank())));
    const double error = 2 * a->error + eps(type(*a).dtype) * (16 + 2 * a->magnitude);
    return one("aten.softmax", {a->value}, {{"dim", dim}}, 1, error);
  }

  bool layer_norm() {
    const auto a = find([&](const Known& k) {
      return is_floating(type(k).dtype) && type(k).rank() >= 1 && type(k).sizes.back().constant() &&
             k.magnitude < 100;
    });
    if (!a) return false;
    const auto n = static_cast<double>(*type(*a).sizes.back().constant());
    // The deviation is at least sqrt(eps) = 0.3.
    const double error =
        10 * a->error * (1 + std::sqrt(n)) + eps(type(*a).dtype) * (8 + n / 4) * 12 * (1 + a->magnitude);
    return one("aten.layer_norm", {a->value, kNoValue, kNoValue},
               {{"normalized_shape", Sizes{type(*a).sizes.back()}}, {"eps", 0.1}}, std::sqrt(n), error);
  }

  double product_error(const Known& a, const Known& b, double k, DType dtype) const {
    return k * (a.error * b.magnitude + b.error * a.magnitude) +
           eps(dtype) * (8 + k) * std::sqrt(k) * a.magnitude * b.magnitude;
  }
  bool matmul() {
    const auto a = find([&](const Known& k) { return type(k).dtype == DType::kF32 && type(k).rank() >= 2; });
    if (!a) return false;
    const SymInt inner = type(*a).sizes.back();
    const auto k = static_cast<double>(most(inner));
    if (inner.constant() == std::nullopt && pick(2) == 0) return false;
    const Known b = source(DType::kF32, {inner, SymInt(static_cast<int64_t>(1 + pick(20)))});
    return one("aten.matmul", {a->value, b.value}, {}, k * a->magnitude * b.magnitude,
               product_error(*a, b, k, DType::kF32));
  }

  bool linear() {
    const auto a = find([&](const Known& k) {
      return type(k).dtype == DType::kF32 && type(k).rank() >= 1 && type(k).sizes.back().constant();
    });
    if (!a) return false;
    const int64_t k = *type(*a).sizes.back().constant(), n = static_cast<int64_t>(1 + pick(40));
    if (k == 0) return false;
    const auto size = static_cast<double>(k);
    const Known w{kNoValue, 1, 0};
    const double magnitude = size * a->magnitude + 1,
                 error = product_error(*a, w, size, DType::kF32) + eps(DType::kF32) * magnitude;
    if (!tame(magnitude, error)) return false;
    const ValueId weight = constant({n, k}), bias = pick(2) == 0 ? kNoValue : constant({n});
    return one("aten.linear", {a->value, weight, bias}, {}, magnitude, error);
  }
  ValueId constant(const Ints& sizes) {
    const std::string name = fmt::format("w{}", constants_.size());
    constants_[name] = make_tensor(DType::kF32, sizes, {Fill::kSmall}, 0, random_);
    return builder_.constant(name, DType::kF32, Sizes(sizes.begin(), sizes.end()));
  }

  bool view() {
    const auto a = find_ranked(1);
    if (!a) return false;
    // The two last dimensions in one, or the last one in two.
    Sizes sizes = type(*a).sizes;
    const auto last = sizes.back().constant();
    if (sizes.size() >= 2 && pick(2) == 0) {
      const SymInt merged = sizes[sizes.size() - 2] * sizes.back();
      sizes.pop_back();
      sizes.back() = merged;
    } else if (last && *last % 2 == 0 && *last > 0) {
      sizes.back() = *last / 2;
      sizes.push_back(2);
    } else {
      sizes.insert(sizes.begin(), 1);
    }
    if (sizes.size() > 6) return false;
    return one("aten.view", {a->value}, {{"size", sizes}}, a->magnitude, a->error);
  }
  bool permute() {
    const auto a = find_ranked(2);
    if (!a) return false;
    Ints dims;
    for (int64_t d = 0; d < type(*a).rank(); ++d) dims.push_back(d);
    std::ranges::shuffle(dims, random_);
    if (pick(3) == 0)
      return one("aten.transpose", {a->value}, {{"dim0", dims[0]}, {"dim1", dims[1]}}, a->magnitude,
                 a->error);
    return one("aten.permute", {a->value}, {{"dims", dims}}, a->magnitude, a->error);
  }
  bool slice() {
    const auto a = find_ranked(1);
    if (!a) return false;
    const auto dim = pick(static_cast<size_t>(type(*a).rank()));
    const auto size = type(*a).sizes[dim].constant();
    if (!size || *size < 2) return false;
    if (pick(3) == 0)
      return one("aten.select", {a->value},
                 {{"dim", static_cast<int64_t>(dim)}, {"index", SymInt(*size - 1)}}, a->magnitude, a->error);
    return one("aten.slice", {a->value},
               {{"dim", static_cast<int64_t>(dim)},
                {"start", SymInt(1)},
                {"end", SymInt(*size)},
                {"step", static_cast<int64_t>(1 + pick(2))}},
               a->magnitude, a->error);
  }
  bool expand() {
    const auto a =
        find([&](const Known& k) { return type(k).rank() <= 4 && elements(type(k).sizes) < 3000; });
    if (!a) return false;
    Sizes sizes = type(*a).sizes;
    for (SymInt& s : sizes)
      if (s.constant() == 1 && pick(2) == 0) s = 3;
    sizes.insert(sizes.begin(), pick(2) == 0 ? t_ : SymInt(2));
    return one("aten.expand", {a->value}, {{"size", sizes}}, a->magnitude, a->error);
  }
  bool squeeze() {
    const auto a = find([&](const Known& k) { return type(k).rank() <= 5; });
    if (!a) return false;
    const Sizes& sizes = type(*a).sizes;
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d].constant() == 1)
        return one("aten.squeeze", {a->value}, {{"dim", Ints{static_cast<int64_t>(d)}}}, a->magnitude,
                   a->error);
    return one("aten.unsqueeze", {a->value}, {{"dim", static_cast<int64_t>(pick(sizes.size() + 1))}},
               a->magnitude, a->error);
  }
  bool cat() {
    const auto a =
        find([&](const Known& k) { return type(k).rank() >= 1 && elements(type(k).sizes) < 5000; });
    if (!a) return false;
    const auto dim = pick(static_cast<size_t>(type(*a).rank()));
    Sizes sizes = type(*a).sizes;
    sizes[dim] = 2;
    const Known b = source(type(*a).dtype, sizes);
    return one("aten.cat", {a->value, b.value, a->value}, {{"dim", static_cast<int64_t>(dim)}},
               std::max(a->magnitude, b.magnitude), std::max(a->error, b.error));
  }
  bool split() {
    const auto a = find_ranked(1);
    if (!a) return false;
    const auto dim = pick(static_cast<size_t>(type(*a).rank()));
    const auto size = type(*a).sizes[dim].constant();
    if (!size || *size < 2) return false;
    for (const ValueId v : emit("aten.split_with_sizes", {a->value},
                                {{"split_sizes", Sizes{1, *size - 1}}, {"dim", static_cast<int64_t>(dim)}}))
      keep(v, a->magnitude, a->error);
    return true;
  }
  bool cast() {
    const auto a = find([&](const Known& k) { return k.error == 0 || is_floating(type(k).dtype); });
    if (!a) return false;
    static constexpr DType kTo[] = {DType::kF32, DType::kF64, DType::kI64, DType::kI32, DType::kBool};
    const DType from = type(*a).dtype, to = kTo[pick(std::size(kTo))];
    // What is not exact goes to floating types only; large integers would overflow i32.
    if (from == to || (a->error != 0 && !is_floating(to))) return false;
    const double magnitude = to == DType::kBool ? 1 : a->magnitude;
    double error = a->error;
    if (error != 0 && to == DType::kF32) error += eps(to) * magnitude;
    return one("aten._to_copy", {a->value}, {{"dtype", to}}, magnitude, error);
  }
  bool index_select() {
    const auto a = find_ranked(1);
    if (!a) return false;
    const auto dim = pick(static_cast<size_t>(type(*a).rank()));
    const SymInt size = type(*a).sizes[dim];
    // In range for T = 1, too.
    const int64_t limit = size.constant() ? *size.constant() : 1;
    if (limit == 0 || elements(type(*a).sizes) > 5000) return false;
    const DType ids = pick(2) == 0 ? DType::kI64 : DType::kI32;
    const Known index = source(ids, {SymInt(static_cast<int64_t>(1 + pick(6)))}, index_below(limit));
    pool_.pop_back();  // its range is its own
    return one("aten.index_select", {a->value, index.value}, {{"dim", static_cast<int64_t>(dim)}},
               a->magnitude, a->error);
  }
  bool cumsum() {
    const auto a = find_ranked(1);
    if (!a) return false;
    const auto dim = pick(static_cast<size_t>(type(*a).rank()));
    const auto n = static_cast<double>(most(type(*a).sizes[dim]));
    const DType dtype = type(*a).dtype;
    const double error = is_floating(dtype) ? n * a->error + eps(dtype) * n * n * a->magnitude : 0;
    return one("aten.cumsum", {a->value}, {{"dim", static_cast<int64_t>(dim)}}, n * a->magnitude, error);
  }
  bool arg() {
    const auto a = find(
        [&](const Known& k) { return k.error == 0 && type(k).rank() >= 1 && type(k).dtype != DType::kBool; });
    if (!a) return false;
    const auto dim = pick(static_cast<size_t>(type(*a).rank()));
    return one(pick(2) == 0 ? "aten.argmax" : "aten.argmin", {a->value}, {{"dim", static_cast<int64_t>(dim)}},
               static_cast<double>(most(type(*a).sizes[dim])), 0);
  }
  bool fill() {
    if (pick(3) != 0) return false;
    if (pick(2) == 0) return one("aten.full", {}, {{"size", Sizes{t_, 3}}, {"fill_value", 0.375}}, 1, 0);
    return one("aten.arange", {}, {{"end", t_}, {"dtype", pick(2) == 0 ? DType::kF32 : DType::kI64}}, 64, 0);
  }

  // ---- outputs
  // -----------------------------------------------------------------------------------------------------

  // Everything that nothing reads, and a few values that are read as well.
  void outputs() {
    std::set<ValueId> read;
    for (const Node& node : builder_.graph().nodes()) read.insert(node.inputs.begin(), node.inputs.end());
    for (const Known& known : pool_) {
      const bool is_input = builder_.graph().value(known.value).producer == kNoNode;
      if (!(read.count(known.value) == 0 && !is_input) && pick(12) != 0) continue;
      builder_.output(known.value);
      error_bounds_.push_back(known.error);
    }
    if (error_bounds_.empty()) {
      builder_.output(pool_.back().value);
      error_bounds_.push_back(pool_.back().error);
    }
  }

  Random random_;
  GraphBuilder builder_;
  SymInt t_;
  std::vector<Fill> fills_;
  std::vector<Known> pool_;
  std::vector<double> error_bounds_;
  TensorMap constants_;
  std::map<std::string, int> counts_;
  int made_ = 0;
};

}  // namespace

RandomGraph make_random_graph(uint64_t seed, int nodes) {
  return Generator(seed).finish(nodes);
}

}  // namespace edge_infer::test
