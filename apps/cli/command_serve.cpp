// edge-infer serve: the embedding server, until SIGINT or SIGTERM.
#include <pthread.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "apps/cli/commands.h"
#include "apps/cli/model_options.h"
#include "apps/cli/option_range.h"
#include "apps/cli/report.h"
#include "apps/server/batcher.h"
#include "apps/server/server.h"
#include "models/embedder.h"
#include "runtime/base/cpu.h"

namespace edge_infer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kWaitForKernels{10};

struct ServeArguments {
  std::string model;
  EmbedderOptions embedder;
  ServerOptions server;
};

// What /v1/models lists: the name as given, or the folder's own name.
std::string served_name(const std::string& model) {
  std::error_code error;
  if (!std::filesystem::is_directory(model, error)) return model;
  const auto absolute = std::filesystem::weakly_canonical(model, error);
  const std::string name = absolute.filename().string();
  return name.empty() ? model : name;
}

// Brings what improves behind the first answers to its end, as far as it is done by `until`, or until a
// signal comes, which is returned; else 0.
int settle(const Embedder& embedder, const sigset_t& signals, Clock::time_point until) {
  constexpr timespec kTick{0, 20'000'000};
  int signal = 0;
  while (signal <= 0 && !embedder.settle(std::chrono::milliseconds(0)) && Clock::now() < until)
    signal = sigtimedwait(&signals, nullptr, &kTick);
  return std::max(signal, 0);
}

int serve(ServeArguments arguments) {
  if (const Status usable = Server::check(arguments.server); !usable)
    return usable.error().code == ErrorCode::kInvalidArgument ? report_usage(usable.error().message)
                                                              : report_error(usable.error());
  // Blocked before any thread starts, so that sigwait below is the only one to see them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const auto embedder = Embedder::open(arguments.model, arguments.embedder);
  if (!embedder) return report_error(embedder.error());
  ServerOptions& options = arguments.server;
  options.service.model_name = served_name(arguments.model);
  options.service.batching = batching_for(**embedder, worker_budget());
  options.service.workers = std::clamp(worker_budget(), 1, 8);
  // On a machine's first run, so that all answers of a server come from one set of kernels.
  int signal = settle(**embedder, signals, Clock::now() + kWaitForKernels);
  if (signal > 0) return 0;
  const auto server = Server::start(**embedder, options);
  if (!server) return report_error(server.error());
  std::fprintf(stderr, "listening on %s (%s, %lld dimensions)\n", (*server)->url().c_str(),
               options.service.model_name.c_str(), static_cast<long long>((*embedder)->dimensions()));

  signal = settle(**embedder, signals, Clock::time_point::max());
  if (signal <= 0) sigwait(&signals, &signal);
  std::fprintf(stderr, "stopping: requests in flight have %lld s; once more ends at once\n",
               static_cast<long long>(options.shutdown_grace.count() / 1000));
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  (*server)->request_stop();
  (*server)->wait();
  return 0;
}

}  // namespace

void add_serve_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ServeArguments>();
  if (const char* key = std::getenv("EDGE_INFER_API_KEY")) arguments->server.service.access.api_key = key;
  CLI::App* command = app.add_subcommand("serve", "answer embedding requests over HTTP");
  command->add_option("--model", arguments->model, "model directory, or a name that was pulled")->required();
  command
      ->add_option("--host", arguments->server.host,
                   "address to listen on; another than loopback needs a key")
      ->capture_default_str();
  command->add_option("--port", arguments->server.port, "port to listen on; 0: any free one")
      ->check(integer_from(0, 65535))
      ->capture_default_str();
  command->add_option(
      "--api-key", arguments->server.service.access.api_key,
      "key that clients must send (better: $EDGE_INFER_API_KEY, which other users cannot see)");
  add_device_option(*command, arguments->embedder);
  command->add_option("--threads", arguments->embedder.threads, "upper bound of worker threads")
      ->check(integer_from(1, 1024));
  add_mode_option(*command, arguments->embedder);
  command->callback([arguments, &exit_code] { exit_code = serve(*arguments); });
}

}  // namespace edge_infer
