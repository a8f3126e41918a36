#include "apps/server/server.h"

// clang-format off: Asio 1.74 needs these two first.
#include <coroutine>
#include <utility>
// clang-format on
#include <sys/resource.h>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/read_size.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <exception>
#include <limits>
#include <optional>
#include <thread>
#include <unordered_set>

#include "apps/server/request_head.h"

namespace edge_infer {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kReadBufferBytes = size_t{128} << 10;
// Of a refused request: read and forgotten, so that the connection lives on.
constexpr uint64_t kSmallBodyBytes = uint64_t{1} << 20;
constexpr uint64_t kDrainBytes = uint64_t{1} << 30;
constexpr std::chrono::seconds kDrainTime{5};

struct Connection {
  explicit Connection(tcp::socket socket) : stream(std::move(socket)) {}
  beast::tcp_stream stream;
  beast::flat_buffer buffer{kReadBufferBytes};
  bool busy = false;  // a request has begun and is not answered
  std::shared_ptr<PendingRequest> pending;
  std::shared_ptr<char> watched;  // exists while a wait for the client's leaving may act
};

class BeastServer final : public Server {
 public:
  BeastServer(const Embedder& embedder, ServerOptions options, tcp::endpoint endpoint)
      : options_(std::move(options)),
        endpoint_(std::move(endpoint)),
        service_(std::make_unique<Service>(embedder, options_.service)),
        guard_(asio::make_work_guard(context_)),
        grace_timer_(context_),
        acceptor_(context_) {}

  ~BeastServer() override {
    asio::post(context_, [this] {
      begin_stop();
      close_all();
    });
    wait();
  }

  Status listen() {
    error_code error;
    acceptor_.open(endpoint_.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint_, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      return fail(ErrorCode::kIoError, "cannot listen on {} port {}: {}", options_.host, endpoint_.port(),
                  error.message());
    endpoint_ = acceptor_.local_endpoint(error);
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY && files.rlim_cur > 64)
      options_.max_connections = std::min<size_t>(options_.max_connections, files.rlim_cur - 32);
    asio::co_spawn(context_, accept(), asio::detached);
    thread_ = std::jthread([this] { context_.run(); });
    return {};
  }

  uint16_t port() const override { return endpoint_.port(); }
  std::string url() const override {
    const std::string address = endpoint_.address().to_string();
    return "http://" + (endpoint_.address().is_v6() ? "[" + address + "]" : address) + ":" +
           std::to_string(port());
  }
  void request_stop() override {
    asio::post(context_, [this] { begin_stop(); });
  }
  void wait() override {
    if (thread_.joinable()) thread_.join();
  }

 private:
  template <typename T>
  using Task = asio::awaitable<T>;

