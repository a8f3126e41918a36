#include "runtime/base/paths.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace edge_infer {
namespace {

// The variables as a test sets them, and as they were afterwards.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& values) {
    for (const char* name : {"EDGE_INFER_CACHE", "XDG_CACHE_HOME", "HOME"}) {
      const char* old = std::getenv(name);
      before_[name] = old != nullptr ? std::optional<std::string>(old) : std::nullopt;
      const auto given = values.find(name);
      set(name, given != values.end() ? std::optional(given->second) : std::nullopt);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_) set(name, value);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    if (value)
      ::setenv(name.c_str(), value->c_str(), 1);
    else
      ::unsetenv(name.c_str());
  }
  std::map<std::string, std::optional<std::string>> before_;
};

std::string cache_dir(const std::map<std::string, std::string>& values) {
  const Environment environment(values);
  return default_cache_dir().native();
}

TEST(Paths, the_cache_directory_is_the_first_that_is_named) {
  EXPECT_EQ(cache_dir({{"EDGE_INFER_CACHE", "own"}, {"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}}), "own");
  EXPECT_EQ(cache_dir({{"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}}), "/x/edge-infer");
  EXPECT_EQ(cache_dir({{"EDGE_INFER_CACHE", ""}, {"XDG_CACHE_HOME", ""}, {"HOME", "/h"}}),
            "/h/.cache/edge-infer");
  EXPECT_EQ(cache_dir({}), "");
}

TEST(Paths, a_relative_XDG_CACHE_HOME_is_ignored) {
  for (const char* relative : {"x", ".", "./x", "../x"})
    EXPECT_EQ(cache_dir({{"XDG_CACHE_HOME", relative}, {"HOME", "/h"}}), "/h/.cache/edge-infer") << relative;
}

}  // namespace
}  // namespace edge_infer
