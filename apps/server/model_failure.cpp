#include "apps/server/model_failure.h"

#include "runtime/base/log.h"

namespace edge_infer {
namespace {

ApiError answer_without_log(const Error& error, const std::string& param) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return {400, "the model does not take these inputs", param, "invalid_value"};
    case ErrorCode::kCorruption:
      return {422, "the model gave a vector that is not finite", "", "embedding_not_finite"};
    case ErrorCode::kUnsupported:
      return {422, "the model cannot be run on these inputs", param, "unsupported_input"};
    case ErrorCode::kResourceExhausted:
      return {503, "not enough memory for this request", "", "resource_exhausted", "server_error"};
    case ErrorCode::kDeviceLost:
      return {503, "the accelerator has failed", "", "device_lost", "server_error"};
    case ErrorCode::kCancelled:
      return {503, "the request was cancelled: " + error.message, "", "cancelled", "server_error"};
    case ErrorCode::kNotFound:
    case ErrorCode::kIoError:
    case ErrorCode::kInternal:
      break;
  }
  return {500, "the model failed; the server's log says why", "", "internal_error", "server_error"};
}

}  // namespace

Error not_finite() {
  return {ErrorCode::kCorruption, "the model gave a vector that is not finite"};
}

ApiError answer_of(const Error& error, const std::string& param) {
  if (error.code != ErrorCode::kCancelled)
    log_warning("a request failed: {}: {}", error_code_name(error.code), error.message);
  return answer_without_log(error, param);
}

}  // namespace edge_infer
