#include "apps/cli/index_report.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/index/path_text.h"

namespace edge_infer {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value) {
  return static_cast<double>(static_cast<int64_t>(value * 1000 + 0.5)) / 1000;
}

void print_line(const Json& object) {
  const std::string line = object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

class JsonReport final : public IndexReport {
 public:
  void file(const FileEvent& e) override {
    print_line({{"event", "file"},
                {"path", path_as_utf8(e.path)},
                {"status", file_event_name(e.status)},
                {"reason", path_as_utf8(e.reason)},
                {"chunks", e.chunks}});
  }
  void progress(const IndexProgress& p) override {
    print_line({{"event", "progress"},
                {"files_done", p.files_done},
                {"files", p.files_total},
                {"chunks", p.chunks},
                {"tokens", p.tokens},
                {"tokens_per_second", rounded(p.tokens_per_second)},
                {"seconds", rounded(p.seconds)},
                {"eta_seconds", p.eta_seconds < 0 ? Json(nullptr) : Json(rounded(p.eta_seconds))}});
  }
  void summary(const IndexSummary& s) override {
    print_line({{"event", "summary"},
                {"files", s.files},
                {"indexed", s.indexed},
                {"unchanged", s.unchanged},
                {"deleted", s.deleted},
                {"failed", s.failed},
                {"skipped", s.skipped},
                {"chunks", s.chunks},
                {"tokens", s.tokens},
                {"seconds", rounded(s.seconds)}});
  }
  void stop() override {}
};

std::string clock_time(double seconds) {
  const auto s = static_cast<int64_t>(seconds + 0.5);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

// What a line of so many columns has room for: the time left before passages, passages before speed.
std::string progress_text(const IndexProgress& p, size_t columns) {
  const std::string files = fmt::format(" {}/{}", p.files_done, p.files_total);
  const std::string chunks = fmt::format("  {} chunks", p.chunks);
  const std::string speed = fmt::format("  {:.0f} tokens/s", p.tokens_per_second);
  const std::string left = "  ETA " + (p.eta_seconds < 0 ? "-:--" : clock_time(p.eta_seconds));
  for (std::string text :
       {files + " files" + chunks + speed + left, files + " files" + chunks + left, files + " files" + left})
    if (text.size() <= columns) return text;
  return (files + left).substr(0, columns);
}

// Skipped files are mostly pictures and the like: by reason, with a few names each.
constexpr size_t kNamesPerReason = 5;

class TerminalReport final : public IndexReport {
 public:
  void file(const FileEvent& e) override {
    if (e.status == FileEventStatus::kFailed) failed_.push_back(e);
    if (e.status != FileEventStatus::kSkipped) return;
    Skipped& skipped = skipped_[e.reason];
    if (skipped.names.size() < kNamesPerReason) skipped.names.push_back(e.path);
    ++skipped.count;
  }

  void progress(const IndexProgress& p) override {
    if (!terminal_) return;
    winsize size{};
    const int columns = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    const std::string text = progress_text(p, static_cast<size_t>(std::max(columns - 1, 1)));
    const int width = std::clamp(columns - static_cast<int>(text.size()) - 3, 0, 40);
    std::string bar;
    if (width >= 5) {
      const double left = p.eta_seconds < 0 ? 1 : p.eta_seconds;
      const double done = p.seconds + left > 0 ? p.seconds / (p.seconds + left) : 0;
      const int full = p.files_done >= p.files_total ? width : static_cast<int>(done * width);
      bar = fmt::format("[{}{}]", std::string(static_cast<size_t>(full), '#'),
                        std::string(static_cast<size_t>(width - full), '.'));
    }
    fmt::print(stderr, "\r\x1b[K{}{}", bar, text);
    std::fflush(stderr);
    shown_ = true;
  }

  void summary(const IndexSummary& s) override {
    stop();
    for (const auto& [reason, skipped] : skipped_) {
      fmt::print(stderr, "skipped ({}): ", reason);
      for (size_t i = 0; i < skipped.names.size(); ++i)
        fmt::print(stderr, "{}{}", i > 0 ? ", " : "", path_for_terminal(skipped.names[i]));
      if (skipped.count > skipped.names.size())
        fmt::print(stderr, " and {} more", skipped.count - skipped.names.size());
      fmt::print(stderr, "\n");
    }
    for (const FileEvent& e : failed_)
      fmt::print(stderr, "failed: {}: {}\n", path_for_terminal(e.path), path_for_terminal(e.reason));
    fmt::print(
        "{} files: {} indexed, {} unchanged, {} failed, {} skipped; {} deleted; {} chunks, {} tokens in "
        "{:.1f} s\n",
        s.files, s.indexed, s.unchanged, s.failed, s.skipped, s.deleted, s.chunks, s.tokens, s.seconds);
    std::fflush(stdout);
  }

  void stop() override {
    if (std::exchange(shown_, false)) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  struct Skipped {
    std::vector<std::string> names;
    size_t count = 0;
  };
  const bool terminal_ = ::isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
  std::vector<FileEvent> failed_;
  std::map<std::string, Skipped> skipped_;
};

}  // namespace

std::unique_ptr<IndexReport> make_json_report() {
  return std::make_unique<JsonReport>();
}
std::unique_ptr<IndexReport> make_terminal_report() {
  return std::make_unique<TerminalReport>();
}

}  // namespace edge_infer
