#include "runtime/cache/seal.h"

#include <sodium.h>
#include <unistd.h>

#include "runtime/base/mapped_file.h"
#include "runtime/cache/cache_folder.h"

namespace edge_infer::cache {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// sodium's hmac with key and message of any length.
std::array<unsigned char, Seal::kBytes> hmac(const std::array<unsigned char, Seal::kBytes>& key,
                                             std::initializer_list<std::string_view> parts) {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, key.data(), key.size());
  for (const std::string_view part : parts) {
    unsigned char length[8];
    for (size_t i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(uint64_t{part.size()} >> (8 * i));
    crypto_auth_hmacsha256_update(&state, length, sizeof length);
    crypto_auth_hmacsha256_update(&state, bytes_of(part), part.size());
  }
  std::array<unsigned char, Seal::kBytes> mac;
  crypto_auth_hmacsha256_final(&state, mac.data());
  return mac;
}

}  // namespace

Result<Seal> Seal::load_existing(const std::filesystem::path& file) {
  if (sodium_init() < 0) return fail(ErrorCode::kIoError, "the system gives no random numbers");
  EDGE_INFER_ASSIGN(const bool exists, trusted_file(file));
  if (exists)
    if (const auto content = read_file(file, kBytes); content && content->size() == kBytes)
      return from(*content);
  return fail(ErrorCode::kNotFound, "\"{}\" holds no key", file.native());
}

Result<Seal> Seal::load(const std::filesystem::path& file) {
  Result<Seal> existing = load_existing(file);
  if (existing || existing.error().code != ErrorCode::kNotFound) return existing;
  std::string key(kBytes, '\0');
  randombytes_buf(key.data(), key.size());
  EDGE_INFER_RETURN_IF_ERROR(write_file_atomically(file, std::as_bytes(std::span(key))));
  return from(key);
}

Seal Seal::from(std::string_view key) {
  Seal seal;
  std::copy(key.begin(), key.end(), reinterpret_cast<char*>(seal.key_.data()));
  const std::string machine = read_file("/etc/machine-id", 256).value_or("");
  seal.key_ = hmac(seal.key_, {"edge-infer kernel cache 1", machine, std::to_string(::geteuid())});
  return seal;
}

Seal Seal::random() {
  Seal seal;
  // Without random numbers the key is 0, which does no harm where nothing is read from a file.
  if (sodium_init() < 0) return seal;
  randombytes_buf(seal.key_.data(), seal.key_.size());
  return seal;
}

std::string Seal::seal(std::initializer_list<std::string_view> parts) const {
  const auto mac = hmac(key_, parts);
  return {reinterpret_cast<const char*>(mac.data()), mac.size()};
}

bool Seal::holds(std::string_view mac, std::initializer_list<std::string_view> parts) const {
  const auto expected = hmac(key_, parts);
  return mac.size() == kBytes && sodium_memcmp(bytes_of(mac), expected.data(), kBytes) == 0;
}

}  // namespace edge_infer::cache
