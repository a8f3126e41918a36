#include "apps/pull/checksum.h"

#include <openssl/evp.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <vector>

namespace edge_infer {
namespace {

Result<std::string> digest_file(const std::filesystem::path& path, const EVP_MD* algorithm, bool git_header) {
  std::ifstream in(path, std::ios::binary);
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!in || error) return fail(ErrorCode::kIoError, "cannot read \"{}\"", path.native());
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  bool ok = context && EVP_DigestInit_ex(context.get(), algorithm, nullptr) == 1;
  if (git_header) {
    const std::string header = fmt::format("blob {}", size);
    ok = ok && EVP_DigestUpdate(context.get(), header.c_str(), header.size() + 1) == 1;
  }
  std::vector<char> chunk(size_t{1} << 20);
  while (ok && in) {
    in.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    ok = EVP_DigestUpdate(context.get(), chunk.data(), static_cast<size_t>(in.gcount())) == 1;
  }
  if (in.bad()) return fail(ErrorCode::kIoError, "cannot read \"{}\"", path.native());
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (!ok || EVP_DigestFinal_ex(context.get(), digest, &length) != 1)
    return fail(ErrorCode::kInternal, "cannot compute the checksum of \"{}\"", path.native());
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

Result<std::string> file_sha256(const std::filesystem::path& path) {
  return digest_file(path, EVP_sha256(), false);
}
Result<std::string> file_git_sha1(const std::filesystem::path& path) {
  return digest_file(path, EVP_sha1(), true);
}

Status verify_file(const std::filesystem::path& path, const HubFile& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return fail(ErrorCode::kIoError, "cannot read \"{}\": {}", path.native(), error.message());
  if (file.size && size != *file.size)
    return fail(ErrorCode::kCorruption, "{} has {} bytes, the hub says {}", file.name, size, *file.size);
  if (!file.sha256.empty()) {
    EDGE_INFER_ASSIGN(const std::string found, file_sha256(path));
    if (found != lower(file.sha256))
      return fail(ErrorCode::kCorruption, "{} has the SHA-256 {}, the hub says {}", file.name, found,
                  lower(file.sha256));
  } else if (!file.git_sha1.empty()) {
    EDGE_INFER_ASSIGN(const std::string found, file_git_sha1(path));
    if (found != lower(file.git_sha1))
      return fail(ErrorCode::kCorruption, "{} has the git id {}, the hub says {}", file.name, found,
                  lower(file.git_sha1));
  }
  return {};
}

}  // namespace edge_infer
