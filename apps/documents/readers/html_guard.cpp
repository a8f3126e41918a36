#include "apps/documents/readers/html_guard.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace edge_infer {
namespace {

constexpr size_t kMaxAttributes = 256;
constexpr size_t kMaxDepth = 400;
constexpr size_t kMaxName = 16;

constexpr std::array<std::string_view, 27> kNeverDeep = {
    "area",  "base",  "br",     "col",   "embed", "hr",      "img",      "input", "link",
    "meta",  "param", "source", "track", "wbr",   "tr",      "td",       "th",    "thead",
    "tbody", "tfoot", "html",   "head",  "body",  "caption", "colgroup", "frame", "frameset"};
constexpr std::array<std::string_view, 8> kRawText = {"script", "style",  "textarea", "title",
                                                      "xmp",    "iframe", "noembed",  "noframes"};
// Start tags that close an open element of their own kind.
constexpr std::array<std::string_view, 4> kClosesItself = {"p", "li", "option", "button"};
constexpr std::array<std::string_view, 2> kDefinition = {"dt", "dd"};

template <size_t N>
bool in(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
}
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

class Guard {
 public:
  Guard(std::string_view html, bool xhtml) : out_(html), xhtml_(xhtml) {}

  std::string run() && {
    while (at_ < out_.size()) {
      at_ = out_.find('<', at_);
      if (at_ == std::string::npos) break;
      if (out_.compare(at_, 4, "<!--") == 0) {
        const size_t end = out_.find("-->", at_ + 4);
        if (end == std::string::npos) break;
        at_ = end + 3;
      } else if (at_ + 1 < out_.size() && is_letter(out_[at_ + 1])) {
        start_tag();
      } else if (at_ + 2 < out_.size() && out_[at_ + 1] == '/' && is_letter(out_[at_ + 2])) {
        end_tag();
      } else {
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  std::string name_at(size_t at) {
    std::string name;
    while (at < out_.size() && !is_space(out_[at]) && out_[at] != '>' && out_[at] != '/') {
      if (name.size() < kMaxName)
        name.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(out_[at]))));
      ++at;
    }
    position_ = at;
    return name;
  }

  // From behind the name to behind '>', blanking attributes over the limit. Returns whether the tag closes
  // itself.
  bool attributes() {
    size_t count = 0;
    bool slash = false;
    while (position_ < out_.size() && out_[position_] != '>') {
      if (is_space(out_[position_]) || out_[position_] == '/') {
        slash = out_[position_] == '/';
        ++position_;
        continue;
      }
      slash = false;
      const size_t from = position_;
      // An attribute's name may begin with '='.
      ++position_;
      while (position_ < out_.size() && !is_space(out_[position_]) && out_[position_] != '>' &&
             out_[position_] != '/' && out_[position_] != '=')
        ++position_;
      size_t value = position_;
      while (value < out_.size() && is_space(out_[value])) ++value;
      if (value < out_.size() && out_[value] == '=') {
        ++value;
        while (value < out_.size() && is_space(out_[value])) ++value;
        if (value < out_.size() && (out_[value] == '"' || out_[value] == '\'')) {
          const size_t close = out_.find(out_[value], value + 1);
          position_ = close == std::string::npos ? out_.size() : close + 1;
        } else {
          while (value < out_.size() && !is_space(out_[value]) && out_[value] != '>') ++value;
          position_ = value;
        }
      }
      if (++count > kMaxAttributes) std::fill(out_.begin() + pos(from), out_.begin() + pos(position_), ' ');
    }
    if (position_ < out_.size()) ++position_;
    return slash;
  }

  void start_tag() {
    const size_t from = at_;
    const std::string name = name_at(at_ + 1);
    const bool self_closed = attributes();
    at_ = position_;
    if (in(kRawText, name)) {
      if (xhtml_ && self_closed) {
        blank(from, at_);
      } else {
        skip_raw_text(name);
      }
      return;
    }
    if (in(kNeverDeep, name)) return;
    if (!open_.empty()) {
      if (open_.back() == "p" && name != "p" && !is_inline(name)) open_.pop_back();
      if (!open_.empty() && (closes(open_.back(), name))) open_.pop_back();
    }
    if (open_.size() >= kMaxDepth) {
      blank(from, at_);
      ++suppressed_;
      return;
    }
    open_.push_back(name);
  }

  void end_tag() {
    const size_t from = at_;
    const std::string name = name_at(at_ + 2);
    attributes();
    at_ = position_;
    if (in(kNeverDeep, name)) return;
    if (suppressed_ > 0) {
      --suppressed_;
      blank(from, at_);
      return;
    }
    const size_t reach = std::min<size_t>(open_.size(), 64);
    for (size_t back = 1; back <= reach; ++back) {
      if (open_[open_.size() - back] != name) continue;
      open_.resize(open_.size() - back);
      return;
    }
  }

  static bool closes(const std::string& open, const std::string& name) {
    return (open == name && in(kClosesItself, name)) || (in(kDefinition, open) && in(kDefinition, name));
  }
  static bool is_inline(const std::string& name) {
    static constexpr std::array<std::string_view, 22> names = {
        "a", "abbr", "b",    "big",   "cite", "code",   "em",  "font", "i",  "kbd", "mark",
        "q", "s",    "samp", "small", "span", "strong", "sub", "sup",  "tt", "u",   "var"};
    return in(names, name);
  }

  void skip_raw_text(const std::string& name) {
    // Case-insensitive search for "</name".
    for (size_t end = out_.find("</", at_); end != std::string::npos; end = out_.find("</", end + 2)) {
      const bool same = end + 2 + name.size() <= out_.size() &&
                        std::equal(name.begin(), name.end(), out_.begin() + pos(end + 2), [](char a, char b) {
                          return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
                        });
      if (!same) continue;
      at_ = end + 2 + name.size();
      return;
    }
    at_ = out_.size();
  }

  void blank(size_t from, size_t to) { std::fill(out_.begin() + pos(from), out_.begin() + pos(to), ' '); }
  static std::string::difference_type pos(size_t at) { return static_cast<std::string::difference_type>(at); }

  std::string out_;
  bool xhtml_;
  size_t at_ = 0, position_ = 0, suppressed_ = 0;
  std::vector<std::string> open_;
};

}  // namespace

std::string bound_html(std::string_view html, bool xhtml) {
  return Guard(html, xhtml).run();
}

}  // namespace edge_infer
