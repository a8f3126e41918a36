#include "apps/server/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <exception>
#include <new>
#include <random>
#include <string_view>
#include <utility>

#include "apps/server/answer.h"
#include "apps/server/model_failure.h"

namespace edge_infer {
namespace {

using Clock = std::chrono::steady_clock;

enum class Route { kNone, kEmbeddings, kTeiEmbed, kModels, kModel, kHealth, kMetrics };
constexpr std::string_view kModelPrefix = "/v1/models/";
constexpr size_t kMaxListedInHeader = 256;

Route route_of(const std::string& path) {
  if (path == "/v1/embeddings" || path == "/embeddings") return Route::kEmbeddings;
  if (path == "/embed") return Route::kTeiEmbed;
  if (path == "/v1/models" || path == "/models") return Route::kModels;
  if (path.starts_with(kModelPrefix) && path.size() > kModelPrefix.size()) return Route::kModel;
  if (path == "/health") return Route::kHealth;
  if (path == "/metrics") return Route::kMetrics;
  return Route::kNone;
}

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// A client's id is echoed when it is short and plain.
std::string request_id(const RequestHead& head) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  };
  if (head.request_id && !head.request_id->empty() && head.request_id->size() <= 128 &&
      std::all_of(head.request_id->begin(), head.request_id->end(), plain))
    return *head.request_id;
  thread_local std::mt19937_64 random{std::random_device{}()};
  return fmt::format("req-{:016x}{:016x}", random(), random());
}

}  // namespace

struct Service::Request {
  BodyDialect dialect = BodyDialect::kOpenAi;
  const char* param() const { return dialect == BodyDialect::kOpenAi ? "input" : "inputs"; }
  bool counted = false;  // as a single or batch request
  std::string raw;
  EmbeddingBody body;
  Reply reply;
  std::shared_ptr<PendingRequest> pending = std::make_shared<PendingRequest>();
  std::shared_ptr<EmbedJob> job = std::make_shared<EmbedJob>();
  std::vector<TruncatedInput> truncated;
  Clock::time_point begin = Clock::now();
  double tokenization_seconds = 0;
};

void PendingRequest::cancel(bool half_closed) {
  std::shared_ptr<EmbedJob> job;
  Batcher* batcher = nullptr;
  {
    const std::lock_guard lock(mutex_);
    (half_closed ? half_closed_ : cancelled_) = true;
    if (job_ && (!half_closed || job_->tokens() > small_tokens_)) {
      job = job_;
      batcher = batcher_;
    }
  }
  if (job) batcher->cancel(job);
}

Service::Service(const Embedder& embedder, ServiceOptions options)
    : embedder_(embedder), options_(std::move(options)), created_(std::time(nullptr)) {
  // The special tokens around a text: what the text of no tokens has, split where a text would stand.
  Encoding empty, letter;
  embedder.tokenizer().encode("", 0, empty);
  embedder.tokenizer().encode("a", 0, letter);
  const auto split =
      std::mismatch(empty.ids.begin(), empty.ids.end(), letter.ids.begin(), letter.ids.end()).first;
  prefix_.assign(empty.ids.begin(), split);
  suffix_.assign(split, empty.ids.end());
  batcher_ = std::make_unique<Batcher>(embedder_, options_.batching, metrics_);
  pool_ = std::make_unique<WorkerPool>(options_.workers);
}

Service::~Service() {
  // The batcher ends first: its last answers are tasks of the pool. Tasks that submit afterwards are refused.
  batcher_->stop();
  pool_.reset();
}

