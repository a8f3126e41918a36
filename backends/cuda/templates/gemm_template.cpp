// Text of GEMM kernels: launch line, prelude, constants, epilogue, template, entry.
#include "backends/cuda/templates/gemm_template.h"

#include <algorithm>

#include "backends/cuda/codegen/cuda_text.h"
#include "backends/cuda/codegen/embedded_sources.h"
#include "backends/cuda/codegen/expr_printer.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/templates/gemm_epilogue.h"
#include "backends/cuda/templates/gemm_nest.h"
#include "backends/cuda/templates/gemm_schedule.h"
#include "compiler/codegen/prelude_segments.h"

namespace edge_infer::cuda {
namespace {

constexpr int64_t kManyRows = 16'384;  // beyond, the best tile stays the same
constexpr int kRaster = 8;             // rows of tiles that share tiles of W

std::string_view yes_no(bool yes) {
  return yes ? "true" : "false";
}

// What the text of a kernel is made from.
struct Product {
  const loop::LoopNest& nest;
  const CudaTarget& target;
  GemmNest gemm;
  GemmShape shape;
};

Result<Product> product(const loop::LoopNest& nest, const CudaTarget& target) {
  EDGE_INFER_ASSIGN(GemmNest gemm, gemm_nest(nest));
  EDGE_INFER_RETURN_IF_ERROR(accepts_epilogue(nest, gemm));
  if (nest.accumulation_class != target.gemm_class)
    return fail(ErrorCode::kUnsupported, "class {}, expected {}", nest.accumulation_class, target.gemm_class);
  std::map<std::string, int64_t, std::less<>> hints;
  for (const Symbol& symbol : nest.symbols) hints[symbol.name] = symbol.hint;
  // What TMA cannot read is read by the threads.
  const bool wgmma = target.has_wgmma && gemm.whole_boxes();
  const GemmEpilogue epilogue = gemm_epilogue(nest, gemm, 64, wgmma, false);
  const GemmShape shape{.n = gemm.n,
                        .k = gemm.k,
                        .rows = std::max<int64_t>(gemm.rows.evaluate(hints).value_or(1), 1),
                        .wgmma = wgmma,
                        .space = {.blocks = epilogue.warp_blocks(),
                                  .columns = epilogue.column_loads,
                                  .results_only = epilogue.results_only}};
  return Product{nest, target, std::move(gemm), shape};
}

// The instruction that multiplies, for a warpgroup's m64 block: one operand a sum.
std::string wgmma_text(DType dtype, int columns) {
  const int sums = columns / 2;
  std::string places, operands;
  for (int i = 0; i < sums; ++i) {
    places += fmt::format("{}%{}", i == 0 ? "" : i % 16 == 0 ? ", \"\n               \"" : ", ", i);
    operands += fmt::format("{}\"+f\"(d[{}])", i == 0 ? "" : i % 8 == 0 ? ",\n                 " : ", ", i);
  }
  const std::string_view type = dtype_name(dtype);
  return fmt::format(
      "// d = a w^T (+ d), 64 x {0} x 16; a and w are descriptors.\n"
      "FN void wgmma(float (&d)[{1}], u64 a, u64 w, u32 accumulate) {{\n"
      "  asm volatile(\"{{.reg .pred p; setp.ne.b32 p, %{4}, 0;\\n\"\n"
      "               \"wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{2}.{2} {{{5}}}, \"\n"
      "               \"%{1}, %{3}, p, 1, 1, 0, 0;}}\"\n"
      "               : {6}\n"
      "               : \"l\"(a), \"l\"(w), \"r\"(accumulate));\n"
      "}}\n",
      columns, sums, type, sums + 1, sums + 2, places, operands);
}

std::string mma_text(DType dtype) {
  return fmt::format(
      "// d += a w, 16 x 8 x 16.\n"
      "FN void mma(float* d, const u32 (&a)[4], u32 w0, u32 w1) {{\n"
      "  asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.{0}.{0}.f32 {{%0,%1,%2,%3}}, {{%4,%5,%6,%7}}, "
      "{{%8,%9}}, \"\n"
      "               \"{{%0,%1,%2,%3}};\"\n"
      "               : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3])\n"
      "               : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(w0), \"r\"(w1));\n"
      "}}\n",
      dtype_name(dtype));
}

std::string constants(const Product& p, const GemmTile& tile, const TileFit& fits,
                      const GemmEpilogue& epilogue) {
  const GemmNest& gemm = p.gemm;
  std::string text = fmt::format(
      "constexpr i32 kN = {}, kK = {};\n"
      "constexpr i32 kTileN = {}, kStages = {}, kRaster = {};\n"
      "constexpr i32 kTileLoads = {}, kTileStores = {}, kColumnLoads = {};\n"
      "constexpr bool kBulkStores = {};\n",
      gemm.n, gemm.k, tile.columns, fits.stages, kRaster, epilogue.tile_loads, epilogue.tile_stores,
      epilogue.column_loads, yes_no(!epilogue.maps.empty()));
  if (tile.wgmma)
    text += fmt::format(
        "constexpr i32 kBlocks = {}, kGroups = {}, kOffsetA = {};\n"
        "constexpr bool kPingPong = {};\n",
        tile.blocks, tile.groups, gemm.a_offset, yes_no(tile.ping_pong));
  else
    text += fmt::format(
        "constexpr i32 kTileM = {}, kStrideA = {};\n"
        "constexpr bool kWholePieces = {}, kProgrammatic = {};\n",
        tile.rows, gemm.a_row, yes_no(gemm.whole_pieces()), yes_no(p.target.has_pdl));
  return text;
}

// `k`: binds the buffers to the slots.
std::string entry(const Product& p, const GemmTile& tile, const TileFit& fits, const GemmEpilogue& epilogue) {
  const loop::LoopNest& nest = p.nest;
  Lines lines;
  ExprPrinter printer(nest, lines);
  const std::string rows = printer.index(p.gemm.rows);
  std::string text =
      fmt::format("extern \"C\" __global__ void __launch_bounds__(kThreads, {}) k(const i64* n", fits.per_sm);
  for (size_t i = 0; i < nest.buffers.size(); ++i)
    text += fmt::format(", {}{}* b{}", nest.buffers[i].access == loop::Access::kOut ? "" : "const ",
                        memory_type(nest.buffers[i].dtype), i);
  for (size_t i = 0; i < (tile.wgmma ? 2 + epilogue.maps.size() : 0); ++i)
    text += fmt::format(", const __grid_constant__ TMap map{}", i);
  text += ") {\n";
  for (size_t i = 0; i < nest.symbols.size(); ++i)
    if (const std::string name = fmt::format("s{}", i); names(rows, name) || names(epilogue.slots, name))
      text += fmt::format("  const i64 {} = n[{}];\n", name, i);
  text += fmt::format("  const Slots slots = {};\n", epilogue.slots);
  if (tile.wgmma)
    text += fmt::format("  gemm(map0, map1, (i32)({}), slots);\n}}\n", rows);
  else
    text += fmt::format("  gemm(b{} + {}, b{}, (i32)({}), slots);\n}}\n", p.gemm.a, p.gemm.a_offset,
                        p.gemm.gemm->weight, rows);
  return text;
}

std::string functions_for(const std::string& text) {
  static const codegen::PreludeSegments functions(embedded_source("gemm_functions.cu"));
  return functions.select(text);
}

CudaLaunch launch_of(const Product& p, const GemmTile& tile, const TileFit& fits,
                     const GemmEpilogue& epilogue) {
  CudaLaunch launch{.threads = tile.threads(),
                    .shared_bytes = fits.shared_bytes,
                    .blocks_per_sm = fits.per_sm,
                    .tile_rows = tile.rows,
                    .tile_columns = tile.columns,
                    .waits = p.target.has_pdl};
  if (tile.wgmma) {
    launch.maps.push_back({p.gemm.a, p.gemm.dtype, p.gemm.a_row, 64, tile.rows, 128});
    launch.maps.push_back({p.gemm.gemm->weight, p.gemm.dtype, p.gemm.k, 64, tile.columns, 128});
    launch.maps.insert(launch.maps.end(), epilogue.maps.begin(), epilogue.maps.end());
  }
  return launch;
}

// Bytes that a row moves: its operands and results.
double bytes_per_row(const Product& p) {
  double bytes = static_cast<double>(p.gemm.k) * 2;
  for (const loop::Buffer& buffer : p.nest.buffers)
    if (buffer.sizes.size() > 1 && buffer.access != loop::Access::kPacked)
      bytes += static_cast<double>(p.gemm.n) * static_cast<double>(dtype_size(buffer.dtype));
  return bytes;
}

}  // namespace

Status accepts_gemm(const loop::LoopNest& nest, const CudaTarget& target) {
  EDGE_INFER_RETURN_IF_ERROR(product(nest, target));
  return {};
}

std::vector<int64_t> gemm_row_classes(const CudaTarget& target) {
  // Each class costs a compilation of each product, and a graph.
  if (target.has_wgmma) return {128, 512, 4096};
  return {512};
}

Schedule gemm_schedule_for(const loop::LoopNest& nest, int64_t rows, const CudaTarget& target) {
  Result<Product> p = product(nest, target);
  if (!p) return {};
  p->shape.rows = std::clamp<int64_t>(rows, 1, kManyRows);
  return gemm_schedule_text(*gemm_tiles(p->shape, target).front());
}

std::vector<Schedule> gemm_schedules(const loop::LoopNest& nest, const CudaTarget& target, int64_t rows) {
  Result<Product> p = product(nest, target);
  if (!p) return {};
  if (rows > 0) p->shape.rows = std::min(rows, kManyRows);
  std::vector<Schedule> schedules;
  for (const GemmTile* tile : gemm_tiles(p->shape, target)) schedules.push_back(gemm_schedule_text(*tile));
  return schedules;
}

Result<GeneratedKernel> generate_gemm(const loop::LoopNest& nest, const Schedule& schedule,
                                      const CudaTarget& target) {
  EDGE_INFER_ASSIGN(const Product p, product(nest, target));
  EDGE_INFER_ASSIGN(const GemmTile* tile, parse_gemm_schedule(schedule, p.shape, target));
  const TileFit fits = *fit(*tile, p.shape.space, target);
  const GemmEpilogue epilogue =
      gemm_epilogue(nest, p.gemm, tile->columns, tile->wgmma, stores_in_bulk(*tile, p.shape.space));
  const std::string kernel =
      constants(p, *tile, fits, epilogue) + "\n" + epilogue.text + "\n" +
      (tile->wgmma ? wgmma_text(p.gemm.dtype, tile->columns) : mma_text(p.gemm.dtype)) + "\n" +
      std::string(embedded_source("gemm_epilogue.cu")) + "\n" +
      std::string(embedded_source(tile->wgmma ? "gemm_wgmma.cu" : "gemm_mma.cu")) + "\n" +
      entry(p, *tile, fits, epilogue);
  const std::string functions = functions_for(kernel);
  GeneratedKernel generated{.row_grain = 1,
                            .flops_per_row = 2.0 * static_cast<double>(p.gemm.n * p.gemm.k),
                            .bytes_per_row = bytes_per_row(p)};
  generated.source = {.source = fmt::format("// launch {}\n{}\n#define FN __device__ __forceinline__\n{}\n{}",
                                            launch_of(p, *tile, fits, epilogue).text(),
                                            select_prelude(functions + kernel), functions, kernel),
                      .target = target.name,
                      .features = ""};
  return generated;
}

}  // namespace edge_infer::cuda
