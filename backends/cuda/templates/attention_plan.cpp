#include "backends/cuda/templates/attention_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace edge_infer::cuda {
namespace {

constexpr int kStages = 2;     // key blocks in flight, as ATTENTION_STAGES
constexpr int kTileRows = 64;  // of queries and keys, in both tensor core forms
constexpr int kSimtWarps = 8, kSimtKeys = 32;
constexpr int64_t kSharedPerCta = 1'024;  // that the system keeps for itself
constexpr int32_t kMostPerSm = 32;

const loop::Attention* find_attention(const loop::LoopNest& nest) {
  if (nest.body.size() != 1) return nullptr;
  const auto* work = std::get_if<loop::For>(&nest.body.front().node);
  if (work == nullptr || work->body.size() != 1) return nullptr;
  return std::get_if<loop::Attention>(&work->body.front().node);
}

const loop::Buffer& buffer(const loop::LoopNest& nest, int32_t id) {
  return nest.buffers[static_cast<size_t>(id)];
}

// Why tensor cores do not serve the nest; empty where they do.
std::string_view tensor_core_refusal(const loop::LoopNest& nest, const loop::Attention& a) {
  const DType dtype = buffer(nest, a.q.buffer).dtype, out = buffer(nest, a.out.buffer).dtype;
  if (dtype != DType::kF16 && dtype != DType::kBF16) return "operands are not f16 or bf16";
  if (buffer(nest, a.k.buffer).dtype != dtype || buffer(nest, a.v.buffer).dtype != dtype)
    return "operands differ in type";
  if (out != dtype && out != DType::kF32) return "the result is of another narrow type";
  for (const loop::Attention::View& view : {a.q, a.k, a.v, a.out})
    if (view.row % 8 != 0 || view.offset % 8 != 0) return "rows are not in units of 16 bytes";
  if (a.block_rows != kTileRows) return "units are not of 64 rows";
  if (a.scale <= 0) return "the scale is not positive";
  if (a.dim % 16 != 0 || a.dim > 128) return "the head dim is not a multiple of 16 up to 128";
  return {};
}

bool fits_wgmma(const loop::Attention& a) {
  constexpr std::array<int64_t, 4> kDims = {32, 64, 96, 128};
  const auto within_row = [&](const loop::Attention::View& view) {
    return view.offset + a.kv_heads * a.dim <= view.row;
  };
  return std::ranges::find(kDims, a.dim) != kDims.end() && within_row(a.k) && within_row(a.v);
}

// Registers of the sources, as ptxas gives them out without spills, allow that many CTAs of 128 threads.
int32_t wgmma_resident(const loop::Attention& a, bool staged) {
  if (a.dim == 32) return 5;
  if (a.dim == 64) return a.causal || !staged ? 3 : 4;
  return a.dim == 96 ? 3 : 2;
}
int32_t mma_resident(int64_t dim) {
  return dim <= 32 ? 4 : dim <= 64 ? 3 : 2;
}

void plan_wgmma(const loop::LoopNest& nest, AttentionPlan& plan) {
  const loop::Attention& a = *plan.attention;
  plan.form = AttentionForm::kWgmma;
  const int64_t tile = kTileRows * a.dim * 2;
  const bool staged = buffer(nest, a.out.buffer).dtype != DType::kF32;
  plan.resident = wgmma_resident(a, staged);
  // 1,024: the tiles' swizzle wants that alignment. Then tiles, the result on its way out, barriers.
  plan.launch.threads = 128;
  plan.launch.shared_bytes =
      static_cast<int32_t>(1'024 + 2 * kStages * tile + (staged ? tile : 0) + 2 * kStages * 8);
  const int32_t chunk = a.dim % 64 == 0 ? 64 : 32;
  const auto map = [&](const loop::Attention::View& view) {
    return TensorMap{view.buffer, buffer(nest, view.buffer).dtype, view.row, chunk, kTileRows, chunk * 2};
  };
  plan.launch.maps.push_back(map(a.k));
  if (map(a.v) != map(a.k)) plan.launch.maps.push_back(map(a.v));
}

void plan_mma(AttentionPlan& plan) {
  const int64_t tile = kTileRows * plan.attention->dim * 2;
  plan.form = AttentionForm::kMma;
  plan.resident = mma_resident(plan.attention->dim);
  plan.launch.threads = 128;
  plan.launch.shared_bytes = static_cast<int32_t>(5 * tile);
}

Status plan_simt(const loop::LoopNest& nest, const CudaTarget& target, AttentionPlan& plan) {
  const loop::Attention& a = *plan.attention;
  plan.form = AttentionForm::kSimt;
  for (const loop::Attention::View& view : {a.q, a.k, a.v, a.out})
    plan.is_f64 |= buffer(nest, view.buffer).dtype == DType::kF64;
  const int64_t width = plan.is_f64 ? 8 : 4, slices = (a.dim + 31) / 32;
  const auto shared = [&](int64_t rows) {
    return width * (kSimtWarps * rows * (a.dim + kSimtKeys) + kSimtKeys * (a.dim + 1));
  };
  int64_t rows = 8;
  // Results stay in registers.
  while (rows > 1 && (rows * slices * width > 128 || shared(rows) > target.shared_bytes)) rows /= 2;
  if (shared(rows) > target.shared_bytes || slices * width > 128)
    return fail(ErrorCode::kUnsupported, "slot refused: attention heads of {} are too wide", a.dim);
  plan.warp_rows = static_cast<int32_t>(rows);
  plan.resident = plan.is_f64 ? 1 : 2;
  plan.launch.threads = kSimtWarps * 32;
  plan.launch.shared_bytes = static_cast<int32_t>(shared(rows));
  return {};
}

}  // namespace

Result<AttentionPlan> plan_attention(const loop::LoopNest& nest, std::string_view schedule,
                                     const CudaTarget& target) {
  AttentionPlan plan;
  plan.attention = find_attention(nest);
  if (plan.attention == nullptr)
    return fail(ErrorCode::kUnsupported, "slot refused: attention with other statements beside it");
  const loop::Attention& a = *plan.attention;
  for (const loop::Attention::View& view : {a.q, a.k, a.v, a.out})
    if (!is_floating(buffer(nest, view.buffer).dtype))
      return fail(ErrorCode::kUnsupported, "slot refused: attention of {}",
                  dtype_name(buffer(nest, view.buffer).dtype));
  for (const int32_t id : {a.cu, a.units})
    if (buffer(nest, id).dtype != DType::kI32 && buffer(nest, id).dtype != DType::kI64)
      return fail(ErrorCode::kUnsupported, "slot refused: offsets of {}", dtype_name(buffer(nest, id).dtype));
  const SymInt& count = buffer(nest, a.units).sizes.front();
  const auto symbol =
      std::ranges::find_if(nest.symbols, [&](const Symbol& s) { return SymInt::symbol(s.name) == count; });
  if (symbol == nest.symbols.end())
    return fail(ErrorCode::kUnsupported, "slot refused: {} units, expected a symbol", count.str());
  plan.count = static_cast<int32_t>(symbol - nest.symbols.begin());

  if (!tensor_core_refusal(nest, a).empty())
    EDGE_INFER_RETURN_IF_ERROR(plan_simt(nest, target, plan));
  else if (target.has_wgmma && fits_wgmma(a))
    plan_wgmma(nest, plan);
  else
    plan_mma(plan);

  const auto fit = (target.shared_bytes + kSharedPerCta) / (plan.launch.shared_bytes + kSharedPerCta);
  plan.resident = std::clamp(static_cast<int32_t>(fit), 1, plan.resident);
  plan.launch.blocks_per_sm = plan.resident * plan.rounds();
  plan.launch.waits = target.has_pdl;
  if (schedule.empty()) return plan;
  constexpr std::string_view kGrid = "grid=";
  const char* end = schedule.data() + schedule.size();
  if (schedule.starts_with(kGrid)) {
    const auto [stop, error] =
        std::from_chars(schedule.data() + kGrid.size(), end, plan.launch.blocks_per_sm);
    if (error == std::errc{} && stop == end && plan.launch.blocks_per_sm >= 1 &&
        plan.launch.blocks_per_sm <= kMostPerSm)
      return plan;
  }
  return fail(ErrorCode::kInvalidArgument, "attention schedule \"{}\", expected grid=1 to grid={}", schedule,
              kMostPerSm);
}

}  // namespace edge_infer::cuda