std::optional<HttpResponse> Service::check_head(const RequestHead& head,
                                                std::optional<uint64_t> content_length) {
  if (const auto refusal = check_access(options_.access, head)) {
    HttpResponse response = error_response(*refusal);
    if (refusal->status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  const Route route = route_of(head.path);
  if (route == Route::kNone)
    return error_response({404, fmt::format("no route {} {}", head.method, head.path), "", "not_found"});
  const bool post = route == Route::kEmbeddings || route == Route::kTeiEmbed;
  const char* allowed = post ? "POST" : "GET, HEAD";
  if (post ? head.method != "POST" : head.method != "GET" && head.method != "HEAD") {
    HttpResponse response =
        error_response({405, fmt::format("{} does not take {}, expected {}", head.path, head.method, allowed),
                        "", "method_not_allowed"});
    response.headers.emplace_back("Allow", allowed);
    return response;
  }
  if (post && !(head.content_type && is_json_content_type(*head.content_type)))
    return error_response(
        {415,
         head.content_type ? fmt::format("Content-Type \"{}\" is not supported, expected application/json",
                                         *head.content_type)
                           : "no Content-Type header, expected application/json",
         "", "unsupported_media_type"});
  if (post && head.content_encoding && !is_identity_encoding(*head.content_encoding))
    return error_response({415,
                           fmt::format("Content-Encoding \"{}\" is not supported, send the body as it is",
                                       *head.content_encoding),
                           "", "unsupported_media_type"});
  if (content_length && *content_length > options_.body_limit)
    return error_response(
        {413,
         fmt::format("the body has {} bytes, at most {} are allowed", *content_length, options_.body_limit),
         "", "body_too_large"});
  return std::nullopt;
}

std::shared_ptr<PendingRequest> Service::handle(RequestHead head, std::string body, Reply reply) {
  switch (route_of(head.path)) {
    case Route::kModels:
      reply(models());
      break;
    case Route::kModel:
      reply(model(head.path.substr(kModelPrefix.size())));
      break;
    case Route::kMetrics: {
      HttpResponse response;
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      response.body = metrics_.print();
      reply(std::move(response));
      break;
    }
    case Route::kHealth:
      check_health(std::move(reply));
      break;
    case Route::kNone:
      reply(error_response({404, "no route " + head.path, "", "not_found"}));
      break;
    case Route::kEmbeddings:
    case Route::kTeiEmbed: {
      auto request = std::make_shared<Request>();
      request->dialect = route_of(head.path) == Route::kEmbeddings ? BodyDialect::kOpenAi : BodyDialect::kTei;
      request->raw = std::move(body);
      request->reply = std::move(reply);
      auto pending = request->pending;
      pending->batcher_ = batcher_.get();
      pending->small_tokens_ = options_.batching.batch_tokens;
      pool_->post([this, request] {
        try {
          embed(request);
        } catch (const std::bad_alloc&) {
          fail_request(*request, Failure::kInference,
                       answer_of({ErrorCode::kResourceExhausted, "out of memory"}, request->param()));
        } catch (const std::exception& exception) {
          fail_request(*request, Failure::kInference,
                       answer_of({ErrorCode::kInternal, exception.what()}, request->param()));
        }
      });
      return pending;
    }
  }
  return std::make_shared<PendingRequest>();
}

void Service::complete(const RequestHead& head, HttpResponse& response) {
  response.headers.emplace_back("x-request-id", request_id(head));
  metrics_.count_response(response.status);
}

void Service::fail_request(Request& request, Failure failure, const ApiError& error) {
  if (!request.reply) return;
  if (!request.counted) metrics_.unread_requests.fetch_add(1);
  metrics_.count_failure(failure);
  Reply reply = std::exchange(request.reply, nullptr);
  reply(error_response(error));
}

std::optional<ApiError> Service::tokenize(Request& request) {
  const char* param = request.param();
  auto prompt = embedder_.prompt(request.body.prompt_name);
  if (!prompt) return ApiError{400, prompt.error().message, "prompt_name", "invalid_value"};
  // A model may be unable to take a prompt; its embedder says so for no texts at all.
  if (!prompt->empty())
    if (const auto able = embedder_.embed({}, *prompt); !able)
      return ApiError{400, able.error().message, "prompt_name", "unsupported_prompt"};
  const auto limit = static_cast<size_t>(embedder_.max_length());
  Encoding encoding;
  std::string text;
  for (size_t i = 0; i < request.body.inputs.size(); ++i) {
    BodyInput& input = request.body.inputs[i];
    if (input.is_ids) {
      const std::vector<int32_t>& ids = input.ids;
      const bool framed = ids.size() >= prefix_.size() + suffix_.size() &&
                          std::equal(prefix_.begin(), prefix_.end(), ids.begin()) &&
                          std::equal(suffix_.rbegin(), suffix_.rend(), ids.rbegin());
      if (!framed)
        return ApiError{
            400,
            fmt::format("token ids of input {} lack the model's special tokens around them ([{}] before, "
                        "[{}] behind): ids of another tokenizer would be read as another text; send text",
                        i, fmt::join(prefix_, ","), fmt::join(suffix_, ",")),
            param, "foreign_token_ids"};
      encoding.tokens = static_cast<int64_t>(ids.size());
      encoding.truncated = ids.size() > limit;
      encoding.ids.assign(ids.begin(),
                          ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), limit)));
      if (encoding.truncated && limit >= suffix_.size())
        std::copy(suffix_.begin(), suffix_.end(),
                  encoding.ids.end() - static_cast<std::ptrdiff_t>(suffix_.size()));
    } else {
      text = *prompt;
      text += input.text;
      embedder_.tokenizer().encode(text, embedder_.max_length(), encoding);
    }
    if (encoding.truncated && !request.body.truncate)
      return ApiError{400,
                      fmt::format("input {} has {} tokens, the model takes {}, and \"truncate\" is false", i,
                                  encoding.tokens, limit),
                      param, "context_length_exceeded"};
    if (encoding.ids.empty())
      return ApiError{400, fmt::format("input {} has no tokens", i), param, "invalid_value"};
    if (encoding.truncated)
      request.truncated.push_back({i, static_cast<int64_t>(encoding.ids.size()), encoding.tokens});
    metrics_.input_tokens.observe(static_cast<double>(encoding.ids.size()));
    request.job->add_text(encoding.ids);
    input = BodyInput{};
  }
  metrics_.truncated_inputs.fetch_add(request.truncated.size());
  return std::nullopt;
}

