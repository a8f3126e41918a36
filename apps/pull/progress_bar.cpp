#include "apps/pull/progress_bar.h"

#include <algorithm>
#include <cstdio>

namespace edge_infer {
namespace {

double megabytes(uint64_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

std::string size_text(uint64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3)
                           : fmt::format("{:.1f} MB", megabytes(bytes));
}

}  // namespace

void ProgressBar::start(const std::string& name, size_t files, uint64_t total_bytes) {
  fmt::print(stderr, "{}: {} {}, {}\n", name, files, files == 1 ? "file" : "files", size_text(total_bytes));
}

void ProgressBar::file_start(const std::string& file, uint64_t total_bytes, uint64_t resumed_bytes) {
  file_ = file;
  total_ = total_bytes;
  resumed_ = resumed_bytes;
  begin_ = drawn_ = Clock::now();
  if (resumed_bytes > 0) fmt::print(stderr, "{}: going on from {}\n", file, size_text(resumed_bytes));
}

void ProgressBar::file_bytes(uint64_t done_bytes) {
  constexpr std::chrono::milliseconds kRedraw{100};
  if (!terminal_ || Clock::now() - drawn_ < kRedraw) return;
  drawn_ = Clock::now();
  draw(done_bytes);
}

void ProgressBar::draw(uint64_t done_bytes) {
  const double seconds = std::chrono::duration<double>(drawn_ - begin_).count();
  const double rate =
      megabytes(done_bytes - std::min(done_bytes, resumed_)) / std::max(seconds, 1e-3);  // MB/s
  if (total_ == 0) {
    fmt::print(stderr, "\r{}  {:.1f} MB  {:.1f} MB/s\x1b[K", file_, megabytes(done_bytes), rate);
    return;
  }
  const double left = rate > 0 ? megabytes(total_ - std::min(total_, done_bytes)) / rate : 0;
  fmt::print(stderr, "\r{}  {:.1f} of {:.1f} MB  {} %  {:.1f} MB/s  {:.0f} s left\x1b[K", file_,
             megabytes(done_bytes), megabytes(total_), done_bytes * 100 / total_, rate, left);
}

void ProgressBar::file_end(const std::string& file, uint64_t bytes) {
  fmt::print(stderr, "{}{}  {}{}\n", terminal_ ? "\r" : "", file, size_text(bytes),
             terminal_ ? "\x1b[K" : "");
}

void ProgressBar::wait(const std::string& why, int64_t wait_ms) {
  fmt::print(stderr, "{}{}; asking again in {:.1f} s{}\n", terminal_ ? "\r" : "", why,
             static_cast<double>(wait_ms) / 1e3, terminal_ ? "\x1b[K" : "");
}

}  // namespace edge_infer