  static auto into(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

  void begin_stop() {
    if (stopping_) return;
    stopping_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    for (Connection* connection : connections_)
      if (!connection->busy) connection->stream.close();
    grace_timer_.expires_after(options_.shutdown_grace);
    grace_timer_.async_wait([this](const error_code& error) {
      if (!error) close_all();
    });
    release_when_done();
  }

  void close_all() {
    for (Connection* connection : connections_) {
      if (connection->pending) connection->pending->cancel(/*half_closed=*/false);
      connection->stream.close();
    }
  }

  void release_when_done() {
    if (!stopping_ || !connections_.empty()) return;
    grace_timer_.cancel();
    guard_.reset();
  }

  Task<void> accept() {
    while (!stopping_) {
      error_code error;
      tcp::socket socket(context_);
      co_await acceptor_.async_accept(socket, into(error));
      if (stopping_) co_return;
      if (error) {
        // Out of file descriptors, or a client that left already: wait for others to end rather than spin.
        asio::steady_timer pause(context_, std::chrono::milliseconds(50));
        co_await pause.async_wait(into(error));
        continue;
      }
      socket.set_option(tcp::no_delay(true), error);
      ++service_->metrics().connections_total;
      asio::co_spawn(context_, serve(std::move(socket)), asio::detached);
    }
  }

  Task<void> serve(tcp::socket socket) {
    Connection connection(std::move(socket));
    const bool refused = connections_.size() >= options_.max_connections;
    connections_.insert(&connection);
    service_->metrics().connections = static_cast<int64_t>(connections_.size());
    try {
      if (refused)
        co_await refuse(connection);
      else
        co_await serve_requests(connection);
    } catch (const std::exception&) {
      // Out of memory: this connection ends, the others go on.
    }
    connection.stream.close();
    connections_.erase(&connection);
    service_->metrics().connections = static_cast<int64_t>(connections_.size());
    release_when_done();
  }

  Task<void> refuse(Connection& connection) {
    ++service_->metrics().connections_refused;
    const RequestHead head;
    HttpResponse response =
        error_response({503, "too many connections", "", "too_many_connections", "server_error"});
    co_await write(connection, head, std::move(response), 11, /*keep=*/false);
  }

  Task<void> serve_requests(Connection& connection) {
    bool keep_alive = true;
    while (keep_alive && !stopping_) {
      keep_alive = co_await serve_request(connection);
      connection.busy = false;
    }
  }

  // Returns when the first byte of a request is there. A read of its own, since the time for the whole head
  // runs from then on, and Beast's reads return when the head is complete.
  Task<void> wait_for_request(Connection& connection, error_code& error) {
    if (connection.buffer.size() != 0) co_return;
    connection.stream.expires_after(options_.idle_timeout);
    const size_t room = beast::read_size(connection.buffer, kReadBufferBytes);
    const size_t received =
        co_await connection.stream.async_read_some(connection.buffer.prepare(room), into(error));
    connection.buffer.commit(received);
  }

  // One request and its answer. False: the connection is to be closed.
  Task<bool> serve_request(Connection& connection) {
    http::request_parser<http::string_body> parser;
    parser.header_limit(static_cast<uint32_t>(options_.header_limit));
    // Set once the head is accepted, so that the refusal can be a proper answer. (Beast 1.74 takes "none" for
    // zero.)
    parser.body_limit(std::numeric_limits<uint64_t>::max());
    error_code error;
    co_await wait_for_request(connection, error);
    if (error) co_return false;
    connection.busy = true;
    connection.stream.expires_after(options_.header_timeout);
    while (!parser.is_header_done() && !error)
      co_await http::async_read_some(connection.stream, connection.buffer, parser, into(error));
    if (error) {
      co_await refuse_head(connection, parser.got_some(), error);
      co_return false;
    }
    const unsigned version = parser.get().version();
    const bool wants_more = parser.get().keep_alive();
    auto target = parse_target(std::string(parser.get().target()));
    const bool has_target = target.has_value();
    const RequestHead head = read_head(parser.get(), std::move(target).value_or(RequestTarget{}));
    if (const auto unframed = check_framing(parser.get())) {
      const bool written =
          co_await write(connection, head, error_response(*unframed), version, /*keep=*/false);
      if (written) co_await drain(connection);
      co_return false;
    }
    const auto length_field = parser.content_length();
    const std::optional<uint64_t> length =
        length_field ? std::optional<uint64_t>(*length_field) : std::nullopt;
    std::optional<HttpResponse> refusal;
    if (!has_target)
      refusal = error_response({400, "malformed request target", "", "malformed_target"});
    else if (const auto ambiguous = check_unambiguous(parser.get()))
      refusal = error_response(*ambiguous);
    else
      refusal = service_->check_head(head, length);
    if (refusal) {
      const bool small =
          parser.is_done() || (length && *length <= kSmallBodyBytes && !expects_continue(parser.get()));
      if (small) {
        connection.stream.expires_after(options_.body_timeout);
        while (!parser.is_done() && !error)
          co_await http::async_read_some(connection.stream, connection.buffer, parser, into(error));
      }
      const bool keep = small && !error && wants_more;
      const bool written = co_await write(connection, head, *std::move(refusal), version, keep);
      if (written && !keep) co_await drain(connection);
      co_return written&& keep;
    }

    if (!parser.is_done() && expects_continue(parser.get())) {
      http::response<http::empty_body> go_on(http::status::continue_, version);
      co_await http::async_write(connection.stream, go_on, into(error));
      if (error) co_return false;
    }
    parser.body_limit(service_->body_limit());
    HttpResponse trouble;
    size_t budget_taken = 0;
    const bool complete = co_await read_body(connection, parser, budget_taken, trouble);
    if (!complete) {
      count_body(0, budget_taken);
      if (trouble.status == 0) co_return false;
      const bool told = co_await write(connection, head, std::move(trouble), version, /*keep=*/false);
      if (told) co_await drain(connection);
      co_return false;
    }
    std::string body = std::move(parser.get().body());
    HttpResponse response = co_await answer(connection, head, std::move(body));
    count_body(0, budget_taken);
    const bool keep = wants_more && !stopping_;
    const bool written = co_await write(connection, head, std::move(response), version, keep);
    co_return written&& keep;
  }

  static bool expects_continue(const http::fields& fields) {
    return beast::iequals(fields[http::field::expect], "100-continue");
  }

  // `counted` of the bytes in memory are this body's, and are now `size`.
  void count_body(size_t size, size_t& counted) {
    body_bytes_ += size - counted;
    counted = size;
    service_->metrics().body_bytes = static_cast<int64_t>(body_bytes_);
  }
  HttpResponse too_large() const {
    return error_response(
        {413, "the body has more than " + std::to_string(service_->body_limit()) + " bytes, the limit", "",
         "body_too_large"});
  }

  // False: `trouble` is the answer to give, or its status is 0 and there is nobody to answer.
  Task<bool> read_body(Connection& connection, http::request_parser<http::string_body>& parser, size_t& taken,
                       HttpResponse& trouble) {
    trouble.status = 0;
    error_code error;
    connection.stream.expires_after(options_.body_timeout);
    while (!parser.is_done()) {
      count_body(parser.get().body().size(), taken);
      if (body_bytes_ > options_.body_budget && body_bytes_ > taken) {
        trouble = error_response(
            {429, "too many large requests at once", "", "rate_limit_exceeded", "rate_limit_error"});
        co_return false;
      }
      co_await http::async_read_some(connection.stream, connection.buffer, parser, into(error));
      if (!error) continue;
      if (error == http::error::body_limit)
        trouble = too_large();
      else if (error == http::error::partial_message || error == asio::error::eof)
        trouble = error_response({400, "the body ended before its announced length", "", "incomplete_body"});
      else if (error.category() == make_error_code(http::error::bad_chunk).category())
        trouble = error_response({400, "malformed body: " + error.message(), "", "malformed_body"});
      co_return false;
    }
    count_body(parser.get().body().size(), taken);
    co_return true;
  }

  // Hands the request to the service, and watches for the client's leaving meanwhile.
  Task<HttpResponse> answer(Connection& connection, const RequestHead& head, std::string body) {
    connection.stream.expires_never();
    auto initiate = [this, &connection, &head, &body](auto handler) {
      using Handler = decltype(handler);
      const auto executor = asio::get_associated_executor(handler, context_.get_executor());
      auto resume = std::make_shared<Handler>(std::move(handler));
      connection.pending = service_->handle(head, std::move(body), [executor, resume](HttpResponse response) {
        asio::post(executor,
                   [resume, response = std::move(response)]() mutable { (*resume)(std::move(response)); });
      });
      watch(connection);
    };
    HttpResponse response = co_await asio::async_initiate<const asio::use_awaitable_t<>, void(HttpResponse)>(
        initiate, asio::use_awaitable);
    connection.pending.reset();
    connection.watched.reset();
    error_code ignored;
    connection.stream.socket().cancel(ignored);
    co_return response;
  }

  void watch(Connection& connection) {
    tcp::socket& socket = connection.stream.socket();
    if (!socket.is_open()) return;
    connection.watched = std::make_shared<char>();
    auto left = [&connection, watched = std::weak_ptr(connection.watched)](const error_code& error) {
      if (error || watched.expired()) return;
      // Readable: the next request of a pipeline, or the end.
      char byte = 0;
      error_code peeked;
      tcp::socket& readable = connection.stream.socket();
      readable.non_blocking(true, peeked);
      readable.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, peeked);
      if (peeked && peeked != asio::error::would_block)
        connection.pending->cancel(/*half_closed=*/peeked == asio::error::eof);
    };
    socket.async_wait(tcp::socket::wait_read, std::move(left));
  }

