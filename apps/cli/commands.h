// The subcommands of edge-infer, one file each: command_<name>.cpp. Each adds itself to the parser; when it
// is chosen, its callback runs after parsing and sets `exit_code`: 0 ok, 1 failed, 2 wrong usage. Results go
// to standard output, everything else to standard error.
#pragma once

namespace CLI {
class App;
}

namespace edge_infer {

void add_embed_command(CLI::App& app, int& exit_code);
void add_tokenize_command(CLI::App& app, int& exit_code);
void add_index_command(CLI::App& app, int& exit_code);
void add_search_command(CLI::App& app, int& exit_code);
void add_serve_command(CLI::App& app, int& exit_code);
void add_explain_command(CLI::App& app, int& exit_code);
void add_bench_command(CLI::App& app, int& exit_code);
void add_compile_command(CLI::App& app, int& exit_code);
void add_cache_command(CLI::App& app, int& exit_code);
void add_pull_command(CLI::App& app, int& exit_code);

}  // namespace edge_infer
