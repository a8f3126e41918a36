#include "apps/index/hash.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace edge_infer {
namespace {

ContentHash canonical(XXH128_hash_t value) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, value);
  ContentHash hash;
  static_assert(sizeof bytes.digest == sizeof hash);
  std::memcpy(hash.data(), bytes.digest, sizeof hash);
  return hash;
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

ContentHash hash_bytes(std::string_view bytes) {
  return canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

Result<ContentHash> hash_file(const std::filesystem::path& path, const std::function<bool()>& stop) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (file.fd < 0) return fail(ErrorCode::kIoError, "cannot open: {}", std::strerror(errno));
  struct stat st{};
  if (::fstat(file.fd, &st) != 0)
    return fail(ErrorCode::kIoError, "cannot inspect: {}", std::strerror(errno));
  if (!S_ISREG(st.st_mode)) return fail(ErrorCode::kUnsupported, "not a regular file");
  struct FreeState {
    void operator()(XXH3_state_t* s) const { XXH3_freeState(s); }
  };
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  if (state == nullptr) return fail(ErrorCode::kResourceExhausted, "out of memory");
  XXH3_128bits_reset(state.get());
  std::vector<std::byte> buffer(size_t{1} << 18);
  while (true) {
    if (stop()) return fail(ErrorCode::kCancelled, "stopped while it was read");
    const ssize_t n = ::read(file.fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(ErrorCode::kIoError, "cannot read: {}", std::strerror(errno));
    if (n == 0) break;
    XXH3_128bits_update(state.get(), buffer.data(), static_cast<size_t>(n));
  }
  return canonical(XXH3_128bits_digest(state.get()));
}

}  // namespace edge_infer
