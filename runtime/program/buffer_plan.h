// The buffer plan: which temps share memory (loop_ir.md §10).
#pragma once

#include "runtime/program/program.h"

namespace edge_infer {

// Gives every kTemp buffer of `program` an arena slot and fills program.slots. Temps whose phase ranges are
// disjoint may share a slot; a slot's size is the maximum of its members', rounded up to 64 bytes. Slots lie
// one behind the other, so live temps are disjoint for every value of the symbols. Needs phases and calls;
// temps that no call names get no memory (slot -1).
void plan_buffers(Program& program);

// Bytes of one buffer: product of its sizes times the element size.
SymInt buffer_bytes(const BufferDecl& buffer);

}  // namespace edge_infer
