// ModelConstants: where a program's constants come from when they are the weights of a model directory. Raw
// f32 tensors are used in place from the mapped model file; packed and converted ones come from a packed file
// in the cache, or from memory where no cache can be written.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "models/files/weight_store.h"
#include "models/packing/packed_file.h"
#include "runtime/base/aligned_bytes.h"
#include "runtime/executor/bound_program.h"

namespace edge_infer {

class ModelConstants final : public ConstantSource {
 public:
  // `weights` are the encoder's, `dense` those of the Dense modules ("dense.<i>.<tensor>"). Both outlive
  // this. `cache_dir` empty: nothing is kept on disk.
  ModelConstants(const WeightStore& weights, std::span<const WeightStore> dense,
                 std::filesystem::path cache_dir);

  Status prepare(std::span<const ConstantDecl> constants, const Device& device) override;
  Result<const void*> locate(const ConstantDecl& constant, const Device& device) override;

  size_t packed_bytes() const;                     // mapped or held for packed constants
  bool from_cache() const { return from_cache_; }  // the last prepare() found its file

 private:
  // A set of packed constants of one program.
  struct Pack {
    std::vector<ConstantDecl> constants;
    std::string made_for;  // target
    std::optional<PackedFile> file;
    std::vector<AlignedBytes> memory;
    std::span<const std::byte> item(size_t i) const { return file ? file->item(i) : memory[i].bytes(); }
  };

  Result<WeightView> find(const std::string& name) const;
  // True for a tensor that a kernel can use where it lies.
  Result<bool> usable_in_place(const ConstantDecl& constant) const;
  Status fill(const ConstantDecl& constant, const Device& device, std::span<std::byte> out) const;
  std::string key(std::span<const ConstantDecl> constants, const Device& device) const;

  const WeightStore& weights_;
  std::span<const WeightStore> dense_;
  std::filesystem::path cache_dir_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Pack>> packs_;
  bool from_cache_ = false;
};

}  // namespace edge_infer