void Service::embed(const std::shared_ptr<Request>& request) {
  bool gone = false;
  {
    const std::lock_guard lock(request->pending->mutex_);
    gone = request->pending->cancelled_;
  }
  if (gone)
    return fail_request(*request, Failure::kDropped,
                        answer_of({ErrorCode::kCancelled, "client gone"}, request->param()));
  BodyLimits limits;
  limits.max_inputs = options_.max_inputs;
  limits.vocabulary_size = embedder_.tokenizer().vocabulary_size();
  limits.dimensions = embedder_.dimensions();
  auto body = read_embedding_body(request->raw, request->dialect, limits);
  std::string().swap(request->raw);
  if (!body) {
    const bool size = body.error().code == "too_many_inputs";
    return fail_request(*request, size ? Failure::kBatchSize : Failure::kValidation, body.error());
  }
  request->body = *std::move(body);
  metrics_.inputs.fetch_add(request->body.inputs.size());
  (request->body.inputs.size() == 1 ? metrics_.single_requests : metrics_.batch_requests).fetch_add(1);
  request->counted = true;
  const auto tokenize_begin = Clock::now();
  if (const auto error = tokenize(*request)) return fail_request(*request, Failure::kValidation, *error);
  request->tokenization_seconds = seconds_between(tokenize_begin, Clock::now());
  metrics_.tokenization_seconds.observe(request->tokenization_seconds);

  request->job->done = [this, request](Status status) {
    pool_->post([this, request, status = std::move(status)] {
      try {
        answer(*request, status);
      } catch (const std::exception&) {
        fail_request(*request, Failure::kInference,
                     answer_of({ErrorCode::kResourceExhausted, "out of memory"}, request->param()));
      }
    });
  };
  // Under the lock, so that a cancel that comes meanwhile finds the job.
  Status submitted;
  bool cancel_now = false;
  {
    const std::lock_guard lock(request->pending->mutex_);
    submitted = batcher_->submit(request->job);
    if (submitted) {
      request->pending->job_ = request->job;
      cancel_now = request->pending->cancelled_ || (request->pending->half_closed_ &&
                                                    request->job->tokens() > options_.batching.batch_tokens);
    }
  }
  if (!submitted) {
    request->job->done = nullptr;
    if (submitted.error().code == ErrorCode::kResourceExhausted)
      return fail_request(*request, Failure::kOverloaded,
                          {429, submitted.error().message, "", "rate_limit_exceeded", "rate_limit_error"});
    return fail_request(*request, Failure::kDropped, answer_of(submitted.error(), request->param()));
  }
  if (cancel_now) batcher_->cancel(request->job);
}

