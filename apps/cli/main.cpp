// edge-infer: the command line (see the README). Commands are in command_<name>.cpp.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "apps/cli/commands.h"
#include "apps/cli/report.h"

int main(int argc, char** argv) {
  using namespace edge_infer;
  log_to_stderr();
  try {
    CLI::App app{"Local embeddings: index documents, search them, serve vectors."};
    app.set_version_flag("--version", "edge-infer " EDGE_INFER_VERSION);
    app.require_subcommand(1);
    int exit_code = 0;
    add_embed_command(app, exit_code);
    add_tokenize_command(app, exit_code);
    add_index_command(app, exit_code);
    add_search_command(app, exit_code);
    add_serve_command(app, exit_code);
    add_explain_command(app, exit_code);
    add_bench_command(app, exit_code);
    add_pull_command(app, exit_code);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      // Help and version end with 0; everything else is wrong usage.
      return app.exit(e) == 0 ? 0 : 2;
    }
    return exit_code;
  } catch (const std::bad_alloc&) {
    std::fputs("edge-infer: out of memory\n", stderr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "edge-infer: internal error: %s\n", e.what());
  }
  return 1;
}
