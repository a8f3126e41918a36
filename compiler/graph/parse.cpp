#include "compiler/graph/parse.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "compiler/graph/op_table.h"

namespace edge_infer {
namespace {

constexpr size_t kMaxText = size_t{16} << 20;
constexpr size_t kMaxList = 4096;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Graph> parse() {
    if (text_.size() > kMaxText)
      return fail(ErrorCode::kResourceExhausted, "the text has {} bytes, at most {} are allowed",
                  text_.size(), kMaxText);
    Graph constants_only;
    while (accept_word("const")) EDGE_INFER_RETURN_IF_ERROR(parse_constant(constants_only));
    EDGE_INFER_RETURN_IF_ERROR(expect_word("graph"));
    EDGE_INFER_RETURN_IF_ERROR(expect("@"));
    EDGE_INFER_ASSIGN(std::string name, parse_name());
    Graph graph(std::move(name));
    for (const GraphConstant& constant : constants_only.constants()) {
      const Value& value = constants_only.value(constant.value);
      graph.add_constant(value.name, value.type, constant.kind);
    }
    EDGE_INFER_RETURN_IF_ERROR(parse_inputs(graph));
    if (accept_word("symbols")) EDGE_INFER_RETURN_IF_ERROR(parse_symbols(graph));
    EDGE_INFER_RETURN_IF_ERROR(expect("{"));
    while (!accept_word("return")) EDGE_INFER_RETURN_IF_ERROR(parse_node(graph));
    EDGE_INFER_RETURN_IF_ERROR(parse_outputs(graph));
    EDGE_INFER_RETURN_IF_ERROR(expect("}"));
    skip_space();
    if (at_ < text_.size()) return error("the end of the text");
    return graph;
  }

 private:
  // --- Characters ---

