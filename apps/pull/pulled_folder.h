// The folders of a pulled model: the one with the model's name, which holds a manifest of what it was made
// from, and the hidden one beside it where the files of an unfinished pull gather.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/pull/hub_model.h"
#include "runtime/base/error.h"

namespace edge_infer {

struct Manifest {
  std::string revision;
  std::vector<HubFile> files;  // as they were verified, each with its size and a checksum
};
// Empty where `dir` was not made by pull.
std::optional<Manifest> read_manifest(const std::filesystem::path& dir);
// Records the files of `dir`; sizes and checksums that the hub did not give are computed. Errors: kIoError.
Status write_manifest(const std::filesystem::path& dir, const std::string& name, const std::string& endpoint,
                      const std::string& revision, std::vector<HubFile> files);
// True when `manifest` lists exactly `files`, by name.
bool lists_files(const Manifest& manifest, std::span<const HubFile> files);

// True when `dir` holds `file` with the content that the hub describes. What the hub leaves unsaid is taken
// from `recorded` (may be null), also into `file`; a file without any checksum counts as damaged.
bool is_intact(const std::filesystem::path& dir, HubFile& file, const Manifest* recorded);
// Puts from/name into `to` as well, without copying where the file system allows. Errors: kIoError.
Status take_over(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& name);

// Makes `staging`, or keeps it where its pull was of the same revision. Errors: kIoError.
Status prepare_staging(const std::filesystem::path& staging, const std::string& revision);
// Gives the finished folder the model's name in one rename. Programs that run on an older one keep its files
// until they end. Errors: kIoError.
Status publish(const std::filesystem::path& staging, const std::filesystem::path& target);

}  // namespace edge_infer