void Service::answer(Request& request, const Status& status) {
  if (!status) {
    const bool dropped = status.error().code == ErrorCode::kCancelled;
    return fail_request(request, dropped ? Failure::kDropped : Failure::kInference,
                        answer_of(status.error(), request.param()));
  }
  EmbedJob& job = *request.job;
  if (!all_finite(job.vectors))
    return fail_request(request, Failure::kInference, answer_of(not_finite(), request.param()));
  int64_t dimensions = embedder_.dimensions();
  std::vector<float> sliced;
  std::span<float> vectors = job.vectors;
  if (request.body.dimensions && *request.body.dimensions < dimensions) {
    sliced = slice_rows(job.vectors, dimensions, *request.body.dimensions);
    vectors = sliced;
    dimensions = *request.body.dimensions;
  } else if (request.body.normalize) {
    normalize_rows(vectors, dimensions);
  }

  HttpResponse response;
  if (request.dialect == BodyDialect::kOpenAi) {
    EmbeddingAnswer answer;
    answer.model = request.body.model.empty() ? options_.model_name : request.body.model;
    answer.vectors = vectors;
    answer.dimensions = dimensions;
    answer.base64 = request.body.base64;
    answer.prompt_tokens = job.tokens();
    answer.truncated = request.truncated;
    response.body = openai_answer(answer);
  } else {
    response.body = tei_answer(vectors, dimensions);
  }
  if (!request.truncated.empty()) {
    std::string list;
    for (size_t i = 0; i < std::min(request.truncated.size(), kMaxListedInHeader); ++i)
      list += fmt::format("{}{}", i == 0 ? "" : ",", request.truncated[i].index);
    if (request.truncated.size() > kMaxListedInHeader) list += ",...";
    response.headers.emplace_back("x-edge-truncated", std::move(list));
  }
  const auto now = Clock::now();
  const double queue = seconds_between(job.enqueued, job.started),
               inference = seconds_between(job.started, job.finished);
  const double total = seconds_between(request.begin, now);
  const auto milliseconds = [](double seconds) { return fmt::format("{:.3f}", seconds * 1e3); };
  response.headers.emplace_back("x-compute-type", "cpu");
  response.headers.emplace_back("x-compute-tokens", std::to_string(job.tokens()));
  response.headers.emplace_back("x-total-time", milliseconds(total));
  response.headers.emplace_back("x-tokenization-time", milliseconds(request.tokenization_seconds));
  response.headers.emplace_back("x-queue-time", milliseconds(queue));
  response.headers.emplace_back("x-inference-time", milliseconds(inference));
  metrics_.queue_seconds.observe(queue);
  metrics_.inference_seconds.observe(inference);
  metrics_.request_seconds.observe(total);
  metrics_.successes.fetch_add(1);
  metrics_.inputs_embedded.fetch_add(job.size());
  metrics_.tokens.fetch_add(static_cast<uint64_t>(job.tokens()));
  Reply reply = std::exchange(request.reply, nullptr);
  reply(std::move(response));
}

void Service::check_health(Reply reply) {
  {
    const std::lock_guard lock(health_mutex_);
    health_waiters_.push_back(std::move(reply));
    if (health_waiters_.size() > 1) return;
  }
  const auto answer_all = [this](const Status& status) {
    std::vector<Reply> waiters;
    {
      const std::lock_guard lock(health_mutex_);
      waiters.swap(health_waiters_);
    }
    for (Reply& waiter : waiters) {
      if (!status) {
        const ApiError failure = answer_of(status.error(), "");
        waiter(error_response({503, failure.message, "", "unhealthy", "server_error"}));
        continue;
      }
      HttpResponse response;
      response.body = fmt::format(R"({{"status":"ok","model":{},"dimensions":{}}})",
                                  json_string(options_.model_name), embedder_.dimensions());
      waiter(std::move(response));
    }
  };
  Encoding encoding;
  embedder_.tokenizer().encode("health", embedder_.max_length(), encoding);
  auto job = std::make_shared<EmbedJob>();
  job->add_text(encoding.ids);
  job->done = [answer_all, raw = job.get()](Status status) {
    if (status && !all_finite(raw->vectors)) status = std::unexpected(not_finite());
    answer_all(status);
  };
  if (const Status submitted = batcher_->submit(job, /*urgent=*/true); !submitted) answer_all(submitted);
}

HttpResponse Service::models() const {
  HttpResponse response;
  response.body = R"({"object":"list","data":[)" + model(options_.model_name).body + "]}";
  return response;
}

HttpResponse Service::model(const std::string& id) const {
  if (id != options_.model_name)
    return error_response({404,
                           fmt::format("no model \"{}\", this server has \"{}\"", id, options_.model_name),
                           "model", "model_not_found"});
  HttpResponse response;
  response.body =
      fmt::format(R"({{"id":{},"object":"model","created":{},"owned_by":"edge-infer","max_model_len":{}}})",
                  json_string(id), created_, embedder_.max_length());
  return response;
}

}  // namespace edge_infer
