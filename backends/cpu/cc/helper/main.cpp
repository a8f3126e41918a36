// edge-infer-cc: the process in which kernels are compiled. Descriptor 0 brings requests, 1 takes replies
// (protocol.h), 2 a last word. Started by CcCompiler only:
//   edge-infer-cc MEMORY_BYTES CPU_SECONDS
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <map>
#include <new>
#include <string_view>

#include "backends/cpu/cc/cc_arguments.h"
#include "backends/cpu/cc/cc_identity.h"
#include "backends/cpu/cc/helper/clang.h"
#include "backends/cpu/cc/object_file.h"
#include "backends/cpu/cc/protocol.h"
#include "backends/cpu/cc/units.h"
#include "runtime/base/sandbox.h"

namespace edge_infer {
namespace {

[[noreturn]] void leave(std::string_view reason, int status) {
  const ssize_t ignored = ::write(2, reason.data(), reason.size());
  (void)ignored;
  ::_exit(status);
}

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(1, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(0);  // nobody listens any more
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

// Shared units that this process has compiled: most kernels of a batch hold the same.
class SharedUnits {
 public:
  Result<ObjectCode> compile(std::string_view text, const std::vector<std::string>& arguments,
                             bool assembly) {
    std::string key = fmt::format("{} {}\n{}", assembly, fmt::join(arguments, " "), text);
    if (const auto it = compiled_.find(key); it != compiled_.end()) return it->second;
    EDGE_INFER_ASSIGN(ObjectCode code, compile_source(text, arguments, assembly));
    if (compiled_.size() < kMost) compiled_.emplace(std::move(key), code);
    return code;
  }

 private:
  static constexpr size_t kMost = 16;
  std::map<std::string, ObjectCode> compiled_;
};

struct Compiled {
  KernelBlob blob;
  std::string assembly;
};

Result<Compiled> compile(const CcRequest& request, SharedUnits& shared) {
  EDGE_INFER_ASSIGN(const auto arguments, cc_arguments(request.target, request.features));
  const std::vector<std::string_view> units = split_units(request.source);
  std::vector<ObjectCode> codes;
  for (const std::string_view unit : units) {
    EDGE_INFER_ASSIGN(ObjectCode code, codes.empty() ? compile_source(unit, arguments, request.assembly)
                                                     : shared.compile(unit, arguments, request.assembly));
    codes.push_back(std::move(code));
  }
  Compiled result;
  std::vector<std::span<const std::byte>> objects;
  for (const ObjectCode& code : codes) {
    objects.push_back(std::as_bytes(std::span(code.object)));
    result.assembly += code.assembly;
  }
  EDGE_INFER_ASSIGN(result.blob, link_objects(objects, "k"));
  return result;
}

CcReply answer(const CcRequest& request, SharedUnits& shared) {
  CcReply reply;
  reply.id = request.id;
  Result<Compiled> result = compile(request, shared);
  if (!result) {
    reply.blob = std::unexpected(std::move(result).error());
    return reply;
  }
  reply.blob = std::move(result->blob);
  reply.assembly = std::move(result->assembly);
  return reply;
}

void serve() {
  CcFrames frames;
  SharedUnits shared;
  std::array<char, 65536> buffer;
  double answered = 0;
  while (true) {
    Result<std::optional<std::string>> payload = frames.next();
    if (!payload) leave(payload.error().message, kCcExitProtocol);
    if (*payload) {
      const Result<CcRequest> request = decode_request(**payload);
      if (!request) leave(request.error().message, kCcExitProtocol);
      CcReply reply = answer(*request, shared);
      const double now = cpu_seconds();
      reply.seconds = now - answered;
      answered = now;
      write_all(encode(reply));
      continue;
    }
    const ssize_t n = ::read(0, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 && frames.partial()) leave("the requests end in the middle of one", kCcExitProtocol);
    if (n <= 0) return;
    frames.append({buffer.data(), static_cast<size_t>(n)});
  }
}

bool number(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value > 0;
}

}  // namespace
}  // namespace edge_infer

int main(int argc, char** argv) {
  using namespace edge_infer;
  int64_t memory = 0, seconds = 0;
  if (argc != 3 || !number(argv[1], memory) || !number(argv[2], seconds))
    leave("edge-infer-cc is started by edge-infer to compile kernels; it has no use by itself\n", 2);
  std::set_new_handler([] { leave("out of memory", kCcExitOutOfMemory); });
  limit_resources(memory, seconds);
  start_clang();
  const SandboxState state = enter_sandbox();
  write_all(encode(CcHello{std::string(cc_identity()), state.seccomp, state.landlock}));
  serve();
  ::_exit(0);
}
