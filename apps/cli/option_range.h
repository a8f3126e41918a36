// Bounds of an option's number, with messages that say what was found.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace edge_infer {

// For Option::check: "expected an integer from 1 to 1024, found "x"".
CLI::Validator integer_from(int64_t min, int64_t max);
CLI::Validator number_from(double min, double max);

}  // namespace edge_infer
