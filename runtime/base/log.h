// Diagnostics. The library never prints: messages go to the sink that the host installed, none by default.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace edge_infer {

enum class LogLevel { kInfo, kWarning };
using LogSink = void (*)(LogLevel level, std::string_view message);

// Installs the process' sink (nullptr: silence). Thread-safe; the sink must be too.
void set_log_sink(LogSink sink);
void log_message(LogLevel level, std::string_view message);

template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace edge_infer
