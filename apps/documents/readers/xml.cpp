#include "apps/documents/readers/xml.h"

namespace edge_infer {

Status parse_xml(std::string& text, const std::string& name, pugi::xml_document& document) {
  const pugi::xml_parse_result result =
      document.load_buffer_inplace(text.data(), text.size(), pugi::parse_default | pugi::parse_ws_pcdata);
  if (result) return {};
  const ErrorCode code =
      result.status == pugi::status_out_of_memory ? ErrorCode::kResourceExhausted : ErrorCode::kCorruption;
  std::string reason = result.description();
  if (!reason.empty()) reason[0] = static_cast<char>(reason[0] | 0x20);
  return fail(code, "\"{}\" is broken XML: {} at byte {}", name, reason, result.offset);
}

std::string_view local_name(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  const size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

std::string_view local_attribute(const pugi::xml_node& node, std::string_view name) {
  for (const pugi::xml_attribute& attribute : node.attributes()) {
    std::string_view own = attribute.name();
    if (const size_t colon = own.find(':'); colon != std::string_view::npos) own.remove_prefix(colon + 1);
    if (own == name) return attribute.value();
  }
  return {};
}

pugi::xml_node find_element(const pugi::xml_node& root, std::string_view name) {
  pugi::xml_node found;
  walk_xml(
      root,
      [&](const pugi::xml_node& node) {
        if (!found && local_name(node) == name) found = node;
        return !found;
      },
      [](const pugi::xml_node&) {});
  return found;
}

std::string text_below(const pugi::xml_node& node) {
  std::string out;
  walk_xml(
      node,
      [&](const pugi::xml_node& below) {
        if (below.type() == pugi::node_pcdata || below.type() == pugi::node_cdata) out += below.value();
        return true;
      },
      [](const pugi::xml_node&) {});
  return out;
}

}  // namespace edge_infer
