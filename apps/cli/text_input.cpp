#include "apps/cli/text_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/files/json.h"

namespace edge_infer {
namespace {

// Lines of a file descriptor, without their ends ("\n" or "\r\n").
class LineReader {
 public:
  LineReader(int fd, std::string name, const TextLimits& limits)
      : fd_(fd), name_(std::move(name)), limits_(limits), buffer_(size_t{1} << 16) {}

  const std::string& name() const { return name_; }
  size_t number() const { return number_; }  // of the line read last, from 1

  // False at the end.
  Result<bool> next(std::string& line) {
    line.clear();
    ++number_;
    bool any = false;
    while (true) {
      if (begin_ == end_) {
        EDGE_INFER_RETURN_IF_ERROR(fill());
        if (end_ == 0) break;
      }
      any = true;
      const char* from = buffer_.data() + begin_;
      const void* found = std::memchr(from, '\n', end_ - begin_);
      const size_t length =
          found != nullptr ? static_cast<size_t>(static_cast<const char*>(found) - from) : end_ - begin_;
      if (line.size() + length > limits_.line_bytes)
        return fail(ErrorCode::kResourceExhausted, "{} line {} is longer than {} bytes", name_, number_,
                    limits_.line_bytes);
      line.append(from, length);
      begin_ += length + (found != nullptr ? 1 : 0);
      if (found != nullptr) break;
    }
    if (line.ends_with('\r')) line.pop_back();
    return any;
  }

 private:
  Status fill() {
    begin_ = end_ = 0;
    ssize_t n = 0;
    do n = ::read(fd_, buffer_.data(), buffer_.size());
    while (n < 0 && errno == EINTR);
    if (n < 0) return fail(ErrorCode::kIoError, "cannot read {}: {}", name_, std::strerror(errno));
    end_ = static_cast<size_t>(n);
    bytes_ += end_;
    if (bytes_ > limits_.input_bytes)
      return fail(ErrorCode::kResourceExhausted, "{} has more than {} bytes: give it in parts", name_,
                  limits_.input_bytes);
    return {};
  }

  int fd_;
  std::string name_;
  TextLimits limits_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0, number_ = 0;
  uint64_t bytes_ = 0;
};

Result<std::string> text_member(const std::string& line, const std::string& place, const TextLimits& limits) {
  JsonLimits json_limits;
  json_limits.bytes = limits.line_bytes;
  EDGE_INFER_ASSIGN(nlohmann::json object, parse_json(line, place, json_limits));
  if (!object.is_object())
    return fail(ErrorCode::kCorruption, "{}: found {}, expected a JSON object with a string member \"text\"",
                place, object.type_name());
  const auto found = object.find("text");
  if (found == object.end())
    return fail(ErrorCode::kCorruption, "{}: the object has no member \"text\"", place);
  if (!found->is_string())
    return fail(ErrorCode::kCorruption, "{}: member \"text\": found {}, expected a string", place,
                found->type_name());
  return std::move(found->get_ref<std::string&>());
}

Status read_lines(LineReader in, bool json_lines, const TextLimits& limits, std::vector<std::string>& texts) {
  std::string line;
  size_t blank = 0;
  while (true) {
    EDGE_INFER_ASSIGN(const bool more, in.next(line));
    if (!more) return {};
    if (!json_lines) {
      texts.push_back(line);
      continue;
    }
    if (blank > 0)
      return fail(ErrorCode::kCorruption, "{} line {} is blank, expected a JSON object on every line",
                  in.name(), blank);
    if (line.find_first_not_of(" \t") == std::string::npos) {
      blank = in.number();
      continue;
    }
    EDGE_INFER_ASSIGN(std::string text,
                      text_member(line, fmt::format("{} line {}", in.name(), in.number()), limits));
    texts.push_back(std::move(text));
  }
}

Status read_file_lines(const std::string& path, const TextLimits& limits, std::vector<std::string>& texts) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIoError, "cannot open \"{}\": {}", path,
                std::strerror(errno));
  Status status =
      read_lines({fd, fmt::format("\"{}\"", path), limits}, path.ends_with(".jsonl"), limits, texts);
  ::close(fd);
  return status;
}

}  // namespace

void add_text_options(CLI::App& command, TextOptions& options) {
  command.add_option("--input", options.input,
                     "file of texts, one a line (.jsonl: member \"text\"); - is standard input");
  command.add_option("TEXT", options.texts, "texts");
}

void add_prompt_option(CLI::App& command, std::optional<std::string>& name) {
  // CLI11 would read "" into an optional as nothing.
  command.add_option_function<std::string>(
      "--prompt-name", [&name](const std::string& given) { name = given; },
      "prompt of the model to put in front of each text; the default prompt unless given, \"\" is none");
}

Result<TextInput> TextInput::read(const TextOptions& options, const TextLimits& limits) {
  if (options.input.empty() && options.texts.empty())
    return fail(ErrorCode::kInvalidArgument, "no text given: expected TEXT or --input FILE");
  TextInput input;
  if (options.input == "-") {
    EDGE_INFER_RETURN_IF_ERROR(
        read_lines({STDIN_FILENO, "standard input", limits}, false, limits, input.texts_));
  } else if (!options.input.empty()) {
    EDGE_INFER_RETURN_IF_ERROR(read_file_lines(options.input, limits, input.texts_));
  }
  input.lines_ = input.texts_.size();
  input.texts_.insert(input.texts_.end(), options.texts.begin(), options.texts.end());
  return input;
}

std::string TextInput::place(size_t index) const {
  return index < lines_ ? fmt::format("line {}", index + 1) : fmt::format("text {}", index - lines_ + 1);
}

}  // namespace edge_infer
