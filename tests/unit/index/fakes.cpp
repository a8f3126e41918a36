#include "tests/unit/index/fakes.h"

#include <stdlib.h>

#include <cctype>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <thread>

#include "runtime/base/mapped_file.h"

namespace edge_infer::testing {
namespace {

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0;
}

int32_t word_id(std::string_view word) {
  uint32_t hash = 2166136261u;
  for (const char c : word) hash = (hash ^ static_cast<unsigned char>(std::tolower(c))) * 16777619u;
  return static_cast<int32_t>(hash % ((1 << 20) - 10) + 10);
}

void add_direction(int32_t id, std::span<float> out) {
  auto state = static_cast<uint32_t>(id) * 2654435761u + 1;
  for (float& x : out) {
    state = state * 1664525u + 1013904223u;
    x += static_cast<float>(static_cast<int32_t>(state) >> 8) * 0x1p-23f;
  }
}

}  // namespace

void FakeTokenizer::encode_spans(std::string_view text, std::vector<TokenSpan>& out) const {
  out.clear();
  for (size_t i = 0; i < text.size();) {
    size_t j = i;
    while (j < text.size() && is_letter(text[j])) ++j;
    if (j > i) out.push_back({static_cast<int64_t>(i), static_cast<int64_t>(j)});
    i = std::max(j, i + 1);
  }
}

void FakeTokenizer::encode(std::string_view text, int64_t max_length, Encoding& out) const {
  std::vector<TokenSpan> spans;
  encode_spans(text, spans);
  out.ids.assign(1, 1);
  for (const TokenSpan& s : spans)
    out.ids.push_back(
        word_id(text.substr(static_cast<size_t>(s.begin), static_cast<size_t>(s.end - s.begin))));
  out.ids.push_back(2);
  out.tokens = static_cast<int64_t>(out.ids.size());
  out.truncated = max_length > 0 && out.tokens > max_length;
  if (out.truncated) out.ids.resize(static_cast<size_t>(max_length));
}

Status FakeEmbedder::embed_tokens(std::span<const std::span<const int32_t>> texts, std::span<float> out,
                                  EntryPin*) const {
  const auto width = static_cast<size_t>(dimensions());
  if (before) {
    int64_t tokens = 0;
    for (const auto& text : texts) tokens += static_cast<int64_t>(text.size());
    before(tokens);
  }
  if (delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto row = out.subspan(i * width, width);
    std::fill(row.begin(), row.end(), 0.0f);
    for (const int32_t id : texts[i]) add_direction(id, row);
    double squares = 0;
    for (const float x : row) squares += double{x} * double{x};
    for (float& x : row) x = static_cast<float>(x / std::sqrt(squares));
  }
  const int64_t done = texts_embedded += static_cast<int64_t>(texts.size());
  if (fail_after >= 0 && done > fail_after) return fail(ErrorCode::kInternal, "the model stopped working");
  return {};
}

Result<std::vector<float>> FakeEmbedder::embed(std::span<const std::string> texts, std::string_view,
                                               std::vector<Encoding>*, EntryPin*) const {
  std::vector<float> out;
  for (const std::string& text : texts) {
    const std::vector<float> vector = vector_of(text);
    out.insert(out.end(), vector.begin(), vector.end());
  }
  return out;
}

std::vector<float> FakeEmbedder::vector_of(const std::string& text) const {
  Encoding encoding;
  tokenizer_.encode(text, max_length(), encoding);
  std::vector<float> vector(static_cast<size_t>(dimensions()));
  const std::span<const int32_t> ids = encoding.ids;
  (void)embed_tokens(std::span(&ids, 1), vector);
  return vector;
}

DocumentSource fake_source(std::string version) {
  DocumentSource source;
  source.version = std::move(version);
  source.read = [](const std::filesystem::path& path, const StopReading&) -> Result<Document> {
    const auto extension = path.extension();
    if (extension == ".broken") return fail(ErrorCode::kCorruption, "broken on purpose");
    if (extension == ".png") return fail(ErrorCode::kUnsupported, "no reader for it");
    if (extension == ".busy") return fail(ErrorCode::kIoError, "held by somebody");
    EDGE_INFER_ASSIGN(const std::string text, read_file(path, size_t{1} << 24));
    Document document;
    document.format = "text";
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find("\n\n", begin), text.size());
      Block block;
      block.text = text.substr(begin, end - begin);
      if (block.text.starts_with("# ")) {
        block.kind = Block::Kind::kHeading;
        block.text.erase(0, 2);
      }
      block.start = static_cast<int64_t>(begin);
      block.end = static_cast<int64_t>(end);
      if (!block.text.empty()) document.blocks.push_back(block);
      begin = end + 2;
    }
    return document;
  };
  source.chunk = [](const Document& document, const StopReading&) {
    std::vector<Chunk> chunks;
    std::string heading;
    for (const Block& block : document.blocks) {
      if (block.kind == Block::Kind::kHeading) {
        heading = block.text;
        continue;
      }
      Chunk chunk;
      chunk.text = block.text;
      chunk.heading = heading;
      chunk.embedded = heading.empty() ? block.text : heading + "\n" + block.text;
      chunk.start = block.start;
      chunk.end = block.end;
      chunks.push_back(std::move(chunk));
    }
    return chunks;
  };
  return source;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "edge_index_XXXXXX").native();
  path_ = std::filesystem::canonical(::mkdtemp(name.data()));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

void write_corpus(const std::filesystem::path& folder, int count, unsigned seed) {
  std::mt19937 random(seed);
  const auto paragraph = [&](unsigned from) {
    std::mt19937 words(from);
    std::string text;
    for (unsigned i = 0; i < 5 + words() % 30; ++i) text += "word" + std::to_string(words() % 500) + " ";
    return text;
  };
  for (int i = 0; i < count; ++i) {
    std::string text = "# heading " + std::to_string(i % 7) + "\n\n";
    for (unsigned p = 0; p < 1 + random() % 12; ++p)
      text += paragraph(static_cast<unsigned>(random() % 200)) + "\n\n";
    write_text(folder / ("d" + std::to_string(i % 5)) / ("file" + std::to_string(i) + ".txt"), text);
  }
}

Result<IndexSummary> run_index(const std::filesystem::path& index_file,
                               std::vector<std::filesystem::path> paths, const FakeEmbedder& embedder,
                               IndexObserver& observer, int threads, const std::string& version,
                               const std::atomic<bool>* cancel) {
  EDGE_INFER_ASSIGN(const auto store, IndexStore::open(index_file, embedder.space()));
  IndexOptions options;
  options.paths = std::move(paths);
  options.threads = threads;
  options.cancel = cancel;
  return index_files(*store, embedder, fake_source(version), options, observer);
}

}  // namespace edge_infer::testing
