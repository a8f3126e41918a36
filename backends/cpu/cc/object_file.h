// From a relocatable object file to a KernelBlob: the linker of one freestanding kernel.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/program/kernel_blob.h"

namespace edge_infer {

// Takes an ELF64 object of x86-64, lays its code (.text*) and then its read-only data (.rodata*) out, each
// section on a multiple of KernelBlob::kAlignment, and resolves R_X86_64_PC32 and PLT32 between them.
// `entry` names the function that becomes the blob's entry. The bytes are not trusted.
// Errors: kCorruption for undefined symbols (all named), writable or thread-local data, pointers in data,
// other relocations, and a file that contradicts its format; kResourceExhausted beyond KernelBlob::kMaxBytes.
Result<KernelBlob> link_object(std::span<const std::byte> object, std::string_view entry);

}  // namespace edge_infer
