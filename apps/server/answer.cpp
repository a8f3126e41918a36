#include "apps/server/answer.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "apps/server/http_message.h"

namespace edge_infer {
namespace {

static_assert(std::endian::native == std::endian::little, "base64 answers copy the floats' bytes");

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr size_t kMaxFloatChars = 16;  // "-1.17549435e-38" is the longest

double squared_norm(std::span<const float> row) {
  double sum = 0;
  for (const float value : row) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

void scale_to_unit(std::span<float> row) {
  const double norm = std::sqrt(squared_norm(row));
  if (norm == 0) return;
  for (float& value : row) value = static_cast<float>(static_cast<double>(value) / norm);
}

}  // namespace

void append_floats(std::span<const float> values, std::string& out) {
  const size_t begin = out.size();
  out.resize(begin + values.size() * (kMaxFloatChars + 1));
  char* position = out.data() + begin;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) *position++ = ',';
    position = std::to_chars(position, position + kMaxFloatChars, values[i]).ptr;
    if (values[i] == 0 && std::signbit(values[i])) {  // "-0" is the integer 0 to most readers
      *position++ = '.';
      *position++ = '0';
    }
  }
  out.resize(static_cast<size_t>(position - out.data()));
}

void append_base64(std::span<const float> values, std::string& out) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  const size_t count = values.size_bytes(), begin = out.size();
  out.resize(begin + (count + 2) / 3 * 4);
  char* position = out.data() + begin;
  size_t i = 0;
  for (; i + 3 <= count; i += 3) {
    const uint32_t group =
        static_cast<uint32_t>(bytes[i]) << 16 | static_cast<uint32_t>(bytes[i + 1]) << 8 | bytes[i + 2];
    *position++ = kAlphabet[group >> 18];
    *position++ = kAlphabet[group >> 12 & 63];
    *position++ = kAlphabet[group >> 6 & 63];
    *position++ = kAlphabet[group & 63];
  }
  if (i == count) return;
  const bool two = count - i == 2;
  const uint32_t group =
      static_cast<uint32_t>(bytes[i]) << 16 | (two ? static_cast<uint32_t>(bytes[i + 1]) << 8 : 0);
  *position++ = kAlphabet[group >> 18];
  *position++ = kAlphabet[group >> 12 & 63];
  *position++ = two ? kAlphabet[group >> 6 & 63] : '=';
  *position++ = '=';
}

std::string openai_answer(const EmbeddingAnswer& answer) {
  const auto width = static_cast<size_t>(answer.dimensions);
  const size_t rows = width == 0 ? 0 : answer.vectors.size() / width;
  std::string out;
  out.reserve(rows * (width * (answer.base64 ? 6 : 13) + 64) + 256);
  out += R"({"object":"list","data":[)";
  for (size_t row = 0; row < rows; ++row) {
    const auto values = answer.vectors.subspan(row * width, width);
    if (row != 0) out += ',';
    out += R"({"object":"embedding","index":)";
    out += std::to_string(row);
    out += answer.base64 ? R"(,"embedding":")" : R"(,"embedding":[)";
    if (answer.base64)
      append_base64(values, out);
    else
      append_floats(values, out);
    out += answer.base64 ? R"("})" : "]}";
  }
  out += fmt::format(R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}})",
                     json_string(answer.model), answer.prompt_tokens, answer.prompt_tokens);
  if (!answer.truncated.empty()) {
    out += R"(,"edge":{"truncated":[)";
    for (size_t i = 0; i < answer.truncated.size(); ++i) {
      const TruncatedInput& input = answer.truncated[i];
      out += fmt::format(R"({}{{"index":{},"tokens":{},"tokens_total":{}}})", i == 0 ? "" : ",", input.index,
                         input.tokens, input.tokens_total);
    }
    out += "]}";
  }
  out += '}';
  return out;
}

std::string tei_answer(std::span<const float> vectors, int64_t dimensions) {
  const auto width = static_cast<size_t>(dimensions);
  std::string out;
  out.reserve(vectors.size() * 13 + 16);
  out += '[';
  for (size_t begin = 0; begin < vectors.size(); begin += width) {
    out += begin == 0 ? "[" : ",[";
    append_floats(vectors.subspan(begin, width), out);
    out += ']';
  }
  out += ']';
  return out;
}

std::vector<float> slice_rows(std::span<const float> vectors, int64_t dimensions, int64_t kept) {
  const auto width = static_cast<size_t>(dimensions), narrow = static_cast<size_t>(kept);
  const size_t rows = vectors.size() / width;
  std::vector<float> result(rows * narrow);
  for (size_t row = 0; row < rows; ++row) {
    const std::span<float> target(result.data() + row * narrow, narrow);
    std::memcpy(target.data(), vectors.data() + row * width, target.size_bytes());
    scale_to_unit(target);
  }
  return result;
}

void normalize_rows(std::span<float> vectors, int64_t dimensions) {
  constexpr double kRounding = 4e-6;  // of the squared norm of a float vector that was normalized before
  const auto width = static_cast<size_t>(dimensions);
  for (size_t begin = 0; begin < vectors.size(); begin += width) {
    const auto row = vectors.subspan(begin, width);
    if (std::abs(squared_norm(row) - 1) > kRounding) scale_to_unit(row);
  }
}

bool all_finite(std::span<const float> values) {
  for (const float value : values)
    if (!std::isfinite(value)) return false;
  return true;
}

}  // namespace edge_infer
