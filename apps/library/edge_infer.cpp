// The C interface over Embedder. Each entry has the one guard that keeps exceptions from crossing.
#include "apps/library/edge_infer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "models/embedder.h"
#include "runtime/base/error.h"

struct edge_infer_model {
  std::unique_ptr<edge_infer::Embedder> embedder;
};

namespace {

using edge_infer::ErrorCode;
using edge_infer::fail;
using edge_infer::Status;

// Texts of one pass through the embedder: bounds the copies of a call with very many texts.
constexpr size_t kTextsPerPass = 4096;

// What a caller can mean by a length; more is a size that was computed wrongly.
constexpr size_t kMaxTextBytes = EDGE_INFER_MAX_TEXT_BYTES;

int32_t code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return EDGE_INFER_INVALID_ARGUMENT;
    case ErrorCode::kNotFound:
      return EDGE_INFER_NOT_FOUND;
    case ErrorCode::kCorruption:
      return EDGE_INFER_CORRUPTION;
    case ErrorCode::kUnsupported:
      return EDGE_INFER_UNSUPPORTED;
    case ErrorCode::kResourceExhausted:
      return EDGE_INFER_RESOURCE_EXHAUSTED;
    case ErrorCode::kIoError:
      return EDGE_INFER_IO_ERROR;
    case ErrorCode::kCancelled:
      return EDGE_INFER_CANCELLED;
    case ErrorCode::kInternal:
      return EDGE_INFER_INTERNAL;
    case ErrorCode::kDeviceLost:
      return EDGE_INFER_DEVICE_LOST;
  }
  return EDGE_INFER_INTERNAL;
}

int32_t report(edge_infer_error* error, int32_t code, const char* message) noexcept {
  if (error == nullptr) return code;
  error->code = code;
  size_t length = std::strlen(message);
  if (length >= sizeof error->message) {
    length = sizeof error->message - 1;
    while (length > 0 && (static_cast<unsigned char>(message[length]) & 0xC0) == 0x80) --length;
  }
  std::memcpy(error->message, message, length);
  error->message[length] = '\0';
  return code;
}

template <typename Body>
int32_t guarded(edge_infer_error* error, Body body) noexcept {
  try {
    const Status status = body();
    if (status) return EDGE_INFER_OK;
    return report(error, code_of(status.error().code), status.error().message.c_str());
  } catch (const std::bad_alloc&) {
    return report(error, EDGE_INFER_RESOURCE_EXHAUSTED, "out of memory");
  } catch (const std::system_error& exception) {
    const std::string message = std::string("the system gives no more threads: ") + exception.what();
    return report(error, EDGE_INFER_RESOURCE_EXHAUSTED, message.c_str());
  } catch (const std::exception& exception) {
    return report(error, EDGE_INFER_INTERNAL, exception.what());
  } catch (...) {
    return report(error, EDGE_INFER_INTERNAL, "unknown exception");
  }
}

// The caller's options as this build knows them: what a shorter, older struct lacks is zero, what a longer
// one has more is left alone.
Status read_options(const edge_infer_options* given, edge_infer::EmbedderOptions& result) {
  if (given == nullptr) return {};
  edge_infer_options options{};
  if (given->size < sizeof options.size || given->size > 4096)
    return fail(ErrorCode::kInvalidArgument, "options.size is {}, expected sizeof(edge_infer_options) = {}",
                given->size, sizeof options);
  std::memcpy(&options, given, std::min(given->size, sizeof options));
  if (options.threads < 0)
    return fail(ErrorCode::kInvalidArgument, "options.threads is {}, expected >= 0", options.threads);
  if (options.max_length < 0)
    return fail(ErrorCode::kInvalidArgument, "options.max_length is {}, expected >= 0", options.max_length);
  if ((options.flags & ~EDGE_INFER_EAGER) != 0)
    return fail(ErrorCode::kInvalidArgument, "options.flags is {:#x}, expected EDGE_INFER_EAGER or 0",
                options.flags);
  result.eager = (options.flags & EDGE_INFER_EAGER) != 0;
  if (options.precision != nullptr) result.precision = options.precision;
  if (options.device != nullptr) result.device = options.device;
  if (options.mode != nullptr) result.mode = options.mode;
  if (options.cache_dir != nullptr) result.cache_dir = options.cache_dir;
  result.max_length = options.max_length;
  result.threads = options.threads;
  return {};
}

// NULL is the default prompt, "" none.
std::optional<std::string_view> prompt_of(const char* name) {
  return name == nullptr ? std::nullopt : std::optional<std::string_view>(name);
}

Status check_text(const char* text, size_t length, const std::string& name) {
  if (text == nullptr && length != 0) return fail(ErrorCode::kInvalidArgument, "{} is NULL", name);
  if (length > kMaxTextBytes)
    return fail(ErrorCode::kInvalidArgument, "{} has the length {}, expected at most {} bytes", name, length,
                kMaxTextBytes);
  return {};
}

}  // namespace

