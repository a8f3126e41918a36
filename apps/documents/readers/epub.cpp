// EPUB 2 and 3: the chapters of the spine, each read as HTML.
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "apps/documents/readers/html.h"
#include "apps/documents/readers/office.h"
#include "apps/documents/readers/xml.h"

namespace edge_infer {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The part that `href` names, relative to the folder of the part `base`.
std::string resolve(const std::string& base, std::string_view href) {
  href = href.substr(0, href.find('#'));
  std::string path = href.starts_with('/')
                         ? std::string()
                         : base.substr(0, base.rfind('/') == std::string::npos ? 0 : base.rfind('/') + 1);
  for (size_t i = 0; i < href.size(); ++i) {
    if (href[i] == '%' && i + 2 < href.size() && hex(href[i + 1]) >= 0 && hex(href[i + 2]) >= 0) {
      path.push_back(static_cast<char>(hex(href[i + 1]) * 16 + hex(href[i + 2])));
      i += 2;
    } else {
      path.push_back(href[i]);
    }
  }
  std::vector<std::string> names;
  for (size_t at = 0; at <= path.size();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    const std::string name = path.substr(at, slash - at);
    if (name == "..") {
      if (!names.empty()) names.pop_back();
    } else if (!name.empty() && name != ".") {
      names.push_back(name);
    }
    at = slash + 1;
  }
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : "/") + name;
  return joined;
}

Result<std::string> package_part(ZipParts& parts) {
  EDGE_INFER_ASSIGN(std::string text, parts.read("META-INF/container.xml"));
  pugi::xml_document document;
  EDGE_INFER_RETURN_IF_ERROR(parse_xml(text, "META-INF/container.xml", document));
  const pugi::xml_node root = find_element(document, "rootfile");
  if (!root) return fail(ErrorCode::kCorruption, "\"META-INF/container.xml\" names no rootfile");
  return std::string(local_attribute(root, "full-path"));
}

}  // namespace

Result<Document> read_epub(ZipParts& parts, const ReadLimits& limits) {
  DocumentBuilder builder("epub", limits);
  EDGE_INFER_ASSIGN(const std::string package, package_part(parts));
  EDGE_INFER_ASSIGN(std::string text, parts.read(package));
  pugi::xml_document document;
  EDGE_INFER_RETURN_IF_ERROR(parse_xml(text, package, document));
  if (const pugi::xml_node title = find_element(document, "title"))
    builder.document().title = clean_text(text_below(title));

  std::map<std::string, std::string, std::less<>> hrefs;
  std::vector<std::string> spine;
  walk_xml(
      document,
      [&](const pugi::xml_node& node) {
        const std::string_view name = local_name(node);
        if (name == "item") hrefs.emplace(local_attribute(node, "id"), local_attribute(node, "href"));
        if (name == "itemref") spine.emplace_back(local_attribute(node, "idref"));
        return true;
      },
      [](const pugi::xml_node&) {});
  size_t missing = 0;
  for (const std::string& id : spine) {
    if (builder.full()) break;
    const auto href = hrefs.find(id);
    const std::string name = href == hrefs.end() ? std::string() : resolve(package, href->second);
    if (!parts.has(name)) {
      ++missing;
      continue;
    }
    Result<std::string> chapter = parts.read(name);
    if (!chapter) return std::unexpected(chapter.error());
    Result<DecodedText> decoded = decode_text(*chapter, declared_charset(*chapter), nullptr);
    if (!decoded) return fail_with_context(decoded.error(), "\"" + name + "\"");
    EDGE_INFER_RETURN_IF_ERROR(read_html_into(*decoded, 0, decoded->text().size(), true, limits, builder));
  }
  if (missing > 0)
    builder.document().note = fmt::format("{} of {} chapters are missing", missing, spine.size());
  Result<Document> read = std::move(builder).finish();
  if (!read && missing > 0)
    return fail(ErrorCode::kCorruption, "{} of {} chapters are missing", missing, spine.size());
  return read;
}

}  // namespace edge_infer
