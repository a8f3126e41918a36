// edge-infer: the command line (see the README). Commands are in command_<name>.cpp.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/cli/commands.h"
#include "apps/cli/report.h"
#include "models/files/json.h"
#include "runtime/base/file_size_signal.h"

namespace {

// CLI11 splits an argument "[a,b]" of a repeated option into two. Arguments are to be taken literally, so one
// in brackets gets a mark behind it before parsing and loses it in front of every option's other checks.
constexpr char kMark = '\x1f';

std::string protect(std::string argument) {
  if (!argument.empty() && argument.front() == '[' && (argument.back() == ']' || argument.back() == kMark))
    argument += kMark;
  return argument;
}

std::string unprotect(std::string argument) {
  if (!argument.empty() && argument.front() == '[' && argument.back() == kMark) argument.pop_back();
  return argument;
}

// What may be empty: texts, and what an empty value stands for the lack of. Elsewhere, as where a script's
// variable was not set, an empty value would be taken for the current folder or for no value at all.
constexpr std::string_view kMayBeEmpty[] = {"TEXT", "QUERY", "--prompt-name"};

std::string require_value(const std::string& argument) {
  return argument.empty() ? "the value is empty" : "";
}

void set_up_options(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    for (CLI::Option* option : command->get_options()) {
      if (option->get_type_size_max() <= 0) continue;
      option->transform(unprotect, "");
      if (std::ranges::find(kMayBeEmpty, option->get_name()) == std::end(kMayBeEmpty))
        option->check(require_value, "");
    }
    set_up_options(*command);
  }
}

// What is wrong with the first argument: CLI11 does not name a command that it does not know, and takes
// anything behind --version.
std::optional<std::string> wrong_start(const CLI::App& app, std::span<char* const> arguments) {
  if (arguments.empty()) return std::nullopt;
  const std::string_view first = arguments[0];
  if (first == "--version" && arguments.size() > 1)
    return fmt::format("--version takes no arguments, found {}", edge_infer::quote(arguments[1]));
  if (app.get_option_no_throw(std::string(first)) != nullptr) return std::nullopt;
  std::string known;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == first) return std::nullopt;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  return fmt::format("unknown {} {}, expected one of: {}", first.starts_with('-') ? "option" : "command",
                     edge_infer::quote(first),
                     first.starts_with('-') ? "--help, --version, or a command" : known);
}

// What could not be written to standard output makes a success a failure: a full disk, a closed pipe.
int finish_output(int exit_code) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return exit_code;
  if (exit_code != 0) return exit_code;  // which has been explained
  std::fputs("edge-infer: cannot write to standard output\n", stderr);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace edge_infer;
  log_to_stderr();
  ignore_file_size_signal();
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
    add_compile_command(app, exit_code);
    add_cache_command(app, exit_code);
    add_pull_command(app, exit_code);
    if (const auto wrong = wrong_start(app, std::span(argv + 1, argv + std::max(argc, 1))))
      return report_usage(*wrong);
    try {
      set_up_options(app);
      std::vector<std::string> arguments;  // last first, as CLI11 takes them
      for (int i = argc - 1; i > 0; --i) arguments.push_back(protect(argv[i]));
      app.parse(std::move(arguments));
    } catch (const CLI::RequiredError& e) {
      // What is not known explains better what is missing.
      const std::vector<std::string> unknown = app.remaining(true);
      exit_code =
          unknown.empty()
              ? (app.exit(e), 2)
              : report_usage(fmt::format("unknown option or argument {}", quote(unprotect(unknown.front()))));
    } catch (const CLI::ParseError& e) {
      // Help and version end with 0; everything else is wrong usage.
      exit_code = app.exit(e) == 0 ? 0 : 2;
    }
    return finish_output(exit_code);
  } catch (const std::bad_alloc&) {
    std::fputs("edge-infer: out of memory\n", stderr);
  } catch (const std::system_error&) {
    // {fmt} throws it when standard output takes no more.
    std::fputs("edge-infer: cannot write to standard output\n", stderr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "edge-infer: internal error: %s\n", e.what());
  }
  return 1;
}
