// What the checks on a GPU share: cases, what became of them, and how they are run.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace edge_infer::test {

struct Outcome {
  std::string failure;  // empty: passed
  std::string note;     // a figure worth a word
  bool skipped = false;
};

// Cases may run at the same time on several threads; what they do on the device is serialized there.
struct GpuCase {
  std::string label;
  std::function<Outcome()> run;
};

class GpuReport {
 public:
  // Quiet: passed cases are counted, not listed.
  explicit GpuReport(bool quiet) : quiet_(quiet) {}
  // Runs the cases on all cores, prints a line for each in order and one for the section. A case that takes
  // the device longer than a Watchdog waits ends the process: kernels cannot be stopped.
  void section(const std::string& name, const std::vector<GpuCase>& cases);
  // A section that could not begin.
  void broken(const std::string& name, const std::string& why);
  // The last line; whether nothing failed.
  bool finish() const;

 private:
  bool quiet_;
  int passed_ = 0, failed_ = 0, skipped_ = 0;
};

}  // namespace edge_infer::test
