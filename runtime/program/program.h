// Program: plain data that says how a graph runs: symbols, buffers with their plan, constants, kernels,
// phases. It holds no pointer and no code, so that it can be printed, stored and compared (loop_ir.md §9,
// §10).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/symbolic/sym_int.h"

namespace edge_infer {

enum class BufferRole { kInput, kOutput, kTemp, kConstant, kState, kSaved, kIndex };

struct BufferDecl {
  BufferRole role = BufferRole::kTemp;
  DType dtype = DType::kF32;
  std::vector<SymInt> sizes;
  int32_t index = -1;  // kInput, kOutput, kState, kSaved: position among those of the call; kConstant: in
                       // constants; kIndex: in unit_lists
  int32_t slot = -1;   // kTemp: arena slot (buffer plan)
  friend bool operator==(const BufferDecl&, const BufferDecl&) = default;
};

// Where a constant's bytes come from. `format` "raw" is the tensor as in its file; other names are packed
// formats that a device declares (Device::packed_bytes, Device::pack), made once and kept in a mapped file.
struct ConstantDecl {
  std::vector<std::string> sources;  // tensor names; several are concatenated along rows before packing
  std::string format = "raw";
  DType dtype = DType::kF32;
  std::vector<int64_t> sizes;      // of the whole (concatenated) tensor
  std::vector<std::byte> literal;  // the bytes themselves, for small folded constants; sources is empty then
  friend bool operator==(const ConstantDecl&, const ConstantDecl&) = default;
};

// The work units of packed sequences: {sequence, first row in it} for each block of `block_rows` rows, blocks
// counted from the sequence's first row. Made by the executor from the i32 offsets buffer `offsets` (B + 1
// entries, ascending from 0); the number of units becomes the value of symbol `count`.
struct UnitListDecl {
  int32_t offsets = -1;  // buffer
  int64_t block_rows = 0;
  std::string count;
  friend bool operator==(const UnitListDecl&, const UnitListDecl&) = default;
};

// `name` is "prebuilt:<op>.<dtype>" or "kernel:<KernelKey::id()>" (compiled code in the cache).
struct KernelRef {
  std::string name;
  friend bool operator==(const KernelRef&, const KernelRef&) = default;
};

// One way to run a call. `integers` are evaluated for each run and passed as KernelArgs::integers.
struct Call {
  int32_t kernel = -1;
  std::vector<int32_t> buffers;  // -1: absent
  std::vector<SymInt> integers;
  // Domain; rows and columns are split in multiples of the grains.
  SymInt rows = 1, columns = 1;
  int64_t row_grain = 1, column_grain = 1;
  // Estimated cost of one row in nanoseconds of one core; the executor uses no more workers than pay.
  SymInt row_cost = 1;
  int32_t node = -1;  // provenance: graph node id, for explain only
  friend bool operator==(const Call&, const Call&) = default;
};

// Calls between two barriers. All calls of a phase share the partition of the first: within a phase a call
// may read only rows of its own range from an earlier call.
struct Phase {
  enum class Split { kRows, kColumns, kRowsColumns, kSerial };
  Split split = Split::kRows;
  // The phase runs when this is not 0. It may name the reserved symbol `workers`, the size of the call's
  // team; so a program can hold one form for few rows a worker and another for many, of one accumulation
  // class.
  SymInt when = 1;
  // Most rows that pass through all calls of the phase before the next ones do; 0: the executor's choice.
  // Keeps what one call leaves to the next in cache.
  int64_t row_block = 0;
  std::vector<Call> calls;
  friend bool operator==(const Phase&, const Phase&) = default;
};
// The symbol that Phase::when may name and no program may declare.
inline constexpr const char* kWorkersSymbol = "workers";

struct Program {
  std::string name;
  std::string accumulation_class;  // e.g. "f32.k1"
  std::vector<Symbol> symbols;     // inputs' symbols first, then unit counts
  std::vector<BufferDecl> buffers;
  std::vector<SymInt> slots;  // bytes of each arena slot
  std::vector<ConstantDecl> constants;
  std::vector<UnitListDecl> unit_lists;
  std::vector<KernelRef> kernels;
  std::vector<Phase> phases;
  // Where symbols get their values: the first input dimension that is exactly the symbol, or symbol + offset.
  struct SymbolSource {
    int32_t input = 0, dim = 0;
    int64_t minus = 0;  // symbol = size - minus
    friend bool operator==(const SymbolSource&, const SymbolSource&) = default;
  };
  std::vector<SymbolSource> symbol_sources;  // for the inputs' symbols, in order
  friend bool operator==(const Program&, const Program&) = default;
};

// Text for dumps, golden tests and the cache: parse_program() gives an equal program back from the text of
// any program that verifies.
std::string print_program(const Program& program);
// Errors: kCorruption with line, found and expected, also for a program that does not verify.
Result<Program> parse_program(std::string_view text);
constexpr size_t kMaxProgramText = size_t{16} << 20;

// That no index, size or plan of the program can make the runtime read or write outside of the memory it
// places: indices are in range, inputs, outputs, constants and unit lists are each declared once and densely,
// symbols are declared and have a source, temps fit their slots for all values of the symbols, no two live
// temps overlap, each temp and output is written before it is read, kernel names are well-formed. What a
// kernel does with its operands is its own matter: the prebuilt ones write operand 0; a compiled one writes
// those of its operands that nothing wrote before. Errors: kInternal.
Status verify_program(const Program& program);
// "prebuilt:" and a word, or "kernel:" and 32 lower-case hexadecimal digits.
bool is_kernel_name(std::string_view name);

}  // namespace edge_infer
