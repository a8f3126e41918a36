#include "tests/unit/pull/pull_fixture.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "apps/pull/http_fetch.h"
#include "runtime/base/mapped_file.h"

extern char** environ;

namespace edge_infer {
namespace fs = std::filesystem;

HubStub::HubStub() {
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  const char* argv[] = {"python3", "tests/data/pull/hub_stub.py", nullptr};
  posix_spawnp(&child_, "python3", &actions, nullptr, const_cast<char**>(argv), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  std::string line;
  for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) line += c;
  ::close(out[0]);
  port_ = std::atoi(line.c_str());
}

HubStub::~HubStub() {
  ::close(input_);
  if (child_ > 0) ::waitpid(child_, nullptr, 0);
}

HubStub& Pull::hub() {
  static HubStub stub;
  return stub;
}

void Pull::SetUp() {
  ASSERT_NE(hub().port(), 0) << "python3 is needed";
  dir_ = fs::path(testing::TempDir()) / ("edge_infer_pull_" + std::to_string(::getpid()));
  fs::remove_all(dir_);
  options_.endpoint = hub().url();
  options_.models_dir = dir_ / "models";
  options_.retry_delay_ms = 1;
}

void Pull::TearDown() {
  fs::remove_all(dir_);
}

nlohmann::json Pull::requests(const std::string& model, const std::string& end) {
  const auto fetcher = HttpFetcher::create(hub().url(), "");
  std::string text;
  EXPECT_TRUE((*fetcher)->get(
      {hub().url() + "/log", {}}, [](const FetchHead&) { return Status(); },
      [&](std::string_view bytes) {
        text += bytes;
        return Status();
      }));
  nlohmann::json found = nlohmann::json::array();
  for (const auto& entry : nlohmann::json::parse(text)) {
    const auto path = entry["path"].get<std::string>();
    const bool is_of_model = path.find("/" + model + "/resolve/") != std::string::npos ||
                             path.find("/cdn/" + model + "/") != std::string::npos;
    if (is_of_model && path.ends_with(end)) found.push_back(entry);
  }
  return found;
}

std::string Pull::weights() {
  std::string bytes;
  for (int i = 0; i < 4096 * 256; ++i) bytes += static_cast<char>(i % 256);
  return bytes;
}

std::string Pull::read(const fs::path& path) {
  return read_file(path, size_t{8} << 20).value_or("(missing)");
}

std::vector<std::string> Pull::left_behind() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.models_dir, error))
    names.push_back(entry.path().filename().native());
  std::ranges::sort(names);
  return names;
}

}  // namespace edge_infer
