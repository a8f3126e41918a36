// Executable: a Program made ready on a device, by Device::bind(). Immutable; each concurrent call brings a
// RunContext of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/guards/guard_set.h"
#include "runtime/program/program.h"

namespace edge_infer {

class Device;

// Finds the bytes of a program's constants. The returned memory outlives everything made with it.
class ConstantSource {
 public:
  virtual ~ConstantSource() = default;
  // Told all constants of a program before the first locate(), so that packed ones can be made together.
  virtual Status prepare(std::span<const ConstantDecl> constants, const Device& device) = 0;
  virtual Result<const void*> locate(const ConstantDecl& constant, const Device& device) = 0;
};

// The mutable state of one call at a time, reused over calls.
class RunContext {
 public:
  virtual ~RunContext() = default;
};

// What an executable holds and has done so far, for people. Bytes count what it shares with others, too.
struct ExecutableFacts {
  size_t weight_bytes = 0;  // constants in memory of the device's own; 0 where it reads the host's
  size_t code_bytes = 0;    // loaded into the device
  size_t arena_bytes = 0;   // temporaries and descriptions of calls, of all contexts
  size_t pinned_bytes = 0;  // host memory that the device reads and writes
  // Calls that are replayed from a record: the largest sizes of each record that there is, in the order of
  // the program's symbols, and the replays so far.
  std::vector<std::vector<int64_t>> replay_classes{};
  size_t replays = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  virtual std::unique_ptr<RunContext> make_context() const = 0;
  // Runs on a context of this executable's, with at most `max_workers` workers of the process' budget. Inputs
  // and outputs lie in host memory; inputs satisfy the entry's guards, outputs are dense and of exactly the
  // sizes that the program computes. Returns when the outputs are written. Errors: kResourceExhausted,
  // kInvalidArgument (found and expected are named), kDeviceLost (nothing runs on the device any more).
  virtual Status run(RunContext& context, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs, int max_workers) const = 0;
  // Runs once and says how long each call of the program took, in nanoseconds, in order of phases and calls;
  // 0 for calls that did not run. Slower than run(). Errors: as run().
  virtual Result<std::vector<int64_t>> profile(RunContext& context, std::span<const TensorView> inputs,
                                               std::span<const TensorView> outputs) const = 0;
  // Makes now what calls would make when they first come (graphs, memory of concurrent calls), and lets no
  // later call find it missing: for the mode reduce-overhead. Errors: kResourceExhausted, kDeviceLost.
  virtual Status prepare() const { return {}; }
  virtual const Program& program() const = 0;
  // Largest memory for temporaries of any call so far, in bytes.
  virtual size_t peak_arena_bytes() const = 0;
  virtual ExecutableFacts facts() const { return {.arena_bytes = peak_arena_bytes()}; }
};

}  // namespace edge_infer
