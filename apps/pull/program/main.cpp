// edge-infer-pull: what `edge-infer pull` runs. A program of its own, so that libcurl and OpenSSL are never
// loaded into a process that embeds.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "apps/pull/progress_bar.h"
#include "apps/pull/pull_model.h"
#include "models/hub/model_directory.h"

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int pull(const std::string& name, const edge_infer::PullOptions& options) {
  edge_infer::ProgressBar progress(::isatty(STDERR_FILENO) == 1);
  const auto pulled = edge_infer::pull_model(name, options, progress);
  if (!pulled) {
    std::fprintf(stderr, "edge-infer: %s\n", pulled.error().message.c_str());
    return pulled.error().code == edge_infer::ErrorCode::kInvalidArgument ? 2 : 1;
  }
  std::fprintf(stderr, "%s (revision %s)\n", pulled->was_current ? "up to date, every file verified" : "done",
               pulled->revision.substr(0, 12).c_str());
  std::printf("%s\n", pulled->dir.c_str());
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::fprintf(stderr, "edge-infer: cannot write to standard output\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Fetch a model from the Hugging Face hub", "edge-infer pull"};
  std::string name;
  edge_infer::PullOptions options;
  options.models_dir = edge_infer::models_dir();
  options.token = variable("HF_TOKEN");
  if (const std::string endpoint = variable("HF_ENDPOINT"); !endpoint.empty()) options.endpoint = endpoint;
  app.add_option("NAME", name, "OWNER/MODEL")->required();
  app.add_option("--endpoint", options.endpoint, "base URL of the hub (or $HF_ENDPOINT)")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return pull(name, options);
} catch (const std::exception& exception) {
  std::fprintf(stderr, "edge-infer: %s\n", exception.what());
  return 1;
}
