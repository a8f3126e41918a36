// The HTTP/1.1 server behind `edge-infer serve`: one thread for the sockets (Boost.Beast coroutines), the
// service behind it for everything else. Slow, oversized, malformed and vanished clients cost a bounded
// amount of memory and time each, and never an answer of another client.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "apps/server/service.h"
#include "models/embedder.h"
#include "runtime/base/error.h"

namespace edge_infer {

struct ServerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;    // 0: any free one
  ServiceOptions service;  // access.loopback and access.bind_host are filled in by start
  size_t max_connections = 512;
  size_t header_limit = size_t{16} << 10;  // bytes of a request's head
  size_t body_budget = size_t{256} << 20;  // bytes of bodies being read, of all connections together
  std::chrono::milliseconds header_timeout{10'000};  // from a request's first byte to the end of its head
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds write_timeout{60'000};
  std::chrono::milliseconds idle_timeout{75'000};    // between requests of a connection
  std::chrono::milliseconds shutdown_grace{10'000};  // for requests in flight
};

class Server {
 public:
  // What can be said of `options` without a model. Errors: kInvalidArgument (an API key that no header can
  // carry, a host that is not loopback without a key), kNotFound (a host that does not resolve).
  static Status check(const ServerOptions& options);
  // Binds, starts the threads and accepts. `embedder` must outlive the server. Errors: those of check,
  // kIoError (the port is taken).
  static Result<std::unique_ptr<Server>> start(const Embedder& embedder, ServerOptions options);
  // Stops at once: requests in flight are dropped.
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
  virtual std::string url() const = 0;  // "http://127.0.0.1:8080"
  // Accepts no more, answers what is in flight for at most shutdown_grace, then closes. Returns at once;
  // thread-safe.
  virtual void request_stop() = 0;
  // Returns when the last connection has ended after request_stop.
  virtual void wait() = 0;
};

}  // namespace edge_infer
