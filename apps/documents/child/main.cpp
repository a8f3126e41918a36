// edge-infer-read: the process in which documents are parsed. Descriptor 0 is the document, 1 a pipe for the
// answer (protocol.h). Started by read_document() only:
//   edge-infer-read NAME TEXT_BYTES MEMORY_BYTES TIME_MS SOURCE_BYTES PDFIUM
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <string_view>

#include "apps/documents/protocol.h"
#include "apps/documents/readers/readers.h"
#include "runtime/base/sandbox.h"

namespace edge_infer {
namespace {

int64_t number(const char* text) {
  int64_t value = 0;
  const std::string_view view = text;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  return error == std::errc{} && end == view.data() + view.size() ? value : -1;
}

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(1, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

// The file's first `size` bytes: what it had when the parent looked. It may grow meanwhile.
Result<std::string_view> map_document(int64_t size) {
  struct stat st{};
  if (::fstat(0, &st) != 0 || !S_ISREG(st.st_mode))
    return fail(ErrorCode::kInvalidArgument, "not a regular file");
  if (st.st_size < size)
    return fail(ErrorCode::kIoError, "the file shrank from {} to {} bytes while it was read", size,
                st.st_size);
  if (size == 0) return std::string_view{};
  void* data = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, 0, 0);
  if (data == MAP_FAILED) return fail(ErrorCode::kIoError, "cannot map the file: {}", std::strerror(errno));
  return std::string_view(static_cast<const char*>(data), static_cast<size_t>(size));
}

ReaderAnswer answer(const char* name, int64_t size, const char* pdfium, const ReadLimits& limits) {
  ReaderAnswer out;
  try {
    const Result<std::string_view> source = map_document(size);
    if (!source) return {false, false, std::unexpected(source.error())};
    Result<PreparedDocument> prepared = PreparedDocument::prepare(*source, name, pdfium);
    if (!prepared) return {false, false, std::unexpected(prepared.error())};
    const SandboxState state = enter_sandbox();
    out.seccomp = state.seccomp;
    out.landlock = state.landlock;
    out.document = prepared->read(limits);
  } catch (const std::bad_alloc&) {
    out.document = fail(ErrorCode::kResourceExhausted, "reading needs more than {} bytes of memory",
                        limits.memory_bytes);
  } catch (const std::exception& e) {
    out.document = fail(ErrorCode::kInternal, "the reader failed: {}", e.what());
  }
  return out;
}

}  // namespace
}  // namespace edge_infer

int main(int argc, char** argv) {
  using namespace edge_infer;
  ReadLimits limits;
  int64_t size = -1;
  if (argc == 7) {
    limits.text_bytes = number(argv[2]);
    limits.memory_bytes = number(argv[3]);
    limits.time_ms = number(argv[4]);
    size = number(argv[5]);
  }
  if (argc != 7 || limits.text_bytes < 0 || limits.memory_bytes < 0 || limits.time_ms < 0 || size < 0) {
    std::fputs("edge-infer-read is started by edge-infer to read documents; it has no use by itself\n",
               stderr);
    return 2;
  }
  limit_resources(limits.memory_bytes + size, limits.time_ms / 1000 + 1);
  ::tzset();  // libzip converts dates: the zone is read now, while files can be
  std::string bytes;
  try {
    bytes = encode_answer(answer(argv[1], size, argv[6], limits));
  } catch (const std::bad_alloc&) {
    bytes = encode_answer({false, false,
                           fail(ErrorCode::kResourceExhausted, "reading needs more than {} bytes of memory",
                                limits.memory_bytes)});
  }
  write_all(bytes);
  ::_exit(0);
}