  std::string where(size_t at) const {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < text_.size(); ++i) {
      ++column;
      if (text_[i] == '\n') ++line, column = 1;
    }
    return fmt::format("line {} column {}", line, column);
  }
  std::unexpected<Error> error(std::string_view expected) const {
    std::string found = "the end";
    if (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      found = c >= 0x20 && c < 0x7f ? fmt::format("\"{}\"", text_[at_]) : fmt::format("byte {:#04x}", c);
    }
    return fail(ErrorCode::kInvalidArgument, "{}: found {}, expected {}", where(at_), found, expected);
  }
  template <typename T>
  Result<T> located(Result<T> result, size_t at) const {
    if (!result) return fail_with_context(result.error(), where(at));
    return result;
  }

  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }
  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  Status expect(std::string_view token) {
    if (!accept(token)) return error(fmt::format("\"{}\"", token));
    return {};
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    if (at_ + word.size() < text_.size() && is_name_char(text_[at_ + word.size()])) return false;
    at_ += word.size();
    return true;
  }
  Status expect_word(std::string_view word) {
    if (!accept_word(word)) return error(fmt::format("\"{}\"", word));
    return {};
  }
  std::string_view peek_word() {
    skip_space();
    size_t end = at_;
    while (end < text_.size() && is_name_char(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  Result<std::string> parse_quoted() {
    EDGE_INFER_RETURN_IF_ERROR(expect("\""));
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        if (c == 'x') {
          int byte = 0;
          const char* digits = text_.data() + at_;
          if (text_.size() - at_ < 2 || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2)
            return error("two hexadecimal digits");
          c = static_cast<char>(byte);
          at_ += 2;
        } else if (c != '"' && c != '\\') {
          --at_;
          return error("one of the escapes \\\\ \\\" \\x");
        }
      }
      out += c;
    }
    EDGE_INFER_RETURN_IF_ERROR(expect_here('"'));
    return out;
  }
  Status expect_here(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return error(fmt::format("'{}'", c));
    ++at_;
    return {};
  }

  // A name right behind its sigil: plain or quoted.
  Result<std::string> parse_name() {
    if (at_ < text_.size() && text_[at_] == '"') return parse_quoted();
    const size_t start = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    if (at_ == start) return error("a name");
    return std::string(text_.substr(start, at_ - start));
  }

  Result<int64_t> parse_integer() {
    skip_space();
    int64_t value = 0;
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc{}) return error("an integer of 64 bits");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  // --- Sizes and types ---

  // Up to the comma or bracket that ends it; `//` divides here.
  Result<SymInt> parse_size() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    const size_t start = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '(') ++depth;
      if (depth == 0 && (c == ',' || c == ']' || c == ')' || c == '}' || c == '=')) break;
      if (c == ')') --depth;
    }
    return located(SymInt::parse(text_.substr(start, at_ - start)), start);
  }

  template <typename T, typename F>
  Result<std::vector<T>> parse_list(F&& item) {
    EDGE_INFER_RETURN_IF_ERROR(expect("["));
    std::vector<T> items;
    if (accept("]")) return items;
    do {
      if (items.size() >= kMaxList)
        return fail(ErrorCode::kResourceExhausted, "{}: a list of more than {} items", where(at_), kMaxList);
      EDGE_INFER_ASSIGN(T value, item());
      items.push_back(std::move(value));
    } while (accept(","));
    EDGE_INFER_RETURN_IF_ERROR(expect("]"));
    return items;
  }
  Result<std::vector<SymInt>> parse_sizes() {
    return parse_list<SymInt>([this] { return parse_size(); });
  }

  Result<DType> parse_dtype_name() {
    const std::string_view word = peek_word();
    const auto dtype = parse_dtype(word);
    if (!dtype) return error("an element type (f32, i64, ...)");
    at_ += word.size();
    return *dtype;
  }

  Result<TensorType> parse_type() {
    EDGE_INFER_ASSIGN(const DType dtype, parse_dtype_name());
    const size_t start = at_;
    EDGE_INFER_ASSIGN(std::vector<SymInt> sizes, parse_sizes());
    if (static_cast<int64_t>(sizes.size()) > kMaxRank)
      return fail(ErrorCode::kInvalidArgument, "{}: {} dimensions, at most {} are allowed", where(start),
                  sizes.size(), kMaxRank);
    return TensorType{dtype, std::move(sizes)};
  }

  // --- Declarations ---

  Status parse_constant(Graph& graph) {
    EDGE_INFER_RETURN_IF_ERROR(expect("$"));
    const size_t start = at_;
    EDGE_INFER_ASSIGN(std::string name, parse_name());
    if (graph.find_constant(name))
      return fail(ErrorCode::kInvalidArgument, "{}: constant ${} is declared twice", where(start), name);
    EDGE_INFER_RETURN_IF_ERROR(expect(":"));
    EDGE_INFER_ASSIGN(TensorType type, parse_type());
    const ConstantKind kind = accept_word("buffer") ? ConstantKind::kBuffer : ConstantKind::kParameter;
    graph.add_constant(std::move(name), std::move(type), kind);
    return {};
  }

  Status check_new(const Graph& graph, const std::string& name, size_t at) const {
    if (graph.find(name))
      return fail(ErrorCode::kInvalidArgument, "{}: %{} is defined twice", where(at), name);
    return {};
  }

  Status parse_inputs(Graph& graph) {
    EDGE_INFER_RETURN_IF_ERROR(expect("("));
    if (accept(")")) return {};
    do {
      EDGE_INFER_RETURN_IF_ERROR(expect("%"));
      const size_t start = at_;
      EDGE_INFER_ASSIGN(std::string name, parse_name());
      EDGE_INFER_RETURN_IF_ERROR(check_new(graph, name, start));
      EDGE_INFER_RETURN_IF_ERROR(expect(":"));
      EDGE_INFER_ASSIGN(TensorType type, parse_type());
      const InputKind kind = accept_word("state") ? InputKind::kState : InputKind::kUser;
      graph.add_input(std::move(name), std::move(type), kind);
    } while (accept(","));
    return expect(")");
  }

  Status parse_symbols(Graph& graph) {
    EDGE_INFER_RETURN_IF_ERROR(expect("("));
    do {
      std::string name(peek_word());
      if (name.empty()) return error("the name of a symbol");
      at_ += name.size();
      EDGE_INFER_RETURN_IF_ERROR(expect_word("in"));
      EDGE_INFER_ASSIGN(const int64_t lo, parse_integer());
      EDGE_INFER_RETURN_IF_ERROR(expect(".."));
      int64_t hi = INT64_MAX;
      if (!accept_word("inf")) {
        EDGE_INFER_ASSIGN(hi, parse_integer());
      }
      EDGE_INFER_RETURN_IF_ERROR(expect_word("hint"));
      EDGE_INFER_ASSIGN(const int64_t hint, parse_integer());
      if (graph.symbols().size() >= kMaxList)
        return fail(ErrorCode::kResourceExhausted, "{}: more than {} symbols", where(at_), kMaxList);
      graph.symbols().push_back({std::move(name), {lo, hi}, hint});
    } while (accept(","));
    return expect(")");
  }

  // --- Nodes ---

  Result<ValueId> parse_operand(const Graph& graph) {
    const bool is_constant = accept("$");
    if (!is_constant) EDGE_INFER_RETURN_IF_ERROR(expect("%"));
    const size_t start = at_;
    EDGE_INFER_ASSIGN(const std::string name, parse_name());
    const auto id = is_constant ? graph.find_constant(name) : graph.find(name);
    if (!id)
      return fail(ErrorCode::kInvalidArgument, "{}: {}{} is not defined", where(start),
                  is_constant ? "$" : "%", name);
    return *id;
  }

  Result<Attribute> parse_number() {
    skip_space();
    size_t end = at_;
    while (end < text_.size() && (is_name_char(text_[end]) || text_[end] == '-' || text_[end] == '+')) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    Attribute value;
    int64_t integer = 0;
    double number = 0;
    if (word == "true" || word == "false") {
      value = word == "true";
    } else if (word == "nan") {
      value = static_cast<double>(NAN);
    } else if (word == "inf" || word == "-inf") {
      value = word == "inf" ? HUGE_VAL : -HUGE_VAL;
    } else if (const auto i = std::from_chars(word.data(), word.data() + word.size(), integer);
               i.ec == std::errc{} && i.ptr == word.data() + word.size()) {
      value = integer;
    } else if (const auto d = std::from_chars(word.data(), word.data() + word.size(), number);
               d.ec == std::errc{} && d.ptr == word.data() + word.size()) {
      value = number;
    } else {
      return error("a number");
    }
    at_ = end;
    return value;
  }

  Result<Attribute> parse_attribute(AttributeKind kind) {
    if (accept_word("none")) return Attribute();
    switch (kind) {
      case AttributeKind::kBool:
      case AttributeKind::kInt:
      case AttributeKind::kFloat:
      case AttributeKind::kScalar:
        return parse_number();
      case AttributeKind::kString: {
        EDGE_INFER_ASSIGN(std::string text, parse_quoted());
        return Attribute(std::move(text));
      }
      case AttributeKind::kDType: {
        EDGE_INFER_ASSIGN(const DType dtype, parse_dtype_name());
        return Attribute(dtype);
      }
      case AttributeKind::kSize: {
        EDGE_INFER_ASSIGN(SymInt size, parse_size());
        return Attribute(std::move(size));
      }
      case AttributeKind::kInts: {
        EDGE_INFER_ASSIGN(auto items, parse_list<int64_t>([this] { return parse_integer(); }));
        return Attribute(std::move(items));
      }
      case AttributeKind::kSizes: {
        EDGE_INFER_ASSIGN(auto sizes, parse_sizes());
        return Attribute(std::move(sizes));
      }
    }
    return error("an attribute");
  }

  Status parse_argument(const Graph& graph, Node& node) {
    skip_space();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '%' || c == '$') {
      if (!node.attributes.empty()) return error("an attribute, operands come first");
      EDGE_INFER_ASSIGN(const ValueId id, parse_operand(graph));
      node.inputs.push_back(id);
      return {};
    }
    if (node.attributes.empty() && accept_word("none")) {
      node.inputs.push_back(kNoValue);
      return {};
    }
    const size_t start = at_;
    EDGE_INFER_ASSIGN(std::string name, parse_name());
    const AttributeSchema* schema = nullptr;
    for (const AttributeSchema& candidate : node.op->attributes)
      if (candidate.name == name) schema = &candidate;
    if (schema == nullptr)
      return fail(ErrorCode::kInvalidArgument, "{}: {} has no attribute {}", where(start), node.op->name,
                  name);
    EDGE_INFER_RETURN_IF_ERROR(expect("="));
    EDGE_INFER_ASSIGN(Attribute value, parse_attribute(schema->kind));
    node.attributes.emplace_back(std::move(name), std::move(value));
    return {};
  }

  Status parse_node(Graph& graph) {
    std::vector<std::string> names;
    const size_t start = at_;
    do {
      EDGE_INFER_RETURN_IF_ERROR(expect("%"));
      const size_t at = at_;
      EDGE_INFER_ASSIGN(std::string name, parse_name());
      EDGE_INFER_RETURN_IF_ERROR(check_new(graph, name, at));
      for (const std::string& other : names)
        if (other == name)
          return fail(ErrorCode::kInvalidArgument, "{}: %{} is defined twice", where(at), name);
      if (names.size() >= kMaxList)
        return fail(ErrorCode::kResourceExhausted, "{}: more than {} results", where(at), kMaxList);
      names.push_back(std::move(name));
    } while (accept(","));
    EDGE_INFER_RETURN_IF_ERROR(expect("="));
    const std::string_view op_name = peek_word();
    Node node;
    node.op = find_op(op_name);
    if (node.op == nullptr)
      return fail(ErrorCode::kUnsupported, "{}: there is no op \"{}\"", where(at_), op_name);
    at_ += op_name.size();
    EDGE_INFER_RETURN_IF_ERROR(expect("("));
    if (!accept(")")) {
      do EDGE_INFER_RETURN_IF_ERROR(parse_argument(graph, node));
      while (accept(","));
      EDGE_INFER_RETURN_IF_ERROR(expect(")"));
    }
    while (node.inputs.size() < node.op->operands.size() && node.op->operands[node.inputs.size()].optional)
      node.inputs.push_back(kNoValue);
    if (auto status = check_operands(*node.op, node.inputs); !status)
      return fail_with_context(status.error(), where(start));
    EDGE_INFER_ASSIGN(Attributes attributes, located(normalize_attributes(*node.op, node.attributes), start));
    std::vector<TensorType> types;
    EDGE_INFER_RETURN_IF_ERROR(expect(":"));
    do {
      EDGE_INFER_ASSIGN(TensorType type, parse_type());
      types.push_back(std::move(type));
    } while (types.size() < names.size() && accept(","));
    if (types.size() != names.size()) return error("the type of each result");
    graph.add_node(*node.op, std::move(node.inputs), std::move(attributes), std::move(types),
                   std::move(names));
    return {};
  }

  Status parse_outputs(Graph& graph) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '}') return {};
    do {
      GraphOutput output;
      EDGE_INFER_ASSIGN(output.value, parse_operand(graph));
      if (accept_word("updates")) {
        output.kind = OutputKind::kStateUpdate;
        EDGE_INFER_ASSIGN(output.state, parse_operand(graph));
      } else if (accept_word("saved")) {
        output.kind = OutputKind::kSaved;
      }
      graph.add_output(output);
    } while (accept(","));
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace edge_infer