extern "C" {

const char* edge_infer_version(void) {
  return EDGE_INFER_VERSION;
}
int32_t edge_infer_abi_version(void) {
  return EDGE_INFER_ABI_VERSION;
}

const char* edge_infer_code_name(int32_t code) {
  switch (code) {
    case EDGE_INFER_OK:
      return "ok";
    case EDGE_INFER_INVALID_ARGUMENT:
      return "invalid argument";
    case EDGE_INFER_NOT_FOUND:
      return "not found";
    case EDGE_INFER_CORRUPTION:
      return "corrupt data";
    case EDGE_INFER_UNSUPPORTED:
      return "unsupported";
    case EDGE_INFER_RESOURCE_EXHAUSTED:
      return "resource exhausted";
    case EDGE_INFER_IO_ERROR:
      return "i/o error";
    case EDGE_INFER_CANCELLED:
      return "cancelled";
    case EDGE_INFER_INTERNAL:
      return "internal error";
    case EDGE_INFER_DEVICE_LOST:
      return "device lost";
    default:
      return "unknown code";
  }
}

int32_t edge_infer_open(const char* model_path, const edge_infer_options* options, edge_infer_model** model,
                        edge_infer_error* error) {
  if (model != nullptr) *model = nullptr;
  return guarded(error, [&]() -> Status {
    if (model_path == nullptr || model == nullptr)
      return fail(ErrorCode::kInvalidArgument, "{} is NULL", model == nullptr ? "model" : "model_path");
    edge_infer::EmbedderOptions embedder_options;
    EDGE_INFER_RETURN_IF_ERROR(read_options(options, embedder_options));
    EDGE_INFER_ASSIGN(auto embedder, edge_infer::Embedder::open(model_path, embedder_options));
    *model = new edge_infer_model{std::move(embedder)};
    return {};
  });
}

int32_t edge_infer_prepare(const edge_infer_model* model, edge_infer_error* error) {
  return guarded(error, [&]() -> Status {
    if (model == nullptr) return fail(ErrorCode::kInvalidArgument, "model is NULL");
    return model->embedder->prepare();
  });
}

void edge_infer_free(edge_infer_model* model) {
  delete model;
}

int64_t edge_infer_dimensions(const edge_infer_model* model) {
  return model == nullptr ? 0 : model->embedder->dimensions();
}
int64_t edge_infer_max_length(const edge_infer_model* model) {
  return model == nullptr ? 0 : model->embedder->max_length();
}

int32_t edge_infer_embed(const edge_infer_model* model, const char* const* texts, const size_t* lengths,
                         size_t count, const char* prompt_name, float* vectors, size_t capacity,
                         edge_infer_text_info* infos, edge_infer_error* error) {
  return guarded(error, [&]() -> Status {
    if (model == nullptr) return fail(ErrorCode::kInvalidArgument, "model is NULL");
    if (count == 0) return {};
    if (texts == nullptr || vectors == nullptr)
      return fail(ErrorCode::kInvalidArgument, "{} is NULL", texts == nullptr ? "texts" : "vectors");
    const auto width = static_cast<size_t>(model->embedder->dimensions());
    if (capacity / width < count)
      return fail(ErrorCode::kInvalidArgument, "room for {} floats, {} texts of {} dimensions need {}",
                  capacity, count, width, count > SIZE_MAX / width ? SIZE_MAX : count * width);
    for (size_t i = 0; i < count; ++i) {
      if (texts[i] == nullptr && lengths == nullptr)
        return fail(ErrorCode::kInvalidArgument, "texts[{}] is NULL", i);
      if (lengths != nullptr)
        EDGE_INFER_RETURN_IF_ERROR(check_text(texts[i], lengths[i], fmt::format("texts[{}]", i)));
    }
    EDGE_INFER_ASSIGN(const std::string prompt, model->embedder->prompt(prompt_of(prompt_name)));
    const std::shared_ptr<edge_infer::EntryPin> pin = model->embedder->pin();
    std::vector<std::string> pass;
    std::vector<edge_infer::Encoding> encodings;
    for (size_t first = 0; first < count; first += pass.size()) {
      pass.clear();
      for (size_t i = first; i < std::min(count, first + kTextsPerPass); ++i) {
        if (texts[i] == nullptr)
          pass.emplace_back();
        else if (lengths == nullptr)
          pass.emplace_back(texts[i]);
        else
          pass.emplace_back(texts[i], lengths[i]);
      }
      EDGE_INFER_ASSIGN(
          const std::vector<float> rows,
          model->embedder->embed(pass, prompt, infos == nullptr ? nullptr : &encodings, pin.get()));
      std::memcpy(vectors + first * width, rows.data(), rows.size() * sizeof(float));
      for (size_t i = 0; infos != nullptr && i < pass.size(); ++i)
        infos[first + i] = {static_cast<int64_t>(encodings[i].ids.size()), encodings[i].tokens};
    }
    return {};
  });
}

int32_t edge_infer_embed_query(const edge_infer_model* model, const char* text, size_t length,
                               const char* prompt_name, float* vector, size_t capacity,
                               edge_infer_error* error) {
  return guarded(error, [&]() -> Status {
    if (model == nullptr) return fail(ErrorCode::kInvalidArgument, "model is NULL");
    if (vector == nullptr) return fail(ErrorCode::kInvalidArgument, "vector is NULL");
    EDGE_INFER_RETURN_IF_ERROR(check_text(text, length, "text"));
    const auto width = static_cast<size_t>(model->embedder->dimensions());
    if (capacity < width)
      return fail(ErrorCode::kInvalidArgument, "room for {} floats, a vector has {}", capacity, width);
    EDGE_INFER_ASSIGN(const std::string prompt, model->embedder->prompt(prompt_of(prompt_name)));
    EDGE_INFER_ASSIGN(const std::vector<float> row,
                      model->embedder->embed_query(length == 0 ? "" : std::string(text, length), prompt));
    std::memcpy(vector, row.data(), row.size() * sizeof(float));
    return {};
  });
}

}  // extern "C"
