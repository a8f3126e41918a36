#include "backends/cpu/codegen/cc_session.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "backends/cpu/cc/cc_identity.h"

namespace edge_infer {
namespace {

constexpr size_t kErrorText = 4096;

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace

Result<CcSession> CcSession::start(const std::filesystem::path& helper, int64_t memory_bytes,
                                   int64_t cpu_seconds) {
  // A socket, not pipes: writing to a helper that is gone is then an error and no signal in the host.
  std::array<int, 2> ends{}, pipe_ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(ErrorCode::kResourceExhausted, "cannot make a socket for the kernel compiler: {}",
                std::strerror(errno));
  Descriptor ours(ends[0]);
  EDGE_INFER_ASSIGN(const Descriptor theirs, above_standard(Descriptor(ends[1])));
  if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorCode::kResourceExhausted, "cannot make a pipe for the kernel compiler: {}",
                std::strerror(errno));
  Descriptor errors(pipe_ends[0]);
  EDGE_INFER_ASSIGN(const Descriptor errors_in, above_standard(Descriptor(pipe_ends[1])));
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(errors.get(), F_SETFL, O_NONBLOCK);
  EDGE_INFER_ASSIGN(
      Subprocess process,
      Subprocess::start({.program = helper,
                         .arguments = {fmt::format("{}", memory_bytes), fmt::format("{}", cpu_seconds)},
                         .input = theirs.get(),
                         .output = theirs.get(),
                         .error = errors_in.get()}));
  return CcSession(std::move(process), std::move(ours), std::move(errors));
}

void CcSession::send(const CcRequest& request) {
  unsent_ += encode(request);
  outstanding_.push_back(request.id);
}

void CcSession::finish() {
  finishing_ = true;
}

Status CcSession::advance(const std::function<void(CcReply)>& on_reply) {
  write_some();
  read_errors();
  return read_some(on_reply);
}

void CcSession::write_some() {
  size_t sent = 0;
  while (sent < unsent_.size()) {
    const ssize_t n =
        ::send(socket_.get(), unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      sent += static_cast<size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    // A broken socket shows at the next read, behind the replies that were still written.
    if (n < 0 && !would_block()) sent = unsent_.size();
    break;
  }
  unsent_.erase(0, sent);
  if (finishing_ && !shut_ && unsent_.empty()) {
    ::shutdown(socket_.get(), SHUT_WR);
    shut_ = true;
  }
}

Status CcSession::read_some(const std::function<void(CcReply)>& on_reply) {
  std::array<char, 65536> buffer;
  while (!ended_) {
    const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && would_block()) return {};
    if (n <= 0) {
      ended_ = true;
      return {};
    }
    frames_.append({buffer.data(), static_cast<size_t>(n)});
    while (true) {
      EDGE_INFER_ASSIGN(const std::optional<std::string> payload, frames_.next());
      if (!payload) break;
      EDGE_INFER_RETURN_IF_ERROR(handle(*payload, on_reply));
    }
  }
  return {};
}

Status CcSession::handle(std::string_view payload, const std::function<void(CcReply)>& on_reply) {
  if (!greeted_) {
    EDGE_INFER_ASSIGN(const CcHello hello, decode_hello(payload));
    if (hello.build != cc_identity())
      return fail(ErrorCode::kUnsupported, "edge-infer-cc is \"{}\", expected \"{}\"", hello.build,
                  cc_identity());
    greeted_ = true;
    return {};
  }
  EDGE_INFER_ASSIGN(CcReply reply, decode_reply(payload));
  if (outstanding_.empty() || outstanding_.front() != reply.id)
    return fail(ErrorCode::kIoError, "edge-infer-cc replied to request {}, expected {}", reply.id,
                outstanding_.empty() ? "none" : fmt::format("{}", outstanding_.front()));
  outstanding_.pop_front();
  on_reply(std::move(reply));
  return {};
}

void CcSession::read_errors() {
  std::array<char, 1024> buffer;
  while (errors_) {
    const ssize_t n = ::read(errors_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && would_block()) return;
    if (n <= 0) {
      errors_.reset();
      return;
    }
    if (error_text_.size() < kErrorText) error_text_.append(buffer.data(), static_cast<size_t>(n));
  }
}

CcSession::End CcSession::end(int grace_ms) {
  const SubprocessEnd process = process_.wait(grace_ms);
  read_errors();
  while (!error_text_.empty() && error_text_.back() == '\n') error_text_.pop_back();
  const std::string said = error_text_.empty() ? "" : fmt::format(": {}", error_text_);
  End end{.reason = {ErrorCode::kIoError, {}},
          .cpu_seconds = process.cpu_seconds,
          .peak_bytes = process.peak_bytes};
  if (process.signal == SIGXCPU) {
    end.reason = {ErrorCode::kResourceExhausted, "edge-infer-cc used up its limit of processor time" + said};
  } else if (process.status == kCcExitOutOfMemory) {
    end.reason = {ErrorCode::kResourceExhausted, "edge-infer-cc used up its limit of memory"};
  } else if (process.signal == SIGSYS) {
    end.reason.message = "edge-infer-cc was stopped: it tried what its sandbox forbids" + said;
  } else if (process.signal != 0) {
    end.reason.message =
        fmt::format("edge-infer-cc was ended by a signal ({}){}", ::strsignal(process.signal), said);
  } else {
    end.reason.message =
        fmt::format("edge-infer-cc ended without a reply (status {}){}", process.status, said);
  }
  return end;
}

}  // namespace edge_infer
