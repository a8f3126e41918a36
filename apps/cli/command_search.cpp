// edge-infer search: passages of an index that answer a query.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/cli/commands.h"
#include "apps/cli/model_options.h"
#include "apps/cli/option_range.h"
#include "apps/cli/report.h"
#include "apps/index/path_text.h"
#include "apps/index/search.h"
#include "models/embedder.h"

namespace edge_infer {
namespace {

struct SearchArguments {
  std::string index_file, model, query;
  std::string mode = "hybrid";
  int64_t top = 10;
  bool json = false;
};

// `embedder` is left open: a compilation behind it may go on until the hits are printed.
Result<std::vector<float>> embed_query(const SearchArguments& a, const EmbeddingSpace& space,
                                       std::unique_ptr<Embedder>& embedder) {
  EmbedderOptions options;
  options.one_shot = true;
  EDGE_INFER_ASSIGN(embedder, Embedder::open(a.model.empty() ? space.model : a.model, options));
  EDGE_INFER_RETURN_IF_ERROR(check_same_space(a.index_file, space, embedder->space()));
  return embedder->embed_query(a.query, embedder->role_prompt("query"));
}

Result<std::vector<SearchHit>> search(const SearchArguments& a, std::unique_ptr<Embedder>& embedder) {
  SearchOptions options;
  options.mode = *parse_search_mode(a.mode);
  options.top = a.top;
  EDGE_INFER_ASSIGN(const Searcher searcher, Searcher::open(a.index_file));
  std::vector<float> vector;
  if (searcher.space() && options.mode != SearchMode::kText) {
    EDGE_INFER_ASSIGN(vector, embed_query(a, *searcher.space(), embedder));
  }
  return searcher.search(a.query, vector, options);
}

void print_json(const SearchHit& hit) {
  const nlohmann::ordered_json object = {{"path", path_as_utf8(hit.path)},
                                         {"chunk", hit.chunk},
                                         {"score", hit.score},
                                         {"text", hit.text},
                                         {"page", hit.page},
                                         {"heading", hit.heading},
                                         {"start", hit.start},
                                         {"end", hit.end}};
  const auto line = object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
}

void print_passage(size_t rank, const SearchHit& hit) {
  fmt::print("{}. {}", rank, path_for_terminal(hit.path));
  if (hit.page > 0) fmt::print(", page {}", hit.page);
  fmt::print(" [{}-{}]  score {:.4f}\n", hit.start, hit.end, hit.score);
  if (!hit.heading.empty()) fmt::print("   # {}\n", line_for_terminal(hit.heading));
  fmt::print("   {}\n\n", line_for_terminal(hit.text));
}

int run_search(const SearchArguments& a) {
  if (line_for_terminal(a.query).empty()) return report_usage("the query is empty");
  std::unique_ptr<Embedder> embedder;
  const auto hits = search(a, embedder);
  if (!hits) return report_error(hits.error());
  size_t rank = 0;
  for (const SearchHit& hit : *hits) {
    ++rank;
    if (a.json)
      print_json(hit);
    else
      print_passage(rank, hit);
  }
  if (hits->empty()) fmt::print(stderr, "edge-infer: nothing found\n");
  if (std::fflush(stdout) != 0) return report_error({ErrorCode::kIoError, "cannot write to standard output"});
  if (embedder != nullptr) let_compilation_finish(*embedder);
  return 0;
}

}  // namespace

void add_search_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("search", "find passages in an index file");
  auto a = std::make_shared<SearchArguments>();
  command->add_option("--db", a->index_file, "index file")->required();
  command->add_option("--model", a->model, "model; the one recorded in the index where it is not given");
  command->add_option("--top", a->top, "passages to print")
      ->check(integer_from(1, std::numeric_limits<int64_t>::max()));
  command->add_option("--mode", a->mode, "hybrid | vector | text")
      ->check(CLI::IsMember({"hybrid", "vector", "text"}));
  command->add_flag("--json", a->json, "print one JSON object a passage");
  command->add_option("QUERY", a->query, "what to look for")->required();
  command->callback([a, &exit_code] { exit_code = run_search(*a); });
}

}  // namespace edge_infer
