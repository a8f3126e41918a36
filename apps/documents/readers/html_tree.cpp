#include "apps/documents/readers/html_tree.h"

#include <cstdlib>

namespace edge_infer {

void* HtmlArena::allocate(void* self, size_t size) {
  auto& arena = *static_cast<HtmlArena*>(self);
  arena.budget_ -= static_cast<int64_t>(size + sizeof(Header));
  auto* header = arena.budget_ < 0 ? nullptr : static_cast<Header*>(std::malloc(size + sizeof(Header)));
  if (header == nullptr) std::longjmp(arena.out_of_memory, 1);
  *header = {arena.head_.next, &arena.head_, size, 0};
  header->next->previous = header;
  arena.head_.next = header;
  return header + 1;
}

void HtmlArena::release(void* self, void* memory) {
  if (memory == nullptr) return;
  Header* header = static_cast<Header*>(memory) - 1;
  static_cast<HtmlArena*>(self)->budget_ += static_cast<int64_t>(header->size + sizeof(Header));
  header->next->previous = header->previous;
  header->previous->next = header->next;
  std::free(header);
}

// Trivially destructible locals only between setjmp and the parser: longjmp skips destructors.
bool parse_html(HtmlTree& tree, const char* text, size_t size) {
  if (setjmp(tree.arena.out_of_memory) != 0) return false;
  GumboOptions options = kGumboDefaultOptions;
  options.allocator = &HtmlArena::allocate;
  options.deallocator = &HtmlArena::release;
  options.userdata = &tree.arena;
  options.max_errors = 0;
  tree.output = gumbo_parse_with_options(&options, text, size);
  return tree.output != nullptr;
}

}  // namespace edge_infer