  Task<void> refuse_head(Connection& connection, bool got_some, const error_code& error) {
    // A stream whose time is over was closed by its timer: nobody to tell.
    if (!got_some || error == beast::error::timeout || error == asio::error::operation_aborted) co_return;
    std::optional<ApiError> answer;
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      answer = ApiError{
          431, "the request's head has more than " + std::to_string(options_.header_limit) + " bytes", "",
          "header_too_large"};
    else if (error.category() == make_error_code(http::error::bad_method).category())
      answer = ApiError{400, "malformed request: " + error.message(), "", "malformed_request"};
    if (!answer) co_return;
    HttpResponse response = error_response(*answer);
    const RequestHead head;
    const bool written = co_await write(connection, head, std::move(response), 11, /*keep=*/false);
    if (written) co_await drain(connection);
  }

  Task<bool> write(Connection& connection, const RequestHead& head, HttpResponse response, unsigned version,
                   bool keep) {
    service_->complete(head, response);
    http::response<http::string_body> message(static_cast<http::status>(response.status), version);
    message.set(http::field::server, "edge-infer");
    message.set(http::field::content_type, response.content_type);
    message.set("X-Content-Type-Options", "nosniff");
    message.set(http::field::cache_control, "no-store");
    for (const auto& [name, value] : response.headers) message.set(name, value);
    message.keep_alive(keep);
    message.content_length(response.body.size());
    if (head.method != "HEAD") message.body() = std::move(response.body);
    error_code error;
    connection.stream.expires_after(options_.write_timeout);
    co_await http::async_write(connection.stream, message, into(error));
    co_return !error;
  }

