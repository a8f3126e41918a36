// A raw HTTP client on a blocking socket, so that tests decide each byte that is sent.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace edge_infer::testing {

struct Answer {
  int status = 0;                              // 0: the connection ended without an answer
  std::map<std::string, std::string> headers;  // lower-case names
  std::string body;
};

class Client {
 public:
  explicit Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  void half_close() { ::shutdown(socket_, SHUT_WR); }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // The next answer on the connection, within `timeout_ms`. `has_body`: false for the answer to HEAD.
  Answer receive(int timeout_ms = 20'000, bool has_body = true) {
    Answer answer;
    size_t end = std::string::npos;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
      if (!fill(timeout_ms)) return answer;
    const std::string head = buffer_.substr(0, end);
    buffer_.erase(0, end + 4);
    size_t line_begin = head.find("\r\n");
    const int status = std::atoi(head.c_str() + 9);
    while (line_begin != std::string::npos) {
      const size_t begin = line_begin + 2, line_end = head.find("\r\n", begin);
      const std::string line =
          head.substr(begin, line_end == std::string::npos ? line_end : line_end - begin);
      const size_t colon = line.find(": ");
      std::string name = line.substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      answer.headers[name] = colon == std::string::npos ? "" : line.substr(colon + 2);
      line_begin = line_end;
    }
    const bool announced = has_body && answer.headers.contains("content-length");
    const size_t length = announced ? std::stoul(answer.headers["content-length"]) : 0;
    while (buffer_.size() < length)
      if (!fill(timeout_ms)) return answer;
    answer.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    answer.status = status;
    return answer;
  }
  // True once the server has closed and everything it sent was received.
  bool closed_by_server(int timeout_ms = 20'000) {
    while (fill(timeout_ms)) {
    }
    return ended_ && buffer_.empty();
  }

  Answer post(const std::string& path, const std::string& body, const std::string& headers = "") {
    send(request("POST", path, body,
                 headers));  // an early refusal may end it; the answer is there all the same
    return receive();
  }
  Answer get(const std::string& path, const std::string& headers = "") {
    send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
    return receive();
  }
  Answer head(const std::string& path) {
    send("HEAD " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return receive(20'000, /*has_body=*/false);
  }
  static std::string request(const std::string& method, const std::string& path, const std::string& body,
                             const std::string& headers = "") {
    return method + " " + path +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
  }

 private:
  bool fill(int timeout_ms) {
    pollfd waiting{socket_, POLLIN, 0};
    if (socket_ < 0 || ::poll(&waiting, 1, timeout_ms) <= 0) return false;
    char chunk[65536];
    const ssize_t received = ::recv(socket_, chunk, sizeof chunk, 0);
    if (received <= 0) {
      ended_ = true;
      return false;
    }
    buffer_.append(chunk, static_cast<size_t>(received));
    return true;
  }

  int socket_ = -1;
  bool connected_ = false, ended_ = false;
  std::string buffer_;
};

}  // namespace edge_infer::testing
