#include "apps/index/verify.h"

#include <bit>
#include <string_view>
#include <vector>

#include "apps/index/hash.h"
#include "apps/index/schema.h"
#include "apps/index/vector_blocks.h"

namespace edge_infer {
namespace {

struct Check {
  const char* what;
  const char* sql;  // counts violations
};

constexpr Check kChecks[] = {
    {"passages without a file", "SELECT count(*) FROM chunk WHERE file NOT IN (SELECT id FROM file)"},
    {"passages without a vector", "SELECT count(*) FROM chunk WHERE vector NOT IN (SELECT id FROM vector)"},
    {"files with a status that does not fit their passages",
     "SELECT count(*) FROM file WHERE (status = 1) <> EXISTS (SELECT 1 FROM chunk WHERE chunk.file = "
     "file.id)"},
    {"files with gaps between their passages",
     "SELECT count(*) FROM (SELECT 1 FROM chunk GROUP BY file HAVING max(ordinal) <> count(*) - 1)"},
    {"vectors with a wrong reference count",
     "SELECT count(*) FROM vector WHERE refs <> (SELECT count(*) FROM chunk WHERE chunk.vector = vector.id)"},
    {"vectors nobody refers to", "SELECT count(*) FROM vector WHERE refs < 1"},
    {"vectors outside of a block",
     "SELECT count(*) FROM vector WHERE slot / 256 NOT IN (SELECT id FROM block)"},
    {"blocks without data", "SELECT count(*) FROM block WHERE id NOT IN (SELECT id FROM block_data)"},
    {"data without a block", "SELECT count(*) FROM block_data WHERE id NOT IN (SELECT id FROM block)"},
};

std::unexpected<Error> damaged(const Database& db, std::string_view what) {
  return fail(ErrorCode::kCorruption, "\"{}\": {}", db.path().native(), what);
}

Status check_blocks(const Database& db) {
  EDGE_INFER_ASSIGN(Statement blocks, db.prepare("SELECT id, used, live FROM block"));
  EDGE_INFER_ASSIGN(Statement slots, db.prepare("SELECT slot FROM vector WHERE slot >= ? AND slot < ?"));
  while (true) {
    EDGE_INFER_ASSIGN(const bool row, blocks.step());
    if (!row) return {};
    const int64_t id = blocks.integer(0), used = blocks.integer(1);
    EDGE_INFER_ASSIGN(const LiveBits live, decode_live_bits(db, id, blocks.blob(2)));
    LiveBits expected{};
    int64_t count = 0;
    slots.bind(0, id * kBlockSlots).bind(1, (id + 1) * kBlockSlots);
    while (true) {
      EDGE_INFER_ASSIGN(const bool slot, slots.step());
      if (!slot) break;
      const auto place = static_cast<uint64_t>(slots.integer(0) % kBlockSlots);
      expected[place / 64] |= uint64_t{1} << (place % 64);
      ++count;
    }
    if (live != expected || used != count)
      return damaged(db, fmt::format("block {} disagrees with its vectors", id));
  }
}

}  // namespace

Status verify_index(const std::filesystem::path& path) {
  EDGE_INFER_ASSIGN(const auto db, open_index(path, OpenMode::kReadWrite));
  EDGE_INFER_ASSIGN(const std::string structure, db->text("PRAGMA integrity_check(1)"));
  if (structure != "ok") return damaged(*db, structure);
  for (const Check& check : kChecks) {
    EDGE_INFER_ASSIGN(const int64_t violations, db->integer(check.sql));
    if (violations != 0) return damaged(*db, fmt::format("{} {}", violations, check.what));
  }
  EDGE_INFER_RETURN_IF_ERROR(check_blocks(*db));
  const Status words = db->run("INSERT INTO chunk_fts(chunk_fts, rank) VALUES('integrity-check', 1)");
  if (!words) return damaged(*db, "the word index disagrees with the passages");
  return {};
}

Result<std::string> dump_index(const std::filesystem::path& path) {
  EDGE_INFER_ASSIGN(const auto db, open_index(path, OpenMode::kReadOnly));
  std::string out;
  EDGE_INFER_ASSIGN(const auto space, read_space(*db));
  if (!space) return out;
  out += fmt::format("space {} {}\n", space->fingerprint, space->dimensions);
  EDGE_INFER_ASSIGN(Statement files,
                    db->prepare("SELECT id, hex(path), hex(hash), status, reason, format, title, "
                                "made_by FROM file ORDER BY path"));
  EDGE_INFER_ASSIGN(
      Statement chunks,
      db->prepare("SELECT ordinal, heading, text, cjk, page, start_byte, end_byte, tokens, hex(vector.hash), "
                  "slot FROM "
                  "chunk JOIN vector ON vector.id = chunk.vector WHERE file = ? ORDER BY ordinal"));
  std::vector<std::byte> vector(static_cast<size_t>(space->dimensions) * sizeof(float));
  while (true) {
    EDGE_INFER_ASSIGN(const bool file, files.step());
    if (!file) return out;
    out += "file";
    for (int i = 1; i < 8; ++i) out += fmt::format(" {}", files.text(i));
    out += '\n';
    chunks.bind(0, files.integer(0));
    while (true) {
      EDGE_INFER_ASSIGN(const bool chunk, chunks.step());
      if (!chunk) break;
      out += " ";
      for (int i = 0; i < 9; ++i) out += fmt::format(" {}", chunks.text(i));
      const int64_t slot = chunks.integer(9);
      EDGE_INFER_ASSIGN(const BlobHandle data,
                        BlobHandle::open(*db, "block_data", "data", slot / kBlockSlots, false));
      EDGE_INFER_RETURN_IF_ERROR(data.read(vector, slot % kBlockSlots * static_cast<int64_t>(vector.size())));
      const ContentHash bits = hash_bytes({reinterpret_cast<const char*>(vector.data()), vector.size()});
      out += " vector ";
      for (const std::byte b : bits) out += fmt::format("{:02x}", static_cast<unsigned>(b));
      out += '\n';
    }
  }
}

}  // namespace edge_infer
