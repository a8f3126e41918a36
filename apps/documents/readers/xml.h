// XML parts of documents with pugixml: no DTD is read, so no entity expands and no file is named. Walks are
// iterative: a part may nest as deep as it likes.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace edge_infer {

// Parses `text`, which the document then points into. Errors: kCorruption with `name`, the reason and the
// offset.
Status parse_xml(std::string& text, const std::string& name, pugi::xml_document& document);

// The name without its namespace prefix.
std::string_view local_name(const pugi::xml_node& node);

// The attribute with this local name; empty where there is none.
std::string_view local_attribute(const pugi::xml_node& node, std::string_view name);

// The first element with this local name below `root` in document order; a null node where there is none.
pugi::xml_node find_element(const pugi::xml_node& root, std::string_view name);

// All character data below `node`.
std::string text_below(const pugi::xml_node& node);

// Depth first: enter(node) returns whether to go below; leave(node) follows for every node that was gone
// into.
template <typename Enter, typename Leave>
void walk_xml(const pugi::xml_node& root, Enter enter, Leave leave) {
  pugi::xml_node node = root.first_child();
  while (node) {
    const bool below = enter(node);
    if (below && node.first_child()) {
      node = node.first_child();
      continue;
    }
    if (below) leave(node);
    while (!node.next_sibling()) {
      node = node.parent();
      if (!node || node == root) return;
      leave(node);
    }
    node = node.next_sibling();
  }
}

}  // namespace edge_infer
