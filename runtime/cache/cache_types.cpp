#include "runtime/cache/cache_types.h"

#include "runtime/base/hash.h"
#include "runtime/base/text_scanner.h"

namespace edge_infer {

KeyComponents components(const KernelKey& key) {
  return {{"target", key.target},       {"features", key.features}, {"compiler", key.compiler},
          {"generator", key.generator}, {"options", key.options},   {"source_hash", key.source_hash}};
}

KeyComponents components(const EntryKey& key) {
  return {{"graph_hash", key.graph_hash}, {"target", key.target},   {"features", key.features},
          {"settings", key.settings},     {"options", key.options}, {"generator", key.generator},
          {"compiler", key.compiler}};
}

KeyComponents components(const GateKey& key) {
  KeyComponents all = components(key.entry);
  all.emplace_back("weights", key.weights);
  all.emplace_back("rule", key.rule);
  return all;
}

namespace {

std::string key_text(const KeyComponents& all) {
  std::string out;
  for (const auto& [name, value] : all) out += fmt::format("{}={};", name, quote_text(value));
  return out;
}

}  // namespace

std::string EntryKey::text() const {
  return key_text(components(*this));
}

std::string GateKey::text() const {
  return key_text(components(*this));
}

std::string GateKey::id() const {
  return content_digest(text()).substr(0, 32);
}

std::string EntryKey::id() const {
  return content_digest(text()).substr(0, 32);
}

std::string MissReason::text() const {
  if (empty) return "nothing is stored";
  std::string out;
  for (const Difference& d : differences)
    out +=
        fmt::format("{}{}: stored {}, wanted {}", out.empty() ? "" : "; ", d.component, d.stored, d.wanted);
  return out;
}

}  // namespace edge_infer
