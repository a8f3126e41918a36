// What `edge-infer index` says while it runs: JSON lines on standard output, or a progress bar and a summary.
#pragma once

#include <memory>

#include "apps/index/pipeline.h"

namespace edge_infer {

class IndexReport : public IndexObserver {
 public:
  // The end of a run that came to its end; lists what could not be read.
  virtual void summary(const IndexSummary& summary) = 0;
  // Leaves the terminal in order when the run ends with an error.
  virtual void stop() = 0;
};

// One JSON object a line, flushed.
std::unique_ptr<IndexReport> make_json_report();
// A bar on standard error when that is a terminal; the summary on standard output; failures on standard
// error.
std::unique_ptr<IndexReport> make_terminal_report();

}  // namespace edge_infer
