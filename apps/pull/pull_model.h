// Fetches a model from a Hugging Face hub into the models directory. Files are gathered in a hidden folder
// beside the target, each verified against the hub's checksum; the whole folder takes the model's name in one
// rename, so that readers see a complete model or none. An interrupted pull goes on where it stopped. A model
// that is there is verified the same way: files that are missing, damaged or of another revision are fetched,
// the others are kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/base/error.h"

namespace edge_infer {

// Told about the download as it goes; called on the pulling thread.
class PullProgress {
 public:
  virtual ~PullProgress() = default;
  // Only files that have to be fetched count.
  virtual void start(const std::string& name, size_t files, uint64_t total_bytes) = 0;
  // `total` is 0 while unknown. `resumed`: bytes that were there already.
  virtual void file_start(const std::string& file, uint64_t total_bytes, uint64_t resumed_bytes) = 0;
  virtual void file_bytes(uint64_t done_bytes) = 0;
  virtual void file_end(const std::string& file, uint64_t bytes) = 0;
  // The hub is asked again after `wait_ms`; `why` says what it answered.
  virtual void wait(const std::string& why, int64_t wait_ms) = 0;
};

struct PullOptions {
  std::string endpoint = "https://huggingface.co";
  std::string token;                         // of gated models; sent to the endpoint's origin only
  std::filesystem::path models_dir;          // created where missing
  uint64_t size_limit = uint64_t{64} << 30;  // bytes of all files together
  int retries = 4;                           // of an answer: the hub is busy, or the transfer is cut
  int retry_delay_ms = 1000;                 // before the first; doubles; Retry-After may lengthen it
  int64_t longest_wait_ms = 60'000;          // before one; a hub that asks for more is left alone
};

struct PulledModel {
  std::filesystem::path dir;
  std::string revision;
  bool was_current = false;  // every file was there, and intact
};

// Errors: kInvalidArgument (name, endpoint), kNotFound (no such model), kUnsupported (weights that
// are no safetensors, a redirect off https, a file whose end nothing can verify), kCorruption (checksum; the
// file is removed), kResourceExhausted (size limit, disk space, another pull of the model is running),
// kIoError (offline, busy hub, transfer, disk). After a kIoError a further pull goes on from there.
Result<PulledModel> pull_model(const std::string& name, const PullOptions& options, PullProgress& progress);

}  // namespace edge_infer
