// The explicit list of back ends. Declared here, defined in backends/registry.cpp, so that nothing above
// names one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/device/device.h"

namespace edge_infer {

// What is known of a program of a target without a device, for people.
struct ProgramFacts {
  size_t weight_bytes = 0;  // of its constants in memory of the device's own
  // As ExecutableFacts::replay_classes: of the first calls, before one is larger.
  std::vector<std::vector<int64_t>> replay_classes{};
};

// Name and value: "registers", "168".
using CodeFacts = std::vector<std::pair<std::string, std::string>>;

struct BackendInfo {
  std::string_view name;                       // "cpu"
  std::span<const std::string_view> variants;  // "portable", "avx2", ...: targets are "<name>.<variant>"
  bool numbered = false;  // there may be several devices: "<name>:<which>", an index or what names one
  // Errors: kUnsupported when this machine cannot run the variant. "" is the best one of this machine, and
  // its first device.
  Result<std::shared_ptr<const Device>> (*open)(std::string_view variant, std::string_view which);
  // The facts of a target, which this machine need not have.
  Target (*target)(std::string_view variant);
  // Errors: kCorruption for code of another kind.
  Result<CodeFacts> (*code_facts)(const KernelBlob& code) = nullptr;
  Result<ProgramFacts> (*program_facts)(const Program& program) = nullptr;
  // Whether `which` has the form that names a device of a numbered back end. Errors: kInvalidArgument.
  Status (*check_which)(std::string_view which) = nullptr;
};

// In order of preference for `auto`.
std::span<const BackendInfo> backends();

// The device for "auto", a back end's name ("cpu"), one of its devices ("cuda:1", "cuda:1,memory=2G": see the
// back end) or a target ("cpu.avx2").
// Errors: kInvalidArgument listing the names, kUnsupported.
Result<std::shared_ptr<const Device>> open_device(std::string_view name);

// Whether `name` is one that open_device understands, here or on another machine. Errors: kInvalidArgument.
Status check_device_name(std::string_view name);

// The device that runs prebuilt kernels: what answers where nothing else does.
Result<std::shared_ptr<const Device>> open_host_device();

// The facts of a target by name. Errors: kInvalidArgument listing the names.
Result<Target> find_target(std::string_view name);

// What the back end of a target says of compiled code and of programs; nothing where it says nothing. This
// machine need not have the target. Errors: kInvalidArgument listing the names, kCorruption.
Result<CodeFacts> code_facts(std::string_view target, const KernelBlob& code);
Result<ProgramFacts> program_facts(std::string_view target, const Program& program);

}  // namespace edge_infer
