#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "apps/documents/child_process.h"
#include "apps/documents/document.h"
#include "apps/documents/protocol.h"
#include "runtime/base/log.h"
#include "runtime/base/paths.h"

namespace edge_infer {
namespace {

namespace fs = std::filesystem;

// Readers may have to share the processor; only one that does not use it at all waits for this.
constexpr int64_t kClockFactor = 4;

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// Beside this program or library, or in the bin folder next to its lib folder. Never through PATH.
Result<fs::path> reader_program() {
  const fs::path own = own_folder();
  for (const fs::path& path : {own / "edge-infer-read", own.parent_path() / "bin" / "edge-infer-read"})
    if (is_file(path)) return path;
  return fail(ErrorCode::kInternal, "the document reader edge-infer-read is missing: expected in \"{}\"",
              own.native());
}

std::string pdfium_path() {
  if (const char* path = std::getenv("EDGE_INFER_PDFIUM"); path != nullptr && *path != 0) {
    std::error_code error;
    return fs::absolute(path, error).native();
  }
  const fs::path own = own_folder();
  for (const fs::path& path : {own / "libpdfium.so", own.parent_path() / "lib" / "libpdfium.so"})
    if (is_file(path)) return path.native();
  return {};
}

// Only the ending matters to the reader; the rest of a name stays here.
std::string ending_of(const std::string& name) {
  const size_t slash = name.rfind('/');
  const std::string file = slash == std::string::npos ? name : name.substr(slash + 1);
  const size_t dot = file.rfind('.');
  if (dot == std::string::npos || dot == 0 || file.size() - dot > 32) return "document";
  return "document" + file.substr(dot);
}

std::unexpected<Error> death(const ChildOutcome& outcome, const ReadLimits& limits) {
  if (outcome.stopped) return fail(ErrorCode::kCancelled, "stopped while it was read");
  if (outcome.signal == SIGXCPU || outcome.timed_out)
    return fail(ErrorCode::kResourceExhausted, "reading took longer than {} ms",
                limits.time_ms * (outcome.timed_out ? kClockFactor : 1));
  if (outcome.too_much_output)
    return fail(ErrorCode::kResourceExhausted, "more than {} bytes of text", limits.text_bytes);
  switch (outcome.signal) {
    case 0:
      return fail(ErrorCode::kInternal, "the document reader ended without an answer (status {})",
                  outcome.status);
    case SIGSYS:
      return fail(ErrorCode::kCorruption,
                  "the document reader was stopped: it aborted or tried what its sandbox forbids");
    case SIGKILL:
      return fail(ErrorCode::kResourceExhausted, "the document reader was killed (out of memory?)");
    case SIGBUS:
      return fail(ErrorCode::kIoError, "the file could not be read to its end (did it change?)");
    default:
      return fail(ErrorCode::kCorruption, "the document reader crashed on this file ({})",
                  ::strsignal(outcome.signal));
  }
}

void note_sandbox(const ReaderAnswer& answer) {
#ifndef EDGE_INFER_SANITIZED
  static std::atomic<bool> said{false};
  if (answer.seccomp || !answer.document || said.exchange(true)) return;
  log_warning("this system has no seccomp filter: documents are read with {} and resource limits only",
              answer.landlock ? "Landlock" : "no new privileges");
#else
  (void)answer;
#endif
}

}  // namespace

Result<Document> read_open_document(int descriptor, const std::string& name, const ReadLimits& limits,
                                    const StopReading& stop) {
  struct stat st{};
  if (::fstat(descriptor, &st) != 0)
    return fail(ErrorCode::kIoError, "cannot inspect the file: {}", std::strerror(errno));
  if (!S_ISREG(st.st_mode)) return fail(ErrorCode::kInvalidArgument, "not a regular file");
  if (st.st_size > limits.file_bytes)
    return fail(ErrorCode::kResourceExhausted, "the file has {} bytes, more than {}", st.st_size,
                limits.file_bytes);
  ChildRun run;
  EDGE_INFER_ASSIGN(run.program, reader_program());
  run.arguments = {ending_of(name),
                   std::to_string(limits.text_bytes),
                   std::to_string(limits.memory_bytes),
                   std::to_string(limits.time_ms),
                   std::to_string(st.st_size),
                   pdfium_path()};
  run.input = descriptor;
  run.output_bytes = 4 * limits.text_bytes + (int64_t{1} << 20);
  run.time_ms = limits.time_ms * kClockFactor;
  run.stop = stop;
  EDGE_INFER_ASSIGN(const ChildOutcome outcome, run_child(run));
  // A whole answer counts even when the child then died; half an answer never does.
  Result<ReaderAnswer> answer = decode_answer(outcome.output, limits, st.st_size);
  if (!answer) {
    const bool died = outcome.signal != 0 || outcome.timed_out || outcome.too_much_output ||
                      outcome.stopped || outcome.output.empty();
    if (died) return death(outcome, limits);
    return std::unexpected(answer.error());
  }
  note_sandbox(*answer);
  return std::move(answer->document);
}

Result<Document> read_document(const fs::path& path, const ReadLimits& limits, const StopReading& stop) {
  // O_NONBLOCK: a FIFO must not block. O_NOFOLLOW: the caller decides about links.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY)};
  if (file.fd < 0) {
    const int error = errno;
    if (error == ELOOP) return fail(ErrorCode::kInvalidArgument, "not a regular file but a link");
    if (error == ENXIO) return fail(ErrorCode::kInvalidArgument, "not a regular file");
    const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIoError;
    return fail(code, "cannot open the file: {}", std::strerror(error));
  }
  return read_open_document(file.fd, path.filename().native(), limits, stop);
}

}  // namespace edge_infer
