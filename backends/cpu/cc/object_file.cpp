#include "backends/cpu/cc/object_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <ranges>
#include <string>
#include <vector>

#include "backends/cpu/cc/elf_object.h"

namespace edge_infer {
namespace {

constexpr std::byte kPadding{0xcc};  // int3: control flow that strays stops

using Section = ElfObject::Section;
using Symbol = ElfObject::Symbol;

class Linker {
 public:
  Status add(std::span<const std::byte> bytes) {
    EDGE_INFER_ASSIGN(ElfObject object, ElfObject::read(bytes));
    objects_.push_back(std::move(object));
    return {};
  }

  Result<KernelBlob> link(std::string_view entry) {
    EDGE_INFER_RETURN_IF_ERROR(find_globals());
    for (const ElfObject& object : objects_)
      EDGE_INFER_RETURN_IF_ERROR(refuse_what_a_blob_cannot_hold(object));
    EDGE_INFER_RETURN_IF_ERROR(refuse_undefined());
    for (const bool code : {true, false})
      for (ElfObject& object : objects_) EDGE_INFER_RETURN_IF_ERROR(place(object, code));
    for (const ElfObject& object : objects_)
      for (const Section& section : object.sections())
        if (section.header.sh_type == SHT_RELA || section.header.sh_type == SHT_REL)
          EDGE_INFER_RETURN_IF_ERROR(relocate(object, section));
    EDGE_INFER_RETURN_IF_ERROR(find_entry(entry));
    return std::move(blob_);
  }

 private:
  struct Definition {
    const ElfObject* object;
    const Symbol* symbol;
  };

  Status find_globals() {
    for (const ElfObject& object : objects_)
      for (const Symbol& symbol : object.symbols() | std::views::drop(1))
        if (symbol.is_global() && !symbol.is_undefined() &&
            !globals_.emplace(symbol.name, Definition{&object, &symbol}).second)
          return fail(ErrorCode::kCorruption, "kernel code that defines \"{}\" twice", symbol.name);
    return {};
  }

  Status refuse_undefined() const {
    std::string undefined;
    for (const ElfObject& object : objects_)
      for (const Symbol& symbol : object.symbols() | std::views::drop(1))
        if (symbol.is_undefined() && !globals_.contains(symbol.name))
          undefined += fmt::format("{}\"{}\"", undefined.empty() ? "" : ", ", symbol.name);
    if (!undefined.empty())
      return fail(ErrorCode::kCorruption, "kernel code that calls or reads {}, which it does not define",
                  undefined);
    return {};
  }

  static Status refuse_what_a_blob_cannot_hold(const ElfObject& object) {
    for (const Symbol& symbol : object.symbols() | std::views::drop(1)) {
      if (symbol.entry.st_shndx == SHN_COMMON)
        return fail(ErrorCode::kCorruption, "kernel code with writable data \"{}\"", symbol.name);
      if (ELF64_ST_TYPE(symbol.entry.st_info) == STT_TLS)
        return fail(ErrorCode::kCorruption, "kernel code with thread-local data \"{}\"", symbol.name);
    }
    for (const Section& section : object.sections()) {
      const Elf64_Shdr& header = section.header;
      if (!section.is_loaded()) continue;
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
  Status place(ElfObject& object, bool code) {
    for (Section& section : object.sections()) {
      const Elf64_Shdr& header = section.header;
      if (!section.is_loaded() || ((header.sh_flags & SHF_EXECINSTR) != 0) != code) continue;
      if (header.sh_addralign > KernelBlob::kAlignment ||
          (header.sh_addralign & (header.sh_addralign - 1)) != 0)
        return fail(ErrorCode::kCorruption,
                    "kernel code whose {} is aligned to {} bytes, expected a power of two up to {}",
                    section.name, header.sh_addralign, KernelBlob::kAlignment);
      EDGE_INFER_ASSIGN(const auto bytes, object.contents(section));
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
  Result<uint64_t> address(const ElfObject& object, uint64_t index) const {
    if (index == 0 || index >= object.symbols().size())
      return fail(ErrorCode::kCorruption, "a relocation of symbol {} of {}", index, object.symbols().size());
    const Symbol& symbol = object.symbols()[index];
    return symbol.is_undefined() ? address(globals_.at(symbol.name)) : address({&object, &symbol});
  }
  static Result<uint64_t> address(const Definition& definition) {
    const Elf64_Sym& symbol = definition.symbol->entry;
    const std::vector<Section>& sections = definition.object->sections();
    if (symbol.st_shndx >= sections.size() || sections[symbol.st_shndx].place == ElfObject::kNotPlaced ||
        symbol.st_value > sections[symbol.st_shndx].header.sh_size)
      return fail(ErrorCode::kCorruption,
                  "symbol \"{}\" at {} of section {} is not in code or read-only data",
                  definition.symbol->name, symbol.st_value, symbol.st_shndx);
    return sections[symbol.st_shndx].place + symbol.st_value;
  }

  Status relocate(const ElfObject& object, const Section& table) {
    if (table.header.sh_info >= object.sections().size())
      return fail(ErrorCode::kCorruption, "relocations of section {} of {}", table.header.sh_info,
                  object.sections().size());
    const Section& target = object.sections()[table.header.sh_info];
    if (target.place == ElfObject::kNotPlaced) return {};  // of debug information, notes
    EDGE_INFER_ASSIGN(const auto entries, object.relocations(table));
    for (const Elf64_Rela& entry : entries) {
      const uint64_t type = ELF64_R_TYPE(entry.r_info);
      if (type != R_X86_64_PC32 && type != R_X86_64_PLT32)
        return fail(ErrorCode::kCorruption,
                    "kernel code with a relocation of type {} in {}, expected {} (PC32) or {} (PLT32)", type,
                    target.name, R_X86_64_PC32, R_X86_64_PLT32);
      if (target.header.sh_size < 4 || entry.r_offset > target.header.sh_size - 4)
        return fail(ErrorCode::kCorruption, "a relocation at {} of {}, which has {} bytes", entry.r_offset,
                    target.name, target.header.sh_size);
      EDGE_INFER_ASSIGN(const uint64_t symbol, address(object, ELF64_R_SYM(entry.r_info)));
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
    const auto it = globals_.find(entry);
    if (it == globals_.end() || ELF64_ST_TYPE(it->second.symbol->entry.st_info) != STT_FUNC)
      return fail(ErrorCode::kCorruption, "kernel code that does not define the function \"{}\"", entry);
    EDGE_INFER_ASSIGN(blob_.entry, address(it->second));
    const Elf64_Sym& symbol = it->second.symbol->entry;
    const Section& section = it->second.object->sections()[symbol.st_shndx];
    if ((section.header.sh_flags & SHF_EXECINSTR) == 0 || symbol.st_value >= section.header.sh_size)
      return fail(ErrorCode::kCorruption, "the function \"{}\" lies outside of code", entry);
    return {};
  }

  std::vector<ElfObject> objects_;
  std::map<std::string_view, Definition> globals_;
  KernelBlob blob_;
};

}  // namespace

Result<KernelBlob> link_objects(std::span<const std::span<const std::byte>> objects, std::string_view entry) {
  Linker linker;
  for (const std::span<const std::byte> object : objects) EDGE_INFER_RETURN_IF_ERROR(linker.add(object));
  return linker.link(entry);
}

}  // namespace edge_infer
