// index_victim DB FOLDER [FILE_SIZE_LIMIT]: indexes with the fakes, for tests that kill or starve the
// process. Exit code 0 and nothing, or 1 and the error on standard output.
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/unit/index/fakes.h"

int main(int argc, char** argv) {
  using namespace edge_infer;
  if (argc < 3) return 2;
  if (argc > 3) {
    std::signal(SIGXFSZ, SIG_IGN);
    const auto limit = static_cast<rlim_t>(std::atoll(argv[3]));
    const rlimit size{limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &size);
  }
  testing::FakeEmbedder embedder;
  embedder.delay_us = 200;
  testing::RecordingObserver observer;
  const auto summary = testing::run_index(argv[1], {argv[2]}, embedder, observer);
  if (summary) return 0;
  std::printf("%s: %s\n", error_code_name(summary.error().code), summary.error().message.c_str());
  return 1;
}
