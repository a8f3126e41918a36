#include "backends/cpu/cc/object_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace edge_infer {
namespace {

constexpr size_t kMaxSections = 4096;
constexpr size_t kMaxSymbols = 65536;
constexpr uint64_t kNotPlaced = std::numeric_limits<uint64_t>::max();
constexpr std::byte kPadding{0xcc};  // int3: control flow that strays stops

// The object's bytes; nothing else in this file reads them.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<std::span<const std::byte>> range(uint64_t offset, uint64_t size, std::string_view what) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      return fail(ErrorCode::kCorruption, "an object file of {} bytes whose {} is at {} with {} bytes",
                  bytes_.size(), what, offset, size);
    return bytes_.subspan(offset, size);
  }

  // `count` records of T; the file need not align them.
  template <typename T>
  Result<std::vector<T>> records(uint64_t offset, uint64_t count, std::string_view what) const {
    if (count > bytes_.size() / sizeof(T))
      return fail(ErrorCode::kCorruption, "an object file of {} bytes whose {} has {} entries", bytes_.size(),
                  what, count);
    EDGE_INFER_ASSIGN(const auto source, range(offset, count * sizeof(T), what));
    std::vector<T> records(count);
    if (count > 0) std::memcpy(records.data(), source.data(), source.size());
    return records;
  }

 private:
  std::span<const std::byte> bytes_;
};

class StringTable {
 public:
  StringTable() = default;
  explicit StringTable(std::span<const std::byte> bytes)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}
  Result<std::string_view> at(uint64_t offset) const {
    const size_t end = offset < text_.size() ? text_.find('\0', offset) : std::string_view::npos;
    if (end == std::string_view::npos)
      return fail(ErrorCode::kCorruption, "an object file with a name at {} outside of its string table",
                  offset);
    return text_.substr(offset, end - offset);
  }

 private:
  std::string_view text_;
};

struct Section {
  Elf64_Shdr header;
  std::string_view name;
  uint64_t place = kNotPlaced;  // offset in the image
};

class Linker {
 public:
  explicit Linker(std::span<const std::byte> object) : bytes_(object) {}

  Result<KernelBlob> link(std::string_view entry) {
    EDGE_INFER_RETURN_IF_ERROR(read_sections());
    EDGE_INFER_RETURN_IF_ERROR(read_symbols());
    EDGE_INFER_RETURN_IF_ERROR(refuse_what_a_blob_cannot_hold());
    EDGE_INFER_RETURN_IF_ERROR(place(true));
    EDGE_INFER_RETURN_IF_ERROR(place(false));
    for (const Section& section : sections_)
      if (section.header.sh_type == SHT_RELA || section.header.sh_type == SHT_REL)
        EDGE_INFER_RETURN_IF_ERROR(relocate(section));
    EDGE_INFER_RETURN_IF_ERROR(find_entry(entry));
    return std::move(blob_);
  }

