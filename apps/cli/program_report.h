// What explain, bench and cache say of programs, live ones and stored ones: kernels, memory, graphs. Stored
// ones are described from their text and the images of their code, so the device need not be there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/cache/kernel_cache.h"
#include "runtime/device/executable.h"

namespace edge_infer {

// Facts of compiled code (BackendInfo::code_facts), numbers as numbers; an object with "error" for code that
// the target's back end does not know.
nlohmann::ordered_json code_report(std::string_view target, const KernelBlob& code);

// {asked, served, text, tried: [{precision, passed, bound, lowest_cosine, ...}], named: where one was tried}
nlohmann::ordered_json precision_report(const PrecisionRecord& record);

// [{kernel, calls, ...code facts}], in order of names. `cache` may be null: then without code facts.
nlohmann::ordered_json kernel_report(const Program& program, const std::string& target, KernelCache* cache);

// Bytes of temporaries for one text of 16 tokens, one and 32 of the longest.
nlohmann::ordered_json arena_report(const Program& program, int64_t max_length);

// What the program takes on a device with memory of its own, over the device's context; null where it has
// none.
nlohmann::ordered_json memory_report(const Executable& program);

// {count, replays, classes: ["T <= 128, B <= 4"]}; null where nothing is recorded.
nlohmann::ordered_json graph_report(const Executable& program);

// All entries of a graph in the cache, of any target, with what the gate found. A stored program has not
// replayed anything, so nothing is said of replays.
nlohmann::ordered_json stored_report(KernelCache& cache, const std::string& graph_hash, int64_t max_length);

// The same as text.
void print_kernels(const nlohmann::ordered_json& kernels);
void print_memory(const nlohmann::ordered_json& entry);  // its "memory" and "graphs"
void print_stored(const nlohmann::ordered_json& stored);

}  // namespace edge_infer
