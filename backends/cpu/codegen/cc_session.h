// CcSession: one running edge-infer-cc, as a state machine over non-blocking descriptors.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "backends/cpu/cc/protocol.h"
#include "runtime/base/subprocess.h"

namespace edge_infer {

class CcSession {
 public:
  // Errors: kInternal, kResourceExhausted.
  static Result<CcSession> start(const std::filesystem::path& helper, int64_t memory_bytes,
                                 int64_t cpu_seconds);

  void send(const CcRequest& request);
  // No request will follow: the helper ends after the last reply.
  void finish();

  // Requests without a reply yet.
  const std::deque<uint32_t>& outstanding() const { return outstanding_; }
  bool ended() const { return ended_; }

  // What to wait for: the two descriptors and whether there is something to write.
  int socket() const { return socket_.get(); }
  int error_pipe() const { return errors_.get(); }
  bool wants_to_write() const { return !unsent_.empty() || (finishing_ && !shut_); }

  // Moves as many bytes as possible without blocking. Errors: the helper broke the protocol or is another
  // build's; the session is of no use then.
  Status advance(const std::function<void(CcReply)>& on_reply);

  // Waits for the end of the process (kills it after `grace_ms`) and says how it ended, for an error message.
  struct End {
    Error reason;  // why outstanding requests have no reply
    double cpu_seconds = 0;
    int64_t peak_bytes = 0;
  };
  End end(int grace_ms);

 private:
  CcSession(Subprocess process, Descriptor socket, Descriptor errors)
      : process_(std::move(process)), socket_(std::move(socket)), errors_(std::move(errors)) {}
  void write_some();
  Status read_some(const std::function<void(CcReply)>& on_reply);
  void read_errors();
  Status handle(std::string_view payload, const std::function<void(CcReply)>& on_reply);

  Subprocess process_;
  Descriptor socket_, errors_;
  std::string unsent_, error_text_;
  CcFrames frames_;
  std::deque<uint32_t> outstanding_;
  bool greeted_ = false, finishing_ = false, shut_ = false, ended_ = false;
};

}  // namespace edge_infer
