// The only error mechanism: Result<T> = std::expected<T, Error>. Nothing a caller, a file or the network can
// send throws or aborts. A message is lower-case, without a full stop, and says what was found and what was
// expected, with the name of the node, tensor or file.
#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>
#include <utility>

namespace edge_infer {

enum class ErrorCode {
  kInvalidArgument,    // the caller's value is wrong
  kNotFound,           // a named file, model, tensor or prompt does not exist
  kCorruption,         // a file's content contradicts its format
  kUnsupported,        // well-formed, but outside of what this build can do
  kResourceExhausted,  // memory, disk or a stated limit
  kIoError,            // the system refused a read or a write
  kCancelled,          // stopped on request
  kDeviceLost,         // an accelerator has failed and runs nothing any more
  kInternal,           // a defect of ours
};

// "invalid argument", "not found", ...
const char* error_code_name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

// Makes the failed Result: `return fail(ErrorCode::kNotFound, "no tensor \"{}\" in {}", name, path);`
template <typename... Args>
[[nodiscard]] std::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format,
                                          Args&&... args) {
  return std::unexpected(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

// The same error with "prefix: " in front of its message.
[[nodiscard]] std::unexpected<Error> fail_with_context(const Error& error, const std::string& prefix);

}  // namespace edge_infer

#define EDGE_INFER_CONCAT_(a, b) a##b
#define EDGE_INFER_CONCAT(a, b) EDGE_INFER_CONCAT_(a, b)

// Returns the error of `expr` from the enclosing function, if it has one.
#define EDGE_INFER_RETURN_IF_ERROR(expr)                             \
  do {                                                               \
    if (auto edge_infer_status_ = (expr); !edge_infer_status_)       \
      return std::unexpected(std::move(edge_infer_status_).error()); \
  } while (false)

// EDGE_INFER_ASSIGN(auto x, f()): x is the value of f(), or the enclosing function returns f()'s error.
#define EDGE_INFER_ASSIGN(decl, expr) \
  EDGE_INFER_ASSIGN_(EDGE_INFER_CONCAT(edge_infer_result_, __LINE__), decl, expr)
#define EDGE_INFER_ASSIGN_(tmp, decl, expr)                 \
  auto tmp = (expr);                                        \
  if (!tmp) return std::unexpected(std::move(tmp).error()); \
  decl = *std::move(tmp)
