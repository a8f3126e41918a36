// HTTP bodies and heads: anything a client can send becomes a request within the limits or an error that
// names itself.
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "apps/server/access.h"
#include "apps/server/answer.h"
#include "apps/server/body_reader.h"
#include "apps/server/http_message.h"

namespace {

using namespace edge_infer;

void require(bool condition) {
  if (!condition) std::abort();
}

void read_body(std::string_view body, BodyDialect dialect) {
  BodyLimits limits;
  limits.max_inputs = 16;
  limits.vocabulary_size = 30522;
  limits.dimensions = 384;
  const auto read = read_embedding_body(body, dialect, limits);
  if (!read) {
    require(read.error().status == 400 && !read.error().message.empty());
    const HttpResponse response = error_response(read.error());
    require(nlohmann::json::parse(response.body)["error"]["message"].is_string());
    return;
  }
  require(!read->inputs.empty() && read->inputs.size() <= limits.max_inputs);
  for (const BodyInput& input : read->inputs) {
    require(input.is_ids || input.ids.empty());
    for (const int32_t id : input.ids) require(id >= 0 && id < limits.vocabulary_size);
  }
  require(!read->dimensions || (*read->dimensions >= 1 && *read->dimensions <= limits.dimensions));
}

void check_head(std::string_view bytes) {
  RequestHead head;
  head.method = "POST";
  const size_t half = bytes.size() / 2;
  head.host = std::string(bytes.substr(0, half));
  head.origin = std::string(bytes.substr(half));
  const AccessPolicy loopback{true, "127.0.0.1", ""};
  if (!check_access(loopback, head)) require(is_loopback_authority(*head.host));
  head.authorization = head.origin;
  head.origin.reset();
  const AccessPolicy keyed{false, "0.0.0.0", "key"};
  if (!check_access(keyed, head)) require(head.authorization->ends_with("key"));
  if (const auto target = parse_target(std::string(bytes))) {
    require(target->path.starts_with('/'));
    head.authority = target->authority;
    head.host = "localhost";
    head.authorization.reset();
    if (!check_access(loopback, head) && head.authority) require(is_loopback_authority(*head.authority));
  }
  (void)is_json_content_type(std::string(bytes));
}

// The first bytes as floats: what is printed reads back as the same bits.
void print_floats(std::string_view bytes) {
  std::vector<float> values(std::min<size_t>(bytes.size() / sizeof(float), 64));
  if (values.empty()) return;
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  if (!all_finite(values)) return;
  const auto json = nlohmann::json::parse(tei_answer(values, static_cast<int64_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(json[0][i].get<double>());
    require(std::memcmp(&value, &values[i], sizeof value) == 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  switch (data[0] % 4) {
    case 0:
      print_floats(bytes.substr(1));
      break;
    case 1:
      check_head(bytes.substr(1));
      break;
    case 2:
      read_body(bytes.substr(1), BodyDialect::kTei);
      break;
    // '{' is of this kind, so that plain bodies are seeds as they are.
    default:
      read_body(data[0] == '{' ? bytes : bytes.substr(1), BodyDialect::kOpenAi);
      break;
  }
  return 0;
}
