// What every command does with an Error, and numbers as text.
#pragma once

#include <string>

#include "runtime/base/error.h"

namespace edge_infer {

// Prints "edge-infer: message" on standard error; returns the exit code: 1, or 2 for wrong usage.
int report_error(const Error& error);
int report_usage(const std::string& message);

// Installs a log sink that prints warnings on standard error.
void log_to_stderr();

}  // namespace edge_infer
