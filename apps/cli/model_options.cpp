#include "apps/cli/model_options.h"

#include <CLI/CLI.hpp>

#include "apps/cli/option_range.h"
#include "runtime/device/registry.h"

namespace edge_infer {

void add_device_option(CLI::App& command, EmbedderOptions& options) {
  command
      .add_option("--device", options.device,
                  "auto | cpu | cuda | cuda:N; cuda:[N,]memory=2G limits its memory")
      ->check([](const std::string& name) {
        const Status known = check_device_name(name);
        return known ? std::string() : known.error().message;
      })
      ->default_str("auto");
}

void add_mode_option(CLI::App& command, EmbedderOptions& options) {
  command
      .add_option("--mode", options.mode,
                  "default | reduce-overhead (a GPU's graphs are made before the first call; on a processor "
                  "the same as default) | max-autotune (and the schedules of kernels are measured here)")
      ->check(CLI::IsMember({"default", "reduce-overhead", "max-autotune"}))
      ->default_str("default");
}

void add_model_options(CLI::App& command, ModelOptions& options, bool with_precision) {
  command.add_option("--model", options.model, "model directory, or the name of a pulled model")->required();
  add_device_option(command, options.embedder);
  command.add_option("--threads", options.embedder.threads, "at most so many workers")
      ->check(integer_from(1, 1024));
  add_mode_option(command, options.embedder);
  if (!with_precision) return;
  command
      .add_option("--precision", options.embedder.precision,
                  "fp32 | fp16 | bf16 | auto; fp32 on processors, auto elsewhere, unless given")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16", "auto"}));
  command.add_option("--max-length", options.embedder.max_length, "tokens of a text, special ones included")
      ->check(integer_from(1, 1 << 20));
}

void let_compilation_finish(const Embedder& embedder) {
  constexpr std::chrono::seconds kLimit{10};
  if (!embedder.settle(kLimit))
    fmt::print(stderr, "edge-infer: the kernels were not compiled within {} s; the next run tries again\n",
               kLimit.count());
}

}  // namespace edge_infer
