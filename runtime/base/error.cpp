#include "runtime/base/error.h"

namespace edge_infer {

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kCorruption:
      return "corrupt data";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kResourceExhausted:
      return "resource exhausted";
    case ErrorCode::kIoError:
      return "i/o error";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kDeviceLost:
      return "device lost";
    case ErrorCode::kInternal:
      return "internal error";
  }
  return "unknown error";
}

std::unexpected<Error> fail_with_context(const Error& error, const std::string& prefix) {
  return std::unexpected(Error{error.code, prefix + ": " + error.message});
}

}  // namespace edge_infer