 private:
  Status read_sections() {
    EDGE_INFER_ASSIGN(const auto headers, bytes_.records<Elf64_Ehdr>(0, 1, "header"));
    const Elf64_Ehdr& header = headers[0];
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL || header.e_machine != EM_X86_64)
      return fail(ErrorCode::kCorruption, "not a relocatable ELF64 object of x86-64");
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMaxSections)
      return fail(ErrorCode::kCorruption,
                  "an object file with {} section headers of {} bytes, expected at most {} of {}",
                  header.e_shnum, header.e_shentsize, kMaxSections, sizeof(Elf64_Shdr));
    EDGE_INFER_ASSIGN(const auto sections,
                      bytes_.records<Elf64_Shdr>(header.e_shoff, header.e_shnum, "section headers"));
    if (header.e_shstrndx >= sections.size())
      return fail(ErrorCode::kCorruption, "an object file whose section {} of names is not one of {}",
                  header.e_shstrndx, sections.size());
    EDGE_INFER_ASSIGN(const StringTable names, string_table(sections[header.e_shstrndx]));
    for (const Elf64_Shdr& section : sections) {
      EDGE_INFER_ASSIGN(const std::string_view name, names.at(section.sh_name));
      sections_.push_back({section, name});
    }
    return {};
  }

  Result<StringTable> string_table(const Elf64_Shdr& section) const {
    if (section.sh_type != SHT_STRTAB)
      return fail(ErrorCode::kCorruption, "an object file with a string table of type {}, expected {}",
                  section.sh_type, SHT_STRTAB);
    EDGE_INFER_ASSIGN(const auto bytes, bytes_.range(section.sh_offset, section.sh_size, "string table"));
    return StringTable(bytes);
  }

  Status read_symbols() {
    for (const Section& section : sections_) {
      if (section.header.sh_type != SHT_SYMTAB) continue;
      if (!symbols_.empty()) return fail(ErrorCode::kCorruption, "an object file with two symbol tables");
      const uint64_t count = section.header.sh_size / sizeof(Elf64_Sym);
      if (count == 0 || count > kMaxSymbols || section.header.sh_link >= sections_.size())
        return fail(ErrorCode::kCorruption, "an object file with {} symbols named by section {}", count,
                    section.header.sh_link);
      EDGE_INFER_ASSIGN(symbols_, bytes_.records<Elf64_Sym>(section.header.sh_offset, count, "symbol table"));
      EDGE_INFER_ASSIGN(symbol_names_, string_table(sections_[section.header.sh_link].header));
      symbol_table_ = static_cast<uint32_t>(&section - sections_.data());
    }
    if (symbols_.empty()) return fail(ErrorCode::kCorruption, "an object file without a symbol table");
    return {};
  }

  Status refuse_what_a_blob_cannot_hold() const {
    std::string undefined;
    for (size_t i = 1; i < symbols_.size(); ++i) {
      const Elf64_Sym& symbol = symbols_[i];
      EDGE_INFER_ASSIGN(const std::string_view name, symbol_names_.at(symbol.st_name));
      if (symbol.st_shndx == SHN_COMMON)
        return fail(ErrorCode::kCorruption, "kernel code with writable data \"{}\"", name);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_TLS)
        return fail(ErrorCode::kCorruption, "kernel code with thread-local data \"{}\"", name);
      if (symbol.st_shndx == SHN_UNDEF)
        undefined += fmt::format("{}\"{}\"", undefined.empty() ? "" : ", ", name);
    }
    if (!undefined.empty())
      return fail(ErrorCode::kCorruption, "kernel code that calls or reads {}, which it does not define",
                  undefined);
    for (const Section& section : sections_) {
      const Elf64_Shdr& header = section.header;
      if ((header.sh_flags & SHF_ALLOC) == 0 || header.sh_size == 0) continue;
      if ((header.sh_flags & SHF_TLS) != 0)
        return fail(ErrorCode::kCorruption, "kernel code with thread-local data ({} has {} bytes)",
                    section.name, header.sh_size);
      if ((header.sh_flags & SHF_WRITE) != 0 || header.sh_type == SHT_NOBITS)
        return fail(ErrorCode::kCorruption,
                    "kernel code with writable data or pointers in data ({} has {} bytes)", section.name,
                    header.sh_size);
      if (header.sh_type != SHT_PROGBITS)
        return fail(ErrorCode::kCorruption, "kernel code with section {} of type {}, expected only {}",
                    section.name, header.sh_type, SHT_PROGBITS);
    }
    return {};
  }

  // Copies the sections of code, or those of data, to the end of the image.
  Status place(bool code) {
    for (Section& section : sections_) {
      const Elf64_Shdr& header = section.header;
      if ((header.sh_flags & SHF_ALLOC) == 0 || header.sh_size == 0) continue;
      if (((header.sh_flags & SHF_EXECINSTR) != 0) != code) continue;
      if (header.sh_addralign > KernelBlob::kAlignment ||
          (header.sh_addralign & (header.sh_addralign - 1)) != 0)
        return fail(ErrorCode::kCorruption,
                    "kernel code whose {} is aligned to {} bytes, expected a power of two up to {}",
                    section.name, header.sh_addralign, KernelBlob::kAlignment);
      EDGE_INFER_ASSIGN(const auto bytes, bytes_.range(header.sh_offset, header.sh_size, section.name));
      std::vector<std::byte>& image = blob_.image;
      const size_t start =
          (image.size() + KernelBlob::kAlignment - 1) / KernelBlob::kAlignment * KernelBlob::kAlignment;
      if (bytes.size() > KernelBlob::kMaxBytes - std::min(start, KernelBlob::kMaxBytes))
        return fail(ErrorCode::kResourceExhausted, "kernel code of more than {} bytes",
                    KernelBlob::kMaxBytes);
      image.resize(start, kPadding);
      image.insert(image.end(), bytes.begin(), bytes.end());
      section.place = start;
    }
    return {};
  }

  // Where a symbol lies in the image.
  Result<uint64_t> address(uint64_t index) const {
    if (index == 0 || index >= symbols_.size())
      return fail(ErrorCode::kCorruption, "a relocation of symbol {} of {}", index, symbols_.size());
    const Elf64_Sym& symbol = symbols_[index];
    if (symbol.st_shndx >= sections_.size() || sections_[symbol.st_shndx].place == kNotPlaced ||
        symbol.st_value > sections_[symbol.st_shndx].header.sh_size)
      return fail(ErrorCode::kCorruption, "symbol {} at {} of section {} is not in code or read-only data",
                  index, symbol.st_value, symbol.st_shndx);
    return sections_[symbol.st_shndx].place + symbol.st_value;
  }

  Status relocate(const Section& table) {
    if (table.header.sh_info >= sections_.size())
      return fail(ErrorCode::kCorruption, "relocations of section {} of {}", table.header.sh_info,
                  sections_.size());
    const Section& target = sections_[table.header.sh_info];
    if (target.place == kNotPlaced) return {};  // of debug information, notes
    if (table.header.sh_type != SHT_RELA)
      return fail(ErrorCode::kCorruption, "relocations of {} without addends", target.name);
    if (table.header.sh_link != symbol_table_)
      return fail(ErrorCode::kCorruption, "relocations of {} with a symbol table of their own", target.name);
    EDGE_INFER_ASSIGN(const auto entries,
                      bytes_.records<Elf64_Rela>(table.header.sh_offset,
                                                 table.header.sh_size / sizeof(Elf64_Rela), "relocations"));
    for (const Elf64_Rela& entry : entries) {
      const uint64_t type = ELF64_R_TYPE(entry.r_info);
      if (type != R_X86_64_PC32 && type != R_X86_64_PLT32)
        return fail(ErrorCode::kCorruption,
                    "kernel code with a relocation of type {} in {}, expected {} (PC32) or {} (PLT32)", type,
                    target.name, R_X86_64_PC32, R_X86_64_PLT32);
      if (target.header.sh_size < 4 || entry.r_offset > target.header.sh_size - 4)
        return fail(ErrorCode::kCorruption, "a relocation at {} of {}, which has {} bytes", entry.r_offset,
                    target.name, target.header.sh_size);
      EDGE_INFER_ASSIGN(const uint64_t symbol, address(ELF64_R_SYM(entry.r_info)));
      const uint64_t place = target.place + entry.r_offset;
      // Both are below kMaxBytes, so that only the addend can be out of range.
      constexpr int64_t kReach = static_cast<int64_t>(KernelBlob::kMaxBytes);
      if (entry.r_addend < -kReach || entry.r_addend > kReach)
        return fail(ErrorCode::kCorruption, "a relocation with the addend {}", entry.r_addend);
      const auto value =
          static_cast<int32_t>(static_cast<int64_t>(symbol) + entry.r_addend - static_cast<int64_t>(place));
      std::memcpy(&blob_.image[place], &value, sizeof value);
    }
    return {};
  }

  Status find_entry(std::string_view entry) {
    for (size_t i = 1; i < symbols_.size(); ++i) {
      EDGE_INFER_ASSIGN(const std::string_view name, symbol_names_.at(symbols_[i].st_name));
      if (name != entry || ELF64_ST_TYPE(symbols_[i].st_info) != STT_FUNC ||
          ELF64_ST_BIND(symbols_[i].st_info) != STB_GLOBAL)
        continue;
      EDGE_INFER_ASSIGN(blob_.entry, address(i));
      const Section& section = sections_[symbols_[i].st_shndx];
      if ((section.header.sh_flags & SHF_EXECINSTR) == 0 || symbols_[i].st_value >= section.header.sh_size)
        return fail(ErrorCode::kCorruption, "the function \"{}\" lies outside of code", entry);
      return {};
    }
    return fail(ErrorCode::kCorruption, "kernel code that does not define the function \"{}\"", entry);
  }

  Bytes bytes_;
  std::vector<Section> sections_;
  std::vector<Elf64_Sym> symbols_;
  StringTable symbol_names_;
  uint32_t symbol_table_ = 0;
  KernelBlob blob_;
};

}  // namespace

Result<KernelBlob> link_object(std::span<const std::byte> object, std::string_view entry) {
  return Linker(object).link(entry);
}

}  // namespace edge_infer
