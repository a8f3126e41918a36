// edge-infer index: documents into an index file.
#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>

#include "apps/cli/commands.h"
#include "apps/cli/index_report.h"
#include "apps/cli/model_options.h"
#include "apps/cli/report.h"
#include "apps/documents/chunker.h"
#include "apps/documents/document.h"
#include "apps/index/path_text.h"
#include "apps/index/pipeline.h"
#include "runtime/base/cpu.h"

namespace edge_infer {
namespace {

// Passages are about a paragraph long, also where the model could take a chapter: a result should be worth
// reading.
constexpr int64_t kPassageTokens = 256;
constexpr int64_t kOverlapTokens = 32;
// Raised when readers or chunker deliver something else for the same file: such files are then read again.
constexpr int kReaderVersion = 3;
constexpr int kInterrupted = 1, kPathMissing = 1;

struct IndexArguments {
  ModelOptions model;
  std::string index_file;
  std::vector<std::string> paths;
  bool json = false;
};

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

// A second signal ends the process as usual: what is committed stays.
void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  // A closed pipe is an error to report, not a reason to die.
  ::signal(SIGPIPE, SIG_IGN);
}

// The recorded name must hold from any folder.
std::string lasting_name(const std::string& model) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(model, error);
  return error ? model : real.native();
}

DocumentSource document_source(const Embedder& embedder) {
  ChunkOptions options;
  options.max_tokens = std::min(embedder.max_length(), kPassageTokens);
  options.overlap_tokens = std::min(kOverlapTokens, options.max_tokens / 8);
  options.prompt = embedder.role_prompt("document");
  DocumentSource source;
  source.read = [](const std::filesystem::path& path, const StopReading& stop) {
    return read_document(path, ReadLimits{}, stop);
  };
  source.chunk = [&embedder, options](const Document& document, const StopReading& stop) {
    ChunkOptions stoppable = options;
    stoppable.stop = stop;
    return chunk_document(document, embedder.tokenizer(), stoppable);
  };
  source.version = fmt::format("{}:{}:{}", kReaderVersion, options.max_tokens, options.overlap_tokens);
  return source;
}

Result<IndexSummary> index(const IndexArguments& a, IndexReport& report) {
  EmbedderOptions embedder_options = a.model.embedder;
  embedder_options.threads = 1;  // the pipeline calls it from as many threads as the run may use
  EDGE_INFER_ASSIGN(const std::unique_ptr<Embedder> embedder,
                    Embedder::open(lasting_name(a.model.model), embedder_options));
  // Much is to be embedded, and an index is best made by one set of kernels: compilation takes less than a
  // second. Where it fails the prebuilt kernels serve, and the log has said why.
  static_cast<void>(embedder->prepare());
  const std::string prompt = embedder->role_prompt("document");
  if (!prompt.empty()) {
    // Says early whether this model's prompt is one that it can be embedded with.
    const std::string probe = "text";
    EDGE_INFER_RETURN_IF_ERROR(embedder->embed(std::span(&probe, 1), prompt));
  }
  EDGE_INFER_ASSIGN(const std::unique_ptr<IndexStore> store,
                    IndexStore::open(a.index_file, embedder->space()));
  IndexOptions options;
  options.paths.assign(a.paths.begin(), a.paths.end());
  options.threads = a.model.embedder.threads > 0 ? a.model.embedder.threads : worker_budget();
  options.cancel = &interrupted;
  return index_files(*store, *embedder, document_source(*embedder), options, report);
}

int run_index(const IndexArguments& a) {
  catch_interrupts();
  const std::unique_ptr<IndexReport> report = a.json ? make_json_report() : make_terminal_report();
  const Result<IndexSummary> summary = index(a, *report);
  if (!summary) {
    report->stop();
    return report_error(summary.error());
  }
  report->summary(*summary);
  for (const std::string& path : summary->missing)
    report_error(
        {ErrorCode::kNotFound,
         fmt::format("{}: no such file or directory; the other paths are indexed", path_for_terminal(path))});
  if (!summary->cancelled) return summary->missing.empty() ? 0 : kPathMissing;
  fmt::print(stderr, "edge-infer: interrupted; what was indexed is kept, run again to go on\n");
  return kInterrupted;
}

}  // namespace

void add_index_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("index", "read documents and store their passages in an index file");
  auto a = std::make_shared<IndexArguments>();
  add_model_options(*command, a->model, false);
  command->add_option("--db", a->index_file, "index file; made when missing")->required();
  command->add_flag("--json", a->json, "print one JSON object an event");
  command->add_option("PATH", a->paths, "files and folders")->required();
  command->callback([a, &exit_code] { exit_code = run_index(*a); });
}

}  // namespace edge_infer
