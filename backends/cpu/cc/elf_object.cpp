#include "backends/cpu/cc/elf_object.h"

#include <cstring>

namespace edge_infer {
namespace {

constexpr size_t kMaxSections = 4096;
constexpr size_t kMaxSymbols = 65536;

Result<std::string_view> name_at(std::string_view table, uint64_t offset) {
  const size_t end = offset < table.size() ? table.find('\0', offset) : std::string_view::npos;
  if (end == std::string_view::npos)
    return fail(ErrorCode::kCorruption, "an object file with a name at {} outside of its string table",
                offset);
  return table.substr(offset, end - offset);
}

}  // namespace

Result<ElfObject> ElfObject::read(std::span<const std::byte> bytes) {
  ElfObject object(bytes);
  EDGE_INFER_RETURN_IF_ERROR(object.read_sections());
  EDGE_INFER_RETURN_IF_ERROR(object.read_symbols());
  return object;
}

Result<std::span<const std::byte>> ElfObject::range(uint64_t offset, uint64_t size,
                                                    std::string_view what) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset)
    return fail(ErrorCode::kCorruption, "an object file of {} bytes whose {} is at {} with {} bytes",
                bytes_.size(), what, offset, size);
  return bytes_.subspan(offset, size);
}

// The file need not align its records.
template <typename T>
Result<std::vector<T>> ElfObject::records(uint64_t offset, uint64_t count, std::string_view what) const {
  if (count > bytes_.size() / sizeof(T))
    return fail(ErrorCode::kCorruption, "an object file of {} bytes whose {} has {} entries", bytes_.size(),
                what, count);
  EDGE_INFER_ASSIGN(const auto source, range(offset, count * sizeof(T), what));
  std::vector<T> records(count);
  if (count > 0) std::memcpy(records.data(), source.data(), source.size());
  return records;
}

Result<std::string_view> ElfObject::string_table(const Elf64_Shdr& section) const {
  if (section.sh_type != SHT_STRTAB)
    return fail(ErrorCode::kCorruption, "an object file with a string table of type {}, expected {}",
                section.sh_type, SHT_STRTAB);
  EDGE_INFER_ASSIGN(const auto bytes, range(section.sh_offset, section.sh_size, "string table"));
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status ElfObject::read_sections() {
  EDGE_INFER_ASSIGN(const auto headers, records<Elf64_Ehdr>(0, 1, "header"));
  const Elf64_Ehdr& header = headers[0];
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL || header.e_machine != EM_X86_64)
    return fail(ErrorCode::kCorruption, "not a relocatable ELF64 object of x86-64");
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMaxSections)
    return fail(ErrorCode::kCorruption,
                "an object file with {} section headers of {} bytes, expected at most {} of {}",
                header.e_shnum, header.e_shentsize, kMaxSections, sizeof(Elf64_Shdr));
  EDGE_INFER_ASSIGN(const auto sections,
                    records<Elf64_Shdr>(header.e_shoff, header.e_shnum, "section headers"));
  if (header.e_shstrndx >= sections.size())
    return fail(ErrorCode::kCorruption, "an object file whose section {} of names is not one of {}",
                header.e_shstrndx, sections.size());
  EDGE_INFER_ASSIGN(const std::string_view names, string_table(sections[header.e_shstrndx]));
  for (const Elf64_Shdr& section : sections) {
    EDGE_INFER_ASSIGN(const std::string_view name, name_at(names, section.sh_name));
    sections_.push_back({section, name});
  }
  return {};
}

Status ElfObject::read_symbols() {
  for (const Section& section : sections_) {
    if (section.header.sh_type != SHT_SYMTAB) continue;
    if (!symbols_.empty()) return fail(ErrorCode::kCorruption, "an object file with two symbol tables");
    const uint64_t count = section.header.sh_size / sizeof(Elf64_Sym);
    if (count == 0 || count > kMaxSymbols || section.header.sh_link >= sections_.size())
      return fail(ErrorCode::kCorruption, "an object file with {} symbols named by section {}", count,
                  section.header.sh_link);
    EDGE_INFER_ASSIGN(const auto entries,
                      records<Elf64_Sym>(section.header.sh_offset, count, "symbol table"));
    EDGE_INFER_ASSIGN(const std::string_view names, string_table(sections_[section.header.sh_link].header));
    for (const Elf64_Sym& entry : entries) {
      EDGE_INFER_ASSIGN(const std::string_view name, name_at(names, entry.st_name));
      symbols_.push_back({entry, name});
    }
    symbol_table_ = static_cast<uint32_t>(&section - sections_.data());
  }
  if (symbols_.empty()) return fail(ErrorCode::kCorruption, "an object file without a symbol table");
  return {};
}

Result<std::span<const std::byte>> ElfObject::contents(const Section& section) const {
  return range(section.header.sh_offset, section.header.sh_size, section.name);
}

Result<std::vector<Elf64_Rela>> ElfObject::relocations(const Section& table) const {
  if (table.header.sh_type != SHT_RELA)
    return fail(ErrorCode::kCorruption, "relocations of {} without addends", table.name);
  if (table.header.sh_link != symbol_table_)
    return fail(ErrorCode::kCorruption, "relocations of {} with a symbol table of their own", table.name);
  return records<Elf64_Rela>(table.header.sh_offset, table.header.sh_size / sizeof(Elf64_Rela),
                             "relocations");
}

}  // namespace edge_infer
