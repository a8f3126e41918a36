// The index file: how it is created, recognized and refused. docs/index.md describes the tables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "apps/index/sqlite.h"
#include "models/embedder.h"

namespace edge_infer {

// Vectors of one block; a vector's slot is block * kBlockSlots + place.
constexpr int64_t kBlockSlots = 256;
constexpr int64_t kIndexVersion = 1;

// Opens an index. kCreate makes a missing or empty file into an empty index, in one transaction; any other
// file is left as it is unless it is an index of this version. Errors: kNotFound, kCorruption (damaged, or
// another kind of file), kUnsupported (made by a newer version), kIoError, kResourceExhausted.
Result<std::unique_ptr<Database>> open_index(const std::filesystem::path& path, OpenMode mode);

// The embedding space that the index' vectors belong to; none in an index that never saw a document.
Result<std::optional<EmbeddingSpace>> read_space(const Database& database);

// Writes the space of an index that has none, inside the caller's transaction; refuses another one
// (kInvalidArgument, naming both). The same model in another folder is the same space: the folder is recorded
// anew.
Status adopt_space(const Database& database, const EmbeddingSpace& space);

// kInvalidArgument when vectors of `found` cannot be compared with those of `stored`.
Status check_same_space(const std::filesystem::path& path, const EmbeddingSpace& stored,
                        const EmbeddingSpace& found);

}  // namespace edge_infer
