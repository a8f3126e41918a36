#include "apps/documents/readers/pdfium.h"

#include <dlfcn.h>

namespace edge_infer {
namespace {

// FPDF_LIBRARY_CONFIG, version 2.
struct LibraryConfig {
  int version;
  const char** user_font_paths;
  void* isolate;
  unsigned int v8_embedder_slot;
};

template <typename Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

}  // namespace

Result<std::unique_ptr<Pdfium>> Pdfium::load(const std::string& path) {
  std::unique_ptr<Pdfium> p(new Pdfium);
  p->library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (p->library_ == nullptr) {
    const char* reason = ::dlerror();
    return fail(ErrorCode::kInternal, "pdf support needs libpdfium.so: {}",
                reason != nullptr ? reason : path);
  }
  void (*init)(const LibraryConfig*) = nullptr;
  void* const l = p->library_;
  const bool found =
      find(l, "FPDF_InitLibraryWithConfig", init) && find(l, "FPDF_DestroyLibrary", p->destroy_library_) &&
      find(l, "FPDF_LoadMemDocument64", p->load_mem_document) &&
      find(l, "FPDF_CloseDocument", p->close_document) && find(l, "FPDF_GetLastError", p->last_error) &&
      find(l, "FPDF_GetPageCount", p->page_count) && find(l, "FPDF_LoadPage", p->load_page) &&
      find(l, "FPDF_ClosePage", p->close_page) && find(l, "FPDF_GetMetaText", p->meta_text) &&
      find(l, "FPDFText_LoadPage", p->text_load_page) && find(l, "FPDFText_ClosePage", p->text_close_page) &&
      find(l, "FPDFText_CountChars", p->text_count_chars) &&
      find(l, "FPDFText_GetUnicode", p->text_unicode) &&
      find(l, "FPDFText_IsGenerated", p->text_is_generated) &&
      find(l, "FPDFText_GetCharOrigin", p->text_char_origin) &&
      find(l, "FPDFText_GetLooseCharBox", p->text_loose_char_box) &&
      find(l, "FPDFText_GetFontInfo", p->text_font_info) &&
      find(l, "FPDFBookmark_GetFirstChild", p->bookmark_first_child) &&
      find(l, "FPDFBookmark_GetNextSibling", p->bookmark_next_sibling) &&
      find(l, "FPDFBookmark_GetTitle", p->bookmark_title) &&
      find(l, "FPDFBookmark_GetDest", p->bookmark_dest) &&
      find(l, "FPDFDest_GetDestPageIndex", p->dest_page_index);
  if (!found) {
    p->destroy_library_ = nullptr;
    return fail(ErrorCode::kInternal, "pdf support needs libpdfium.so: \"{}\" lacks a function of it", path);
  }
  static const char* no_fonts[] = {nullptr};
  const LibraryConfig config{2, no_fonts, nullptr, 0};
  init(&config);
  return p;
}

Pdfium::~Pdfium() {
  if (destroy_library_ != nullptr) destroy_library_();
  if (library_ != nullptr) ::dlclose(library_);
}

}  // namespace edge_infer
