// One relocatable object file: its sections and symbols, checked against the file's own size.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

class ElfObject {
 public:
  static constexpr uint64_t kNotPlaced = std::numeric_limits<uint64_t>::max();

  struct Section {
    Elf64_Shdr header;
    std::string_view name;
    uint64_t place = kNotPlaced;  // offset in the image, for the linker
    // In memory when the code runs.
    bool is_loaded() const { return (header.sh_flags & SHF_ALLOC) != 0 && header.sh_size != 0; }
  };
  struct Symbol {
    Elf64_Sym entry;
    std::string_view name;
    bool is_undefined() const { return entry.st_shndx == SHN_UNDEF; }
    bool is_global() const { return ELF64_ST_BIND(entry.st_info) == STB_GLOBAL; }
  };

  // `bytes` are not trusted and must outlive the object. Errors: kCorruption for what is not an ELF64 object
  // of x86-64 and for a file that contradicts its format.
  static Result<ElfObject> read(std::span<const std::byte> bytes);

  std::vector<Section>& sections() { return sections_; }
  const std::vector<Section>& sections() const { return sections_; }
  // The first one is no symbol.
  const std::vector<Symbol>& symbols() const { return symbols_; }
  // Errors, here and below: kCorruption for what lies outside of the file.
  Result<std::span<const std::byte>> contents(const Section& section) const;
  Result<std::vector<Elf64_Rela>> relocations(const Section& table) const;

 private:
  explicit ElfObject(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Status read_sections();
  Status read_symbols();
  Result<std::span<const std::byte>> range(uint64_t offset, uint64_t size, std::string_view what) const;
  template <typename T>
  Result<std::vector<T>> records(uint64_t offset, uint64_t count, std::string_view what) const;
  Result<std::string_view> string_table(const Elf64_Shdr& section) const;

  std::span<const std::byte> bytes_;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
  uint32_t symbol_table_ = 0;
};

}  // namespace edge_infer