  // Closing with unread bytes resets the connection, and the client may lose the answer: read what it still
  // sends.
  Task<void> drain(Connection& connection) {
    error_code error;
    connection.stream.socket().shutdown(tcp::socket::shutdown_send, error);
    connection.buffer.clear();
    uint64_t drained = 0;
    connection.stream.expires_after(kDrainTime);
    while (!error && drained < kDrainBytes && !stopping_) {
      drained += co_await connection.stream.async_read_some(connection.buffer.prepare(kReadBufferBytes),
                                                            into(error));
    }
  }

  ServerOptions options_;
  tcp::endpoint endpoint_;
  // The service outlives the context's last handler, and its threads post to the context: see the order
  // below.
  asio::io_context context_{1};
  std::unique_ptr<Service> service_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  asio::steady_timer grace_timer_;
  tcp::acceptor acceptor_;
  // Only on the context's thread.
  std::unordered_set<Connection*> connections_;
  size_t body_bytes_ = 0;
  bool stopping_ = false;
  std::jthread thread_;
};

Result<tcp::endpoint> resolve(const std::string& host, uint16_t port) {
  std::string name = host;
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  asio::io_context context;
  tcp::resolver resolver(context);
  error_code error;
  const auto found = resolver.resolve(name, std::to_string(port), tcp::resolver::passive, error);
  if (error || found.begin() == found.end())
    return fail(ErrorCode::kNotFound, "cannot resolve the host \"{}\": {}", host, error.message());
  for (const auto& entry : found)
    if (entry.endpoint().address().is_v4()) return entry.endpoint();
  return found.begin()->endpoint();
}

Result<tcp::endpoint> checked_endpoint(const ServerOptions& options) {
  const std::string& key = options.service.access.api_key;
  if (!key.empty()) EDGE_INFER_RETURN_IF_ERROR(check_api_key(key));
  EDGE_INFER_ASSIGN(const tcp::endpoint endpoint, resolve(options.host, options.port));
  if (!endpoint.address().is_loopback() && key.empty())
    return fail(
        ErrorCode::kInvalidArgument,
        "the host {} is not a loopback address: an API key is required (--api-key or $EDGE_INFER_API_KEY)",
        options.host);
  return endpoint;
}

}  // namespace

Status Server::check(const ServerOptions& options) try {
  EDGE_INFER_RETURN_IF_ERROR(checked_endpoint(options));
  return {};
} catch (const std::exception& exception) {
  return fail(ErrorCode::kInternal, "cannot resolve the host: {}", exception.what());
}

Result<std::unique_ptr<Server>> Server::start(const Embedder& embedder, ServerOptions options) try {
  EDGE_INFER_ASSIGN(const tcp::endpoint endpoint, checked_endpoint(options));
  AccessPolicy& access = options.service.access;
  access.loopback = endpoint.address().is_loopback();
  access.bind_host = options.host;
  auto server = std::make_unique<BeastServer>(embedder, std::move(options), endpoint);
  EDGE_INFER_RETURN_IF_ERROR(server->listen());
  return server;
} catch (const std::exception& exception) {
  return fail(ErrorCode::kInternal, "cannot start the server: {}", exception.what());
}

}  // namespace edge_infer
