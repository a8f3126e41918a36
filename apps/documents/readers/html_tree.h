// gumbo's parse of a page, within a budget of memory.
#pragma once

#include <gumbo.h>

#include <csetjmp>
#include <cstddef>
#include <cstdint>

namespace edge_infer {

// Everything one parse allocates, freed at once: gumbo frees a tree by recursion, which a deep page would
// overflow. Running out of memory or budget leaves the parser by longjmp: gumbo checks no allocation.
class HtmlArena {
 public:
  explicit HtmlArena(int64_t budget) : budget_(budget) { head_.next = head_.previous = &head_; }
  ~HtmlArena() {
    while (head_.next != &head_) release(this, head_.next + 1);
  }
  HtmlArena(const HtmlArena&) = delete;
  HtmlArena& operator=(const HtmlArena&) = delete;

  // As gumbo calls them; `self` is the arena.
  static void* allocate(void* self, size_t size);
  static void release(void* self, void* memory);

  std::jmp_buf out_of_memory;

 private:
  struct alignas(16) Header {
    Header *next, *previous;
    size_t size, unused;
  };
  int64_t budget_;
  Header head_{};
};

struct HtmlTree {
  explicit HtmlTree(int64_t budget) : arena(budget) {}
  HtmlArena arena;
  GumboOutput* output = nullptr;  // lies in the arena
};

// False: the page needs more than the budget.
bool parse_html(HtmlTree& tree, const char* text, size_t size);

}  // namespace edge_infer
