// edge-infer pull: hands over to edge-infer-pull, the program beside this one that has libcurl and OpenSSL.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/commands.h"
#include "runtime/base/paths.h"

namespace edge_infer {
namespace {

struct PullArguments {
  std::string name, endpoint;
};

// Returns only when the program cannot be started.
int run_pull(const PullArguments& arguments) {
  const std::filesystem::path program = own_folder() / "edge-infer-pull";
  std::vector<std::string> words = {program.native(), arguments.name};
  if (!arguments.endpoint.empty()) words.insert(words.end(), {"--endpoint", arguments.endpoint});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  std::fprintf(stderr, "edge-infer: cannot run \"%s\": %s\n", program.c_str(), std::strerror(errno));
  return 1;
}

}  // namespace

void add_pull_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PullArguments>();
  CLI::App* command = app.add_subcommand("pull", "fetch a model from the Hugging Face hub");
  command->add_option("NAME", arguments->name, "OWNER/MODEL")->required();
  command->add_option("--endpoint", arguments->endpoint, "base URL of the hub (or $HF_ENDPOINT)");
  command->callback([arguments, &exit_code] { exit_code = run_pull(*arguments); });
}

}  // namespace edge_infer
