#include "runtime/device/registry.h"

#include <algorithm>
#include <string>

namespace edge_infer {
namespace {

struct Match {
  const BackendInfo* backend;
  std::string_view variant, which;
};

std::string known_names() {
  std::string known = "auto";
  for (const BackendInfo& backend : backends()) {
    known += fmt::format(", {}{}", backend.name, backend.numbered ? "[:N]" : "");
    for (const std::string_view variant : backend.variants)
      known += fmt::format(", {}.{}", backend.name, variant);
  }
  return known;
}

Result<Match> match(std::string_view name) {
  const size_t colon = name.find(':'), dot = name.substr(0, colon).find('.');
  const std::string_view which = colon == std::string_view::npos ? "" : name.substr(colon + 1);
  const std::string_view base = name.substr(0, std::min(dot, colon));
  const std::string_view variant = dot == std::string_view::npos ? "" : name.substr(0, colon).substr(dot + 1);
  for (const BackendInfo& backend : backends()) {
    if (backend.name != base || (colon != std::string_view::npos && !backend.numbered)) continue;
    if (dot == std::string_view::npos ||
        std::ranges::find(backend.variants, variant) != backend.variants.end())
      return Match{&backend, variant, which};
  }
  return fail(ErrorCode::kInvalidArgument, "unknown device \"{}\", expected one of: {}", name, known_names());
}

}  // namespace

Result<std::shared_ptr<const Device>> open_device(std::string_view name) {
  if (name == "auto") {
    for (const BackendInfo& backend : backends())
      if (auto device = backend.open("", "")) return device;
    return fail(ErrorCode::kUnsupported, "no device of this build works on this machine");
  }
  EDGE_INFER_ASSIGN(const Match found, match(name));
  return found.backend->open(found.variant, found.which);
}

Status check_device_name(std::string_view name) {
  if (name == "auto") return {};
  EDGE_INFER_ASSIGN(const Match found, match(name));
  return found.backend->check_which == nullptr ? Status{} : found.backend->check_which(found.which);
}

Result<std::shared_ptr<const Device>> open_host_device() {
  for (const BackendInfo& backend : backends())
    if (backend.target("").has_prebuilt)
      if (auto device = backend.open("", "")) return device;
  return fail(ErrorCode::kUnsupported, "no device of this build runs prebuilt kernels");
}

Result<Target> find_target(std::string_view name) {
  EDGE_INFER_ASSIGN(const Match found, match(name));
  return found.backend->target(found.variant);
}

Result<CodeFacts> code_facts(std::string_view target, const KernelBlob& code) {
  EDGE_INFER_ASSIGN(const Match found, match(target));
  return found.backend->code_facts == nullptr ? CodeFacts{} : found.backend->code_facts(code);
}

Result<ProgramFacts> program_facts(std::string_view target, const Program& program) {
  EDGE_INFER_ASSIGN(const Match found, match(target));
  return found.backend->program_facts == nullptr ? ProgramFacts{} : found.backend->program_facts(program);
}

}  // namespace edge_infer
