#include "apps/cli/report.h"

#include <cstdio>
#include <cstdlib>

#include "runtime/base/log.h"

namespace edge_infer {

int report_error(const Error& error) {
  fmt::print(stderr, "edge-infer: {}\n", error.message);
  return 1;
}

int report_usage(const std::string& message) {
  fmt::print(stderr, "edge-infer: {}\n", message);
  return 2;
}

void log_to_stderr() {
  set_log_sink([](LogLevel level, std::string_view message) {
    // Who names topics wants to read about them.
    static const char* const topics = std::getenv("EDGE_INFER_LOGS");
    const bool wanted = topics != nullptr && *topics != '\0';
    if (level == LogLevel::kWarning || wanted) fmt::print(stderr, "edge-infer: {}\n", message);
  });
}

}  // namespace edge_infer
