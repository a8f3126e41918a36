#include "runtime/base/log.h"

#include <atomic>

namespace edge_infer {
namespace {
std::atomic<LogSink> current_sink{nullptr};
}

void set_log_sink(LogSink sink) {
  current_sink.store(sink);
}

void log_message(LogLevel level, std::string_view message) {
  if (const LogSink sink = current_sink.load()) sink(level, message);
}

}  // namespace edge_infer
