// What every command does with an Error, and numbers as text.
#pragma once

#include <string>

#include "runtime/base/error.h"

namespace edge_infer {

// Prints "edge-infer: message" on standard error; returns the exit code: 2 for a wrong argument of the
// command line, 1 otherwise.
int report_error(const Error& error);
int report_usage(const std::string& message);

// Installs a log sink that prints warnings on standard error.
void log_to_stderr();

}  // namespace edge_infer
