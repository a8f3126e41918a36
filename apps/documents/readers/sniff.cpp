#include <algorithm>
#include <array>
#include <cctype>

#include "apps/documents/readers/readers.h"

namespace edge_infer {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  size_t offset;
  bool letters;  // a text could begin so: counts only where the rest is binary
  const char* name;
};

// Kinds that no reader handles, named for the message.
constexpr Magic kForeign[] = {
    {"\x7f"
     "ELF"sv,
     0, false, "an ELF program"},
    {"\x89PNG"sv, 0, false, "a PNG image"},
    {"\xff\xd8\xff"sv, 0, false, "a JPEG image"},
    {"GIF8"sv, 0, true, "a GIF image"},
    {"II*\0"sv, 0, false, "a TIFF image"},
    {"MM\0*"sv, 0, false, "a TIFF image"},
    {"RIFF"sv, 0, true, "a RIFF file (WebP, WAV or AVI)"},
    {"\x1f\x8b"sv, 0, false, "gzip data"},
    {"BZh"sv, 0, true, "bzip2 data"},
    {"\xfd"
     "7zXZ"sv,
     0, false, "xz data"},
    {"\x28\xb5\x2f\xfd"sv, 0, false, "zstd data"},
    {"7z\xbc\xaf\x27\x1c"sv, 0, false, "a 7-zip archive"},
    {"Rar!\x1a\x07"sv, 0, false, "a RAR archive"},
    {"ustar"sv, 257, true, "a tar archive"},
    {"!<arch>\n"sv, 0, true, "an ar archive"},
    {"ID3"sv, 0, true, "an MP3 file"},
    {"OggS"sv, 0, true, "an Ogg file"},
    {"fLaC"sv, 0, true, "a FLAC file"},
    {"ftyp"sv, 4, true, "an MPEG-4 or HEIF file"},
    {"\x1a\x45\xdf\xa3"sv, 0, false, "a Matroska file"},
    {"SQLite format 3"sv, 0, true, "an SQLite database"},
    {"\0asm"sv, 0, false, "a WebAssembly module"},
    {"\xca\xfe\xba\xbe"sv, 0, false, "a Java class or Mach-O program"},
    {"\xcf\xfa\xed\xfe"sv, 0, false, "a Mach-O program"},
    {"{\\rtf"sv, 0, false, "an RTF document"},
    {"%!PS"sv, 0, false, "a PostScript document"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, 0, false, "an OLE file (an old or an encrypted Office document)"},
    {"wOFF"sv, 0, true, "a web font"},
    {"AT&TFORM"sv, 0, true, "a DjVu document"},
};

constexpr std::array<std::string_view, 26> kReadable = {
    ".txt",  ".text", ".md",  ".markdown", ".mkd",  ".rst", ".html", ".htm",  ".xhtml",
    ".pdf",  ".docx", ".odt", ".epub",     ".csv",  ".tsv", ".log",  ".json", ".xml",
    ".yaml", ".yml",  ".ini", ".tex",      ".info", ".org", ".py",   ".c"};

bool one_of(std::string_view ending, std::initializer_list<std::string_view> endings) {
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

// Content that no reader handles: broken when the name promised otherwise, else just not ours.
std::unexpected<Error> foreign(std::string_view what, std::string_view ending) {
  const bool promised = std::find(kReadable.begin(), kReadable.end(), ending) != kReadable.end();
  if (promised) return fail(ErrorCode::kCorruption, "is named {} but holds {}", ending, what);
  return fail(ErrorCode::kUnsupported, "no reader for {}", what);
}

bool starts_like_html(std::string_view source) {
  std::string head(source.substr(0, 1024));
  std::transform(head.begin(), head.end(), head.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  size_t at = head.starts_with("\xef\xbb\xbf") ? 3 : 0;
  while (at < head.size() && std::isspace(static_cast<unsigned char>(head[at]))) ++at;
  const std::string_view rest = std::string_view(head).substr(at);
  return rest.starts_with("<!doctype html") || rest.starts_with("<html") ||
         (rest.starts_with("<?xml") && rest.find("<html") != std::string_view::npos);
}

}  // namespace

std::string name_ending(std::string_view name) {
  if (const size_t slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  std::string ending(name.substr(dot));
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return ending;
}

Result<Format> sniff_format(std::string_view source, std::string_view name) {
  const std::string ending = name_ending(name);
  if (source.empty()) return fail(ErrorCode::kUnsupported, "the file is empty");
  // Readers of PDF allow up to 1,024 bytes before the header.
  if (source.starts_with("%PDF-") ||
      (ending == ".pdf" && source.substr(0, 1024 + 5).find("%PDF-") != std::string_view::npos))
    return Format::kPdf;
  if (source.starts_with("PK\x03\x04") || source.starts_with("PK\x05\x06")) return Format::kZip;
  const bool binary = looks_binary(source);
  for (const Magic& magic : kForeign)
    if ((binary || !magic.letters) && source.size() > magic.offset &&
        source.substr(magic.offset).starts_with(magic.bytes))
      return foreign(magic.name, ending);
  if (binary) return foreign("binary data", ending);
  if (one_of(ending, {".docx", ".odt", ".epub"})) return foreign("text, not a zip archive", ending);
  if (one_of(ending, {".html", ".htm", ".xhtml", ".xht"})) return Format::kHtml;
  if (one_of(ending, {".md", ".markdown", ".mkd", ".mdown"})) return Format::kMarkdown;
  if (starts_like_html(source)) return Format::kHtml;
  return Format::kText;
}

Result<PreparedDocument> PreparedDocument::prepare(std::string_view source, std::string_view name,
                                                   const std::string& pdfium_path) {
  PreparedDocument p;
  EDGE_INFER_ASSIGN(p.format_, sniff_format(source, name));
  p.source_ = source;
  p.name_ = name;
  if (p.format_ == Format::kHtml) {
    p.label_ = declared_charset(source);
    p.charset_ = Charset::open(p.label_);
  }
  if (p.format_ == Format::kPdf) {
    if (pdfium_path.empty())
      return fail(
          ErrorCode::kInternal,
          "pdf support needs libpdfium.so beside the program, in ../lib, or named by $EDGE_INFER_PDFIUM");
    EDGE_INFER_ASSIGN(p.pdfium_, Pdfium::load(pdfium_path));
  }
  return p;
}

Result<Document> PreparedDocument::read(const ReadLimits& limits) {
  if (format_ == Format::kPdf) return read_pdf(source_, *pdfium_, limits);
  if (format_ == Format::kZip) return read_zip(source_, name_, limits);
  EDGE_INFER_ASSIGN(const DecodedText text, decode_text(source_, label_, charset_.get()));
  Result<Document> document = format_ == Format::kHtml       ? read_html(text, limits)
                              : format_ == Format::kMarkdown ? read_markdown(text, limits)
                                                             : read_text(text, limits);
  if (document && !text.note.empty()) document->note = text.note;
  return document;
}

}  // namespace edge_infer
