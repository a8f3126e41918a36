// What the server answers, without sockets: routes, checks, tokenizing, batching, answers. docs/http_api.md
// is its contract. Safe to call from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apps/server/access.h"
#include "apps/server/batcher.h"
#include "apps/server/body_reader.h"
#include "apps/server/http_message.h"
#include "apps/server/metrics.h"
#include "apps/server/worker_pool.h"
#include "models/embedder.h"

namespace edge_infer {

struct ServiceOptions {
  std::string model_name;  // as /v1/models lists it
  AccessPolicy access;
  BatcherOptions batching;
  size_t max_inputs = 2048;
  size_t body_limit = size_t{64} << 20;  // bytes
  int workers = 1;                       // threads that tokenize and write answers
};

// A request whose answer is still to come.
class PendingRequest {
 public:
  // The client is gone: what has not run is dropped. `half_closed`: it may still be reading, so that work
  // which fits one batch is finished.
  void cancel(bool half_closed);

 private:
  friend class Service;
  std::mutex mutex_;
  Batcher* batcher_ = nullptr;
  std::shared_ptr<EmbedJob> job_;  // once submitted
  int64_t small_tokens_ = 0;
  bool cancelled_ = false, half_closed_ = false;
};

class Service {
 public:
  using Reply = std::move_only_function<void(HttpResponse)>;  // called once, on any thread; must not throw

  // `embedder` must outlive the service.
  Service(const Embedder& embedder, ServiceOptions options);
  // Waits for tasks that run; requests that wait are answered as cancelled.
  ~Service();

  // The refusal that the head alone decides: access, route, method, content type. `content_length` is what
  // the client announced, if it did.
  std::optional<HttpResponse> check_head(const RequestHead& head, std::optional<uint64_t> content_length);
  // Answers a request that check_head let pass.
  std::shared_ptr<PendingRequest> handle(RequestHead head, std::string body, Reply reply);
  // What each answer leaves with: x-request-id, and the response counters.
  void complete(const RequestHead& head, HttpResponse& response);

  size_t body_limit() const { return options_.body_limit; }
  Metrics& metrics() { return metrics_; }

 private:
  struct Request;
  void embed(const std::shared_ptr<Request>& request);
  std::optional<ApiError> tokenize(Request& request);
  void answer(Request& request, const Status& status);
  void fail_request(Request& request, Failure failure, const ApiError& error);
  void check_health(Reply reply);
  HttpResponse models() const;
  HttpResponse model(const std::string& id) const;

  const Embedder& embedder_;
  const ServiceOptions options_;
  const int64_t created_;                 // unix seconds
  std::vector<int32_t> prefix_, suffix_;  // special tokens around a text
  Metrics metrics_;
  std::mutex health_mutex_;
  std::vector<Reply> health_waiters_;  // share one forward
  std::unique_ptr<Batcher> batcher_;
  std::unique_ptr<WorkerPool> pool_;
};

}  // namespace edge_infer
