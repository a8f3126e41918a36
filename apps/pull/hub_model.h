// What a hub says a model repository holds, and which of its files a model needs. File names come from the
// network: only names of a fixed list pass, so that no path leaves the model's folder and no pickle is ever
// fetched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

// The revision of a model whose hub names none: what lies there may change at any time.
inline constexpr const char* kUnknownRevision = "main";

struct HubFile {
  std::string name;              // relative, '/' between folders
  std::optional<uint64_t> size;  // bytes
  std::string sha256;            // 64 hex digits of large files; else empty
  std::string git_sha1;          // 40 hex digits: the git blob id of small files; else empty
};

struct HubModel {
  std::string revision;  // commit, 40 hex digits; or kUnknownRevision
  std::vector<HubFile> files;
};

// Reads the answer of GET /api/models/NAME?blobs=true. Errors: kCorruption.
Result<HubModel> parse_hub_model(const std::string& json, const std::string& name);

// config.json, tokenizer files, module folders' configs, safetensors; see the list in hub_model.cpp.
bool is_allowed_file(std::string_view name);
bool is_weights(std::string_view name);

// The files to fetch, weights last. Errors: kUnsupported when the repository lacks a config, a tokenizer or
// safetensors weights; kResourceExhausted above `size_limit` bytes in all.
Result<std::vector<HubFile>> choose_files(const HubModel& model, const std::string& name,
                                          uint64_t size_limit);

// The shards that the text of a model.safetensors.index.json names. Errors: kCorruption (a name that is no
// shard's).
Result<std::vector<std::string>> index_shards(const std::string& json);

// The hub, or its answer's headers, gave a checksum.
bool has_checksum(const HubFile& file);

// True for `digits` lower- or upper-case hexadecimal digits.
bool is_hex(std::string_view text, size_t digits);

}  // namespace edge_infer
