// From relocatable object files to a KernelBlob: the linker of one freestanding kernel.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/program/kernel_blob.h"

namespace edge_infer {

// Takes ELF64 objects of x86-64, lays their code (.text*) and then their read-only data (.rodata*) out, each
// section on a multiple of KernelBlob::kAlignment, and resolves R_X86_64_PC32 and PLT32 between them, also
// from one object to a global symbol of another. `entry` names the function that becomes the blob's entry.
// The bytes are not trusted.
// Errors: kCorruption for symbols that no object defines (all named) or two do, writable or thread-local
// data, pointers in data, other relocations, and a file that contradicts its format; kResourceExhausted
// beyond KernelBlob::kMaxBytes.
Result<KernelBlob> link_objects(std::span<const std::span<const std::byte>> objects, std::string_view entry);

}  // namespace edge_infer
