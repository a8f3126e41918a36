#include "models/packing/model_constants.h"

#include <charconv>
#include <cstring>
#include <utility>

#include "models/packing/convert.h"
#include "runtime/base/cache_files.h"
#include "runtime/base/hash.h"
#include "runtime/base/log.h"
#include "runtime/base/paths.h"

namespace edge_infer {
namespace {

bool same(const ConstantDecl& a, const ConstantDecl& b) {
  return a.sources == b.sources && a.format == b.format && a.dtype == b.dtype && a.sizes == b.sizes;
}

size_t elements(const ConstantDecl& c) {
  size_t n = 1;
  for (const int64_t size : c.sizes) n *= static_cast<size_t>(size);
  return n;
}

Result<size_t> item_bytes(const ConstantDecl& c, const Device& device) {
  if (c.format == "raw") return elements(c) * static_cast<size_t>(dtype_size(c.dtype));
  return device.packed_bytes(c.format, c.sizes[0], c.sizes[1]);
}

}  // namespace

ModelConstants::ModelConstants(const WeightStore& weights, std::span<const WeightStore> dense,
                               std::filesystem::path cache_dir)
    : weights_(weights), dense_(dense), cache_dir_(std::move(cache_dir)) {}

Result<WeightView> ModelConstants::find(const std::string& name) const {
  constexpr std::string_view kDense = "dense.";
  if (name.starts_with(kDense)) {
    size_t index = 0;
    const char* begin = name.data() + kDense.size();
    const auto [end, error] = std::from_chars(begin, name.data() + name.size(), index);
    if (error == std::errc{} && index < dense_.size() && *end == '.') return dense_[index].find(end + 1);
  }
  return weights_.find(name);
}

Result<bool> ModelConstants::usable_in_place(const ConstantDecl& c) const {
  if (c.format != "raw" || c.sources.size() != 1) return false;
  EDGE_INFER_ASSIGN(const WeightView view, find(c.sources[0]));
  return view.dtype == c.dtype &&
         reinterpret_cast<uintptr_t>(view.bytes.data()) % static_cast<uintptr_t>(dtype_size(c.dtype)) == 0;
}

Status ModelConstants::fill(const ConstantDecl& c, const Device& device, std::span<std::byte> out) const {
  std::vector<float> rows(elements(c));
  std::vector<Device::Rows> sources;
  size_t at = 0;
  for (const std::string& name : c.sources) {
    EDGE_INFER_ASSIGN(const WeightView view, find(name));
    size_t count = 1;
    for (const int64_t size : view.shape) count *= static_cast<size_t>(size);
    if (count > rows.size() - at)
      return fail(ErrorCode::kInternal, "tensor \"{}\" is larger than the constant it is part of", name);
    EDGE_INFER_RETURN_IF_ERROR(convert_to_f32(view, name, std::span(rows).subspan(at, count)));
    sources.push_back({rows.data() + at, view.shape.empty() ? 1 : view.shape[0]});
    at += count;
  }
  if (c.format != "raw") return device.pack(c.format, sources, c.sizes[1], out);
  std::memcpy(out.data(), rows.data(), out.size());
  return {};
}

std::string ModelConstants::key(std::span<const ConstantDecl> constants, const Device& device) const {
  std::string key = fmt::format("target {}\n", device.target().name);
  const auto add_files = [&](const WeightStore& store) {
    for (const SafetensorsFile& file : store.files()) {
      const FileStamp& s = file.stamp();
      key += fmt::format("file {} {} {} {} {}\n", s.device, s.inode, s.size, s.mtime_ns, s.ctime_ns);
    }
  };
  add_files(weights_);
  for (const WeightStore& store : dense_) add_files(store);
  for (const ConstantDecl& c : constants) {
    key += fmt::format("{} {}", c.format, dtype_name(c.dtype));
    for (const int64_t size : c.sizes) key += fmt::format(" {}", size);
    for (const std::string& name : c.sources) key += fmt::format(" {}:{}", name.size(), name);
    key += '\n';
  }
  return key;
}

Status ModelConstants::prepare(std::span<const ConstantDecl> constants, const Device& device) {
  auto pack = std::make_unique<Pack>();
  std::vector<size_t> sizes;
  for (const ConstantDecl& c : constants) {
    if (!c.literal.empty()) continue;
    EDGE_INFER_ASSIGN(const bool in_place, usable_in_place(c));
    if (in_place) continue;
    EDGE_INFER_ASSIGN(const size_t bytes, item_bytes(c, device));
    pack->constants.push_back(c);
    sizes.push_back(bytes);
  }
  {
    const std::lock_guard lock(mutex_);
    for (const auto& known : packs_)
      if (known->constants == pack->constants && known->made_for == device.target().name) return {};
  }
  pack->made_for = device.target().name;
  const auto fill_item = [&](size_t i, std::span<std::byte> out) {
    return fill(pack->constants[i], device, out);
  };
  if (!pack->constants.empty() && !cache_dir_.empty()) {
    const std::string text = key(pack->constants, device);
    const std::filesystem::path path = cache_dir_ / fmt::format("weights-{}.pack", hash_text(text).hex());
    pack->file = PackedFile::open(path, text, sizes);
    from_cache_ = pack->file.has_value();
    if (!pack->file) {
      Status written = ensure_private_dir(cache_dir_);
      if (written) written = PackedFile::write(path, text, sizes, fill_item);
      if (written) pack->file = PackedFile::open(path, text, sizes);
      if (!pack->file && is_first_cache_warning(cache_dir_))
        log_warning("packed weights are kept in memory only: {}",
                    written ? "the file changed while it was written" : written.error().message);
    }
  }
  if (!pack->file) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      pack->memory.emplace_back(sizes[i]);
      EDGE_INFER_RETURN_IF_ERROR(fill_item(i, pack->memory[i].bytes()));
    }
  }
  const std::lock_guard lock(mutex_);
  packs_.push_back(std::move(pack));
  return {};
}

Result<const void*> ModelConstants::locate(const ConstantDecl& constant, const Device&) {
  EDGE_INFER_ASSIGN(const bool in_place, usable_in_place(constant));
  if (in_place) {
    EDGE_INFER_ASSIGN(const WeightView view, find(constant.sources[0]));
    return view.bytes.data();
  }
  const std::lock_guard lock(mutex_);
  for (const auto& pack : packs_)
    for (size_t i = 0; i < pack->constants.size(); ++i)
      if (same(pack->constants[i], constant)) return pack->item(i).data();
  return fail(ErrorCode::kInternal, "constant \"{}\" was not prepared",
              constant.sources.empty() ? "" : constant.sources[0]);
}

size_t ModelConstants::packed_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t total = 0;
  for (const auto& pack : packs_)
    for (size_t i = 0; i < pack->constants.size(); ++i) total += pack->item(i).size();
  return total;
}

}  // namespace edge_infer
