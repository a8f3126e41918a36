// KernelKey and KernelBlob as bytes and text.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/program/kernel_blob.h"
#include "runtime/program/kernel_key.h"

namespace edge_infer {
namespace {

KernelKey sample_key() {
  return {"cpu.avx512", "avx2,fma",           "clang-19.1.7/edge-infer-cc-3",
          "cpu-c-1",    "O2,fp-contract-off", content_digest(std::string_view("void k() {}"))};
}

KernelBlob sample_blob() {
  KernelBlob blob;
  for (int i = 0; i < 100; ++i) blob.image.push_back(static_cast<std::byte>(i));
  blob.entry = 64;
  blob.scratch_bytes = 4096;
  return blob;
}

TEST(ContentDigest, is_blake2b_256) {
  // Of hashlib.blake2b(..., digest_size=32).
  EXPECT_EQ(content_digest(std::string_view("")),
            "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(content_digest(std::string_view("abc")),
            "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST(KernelKey, text_and_back) {
  const KernelKey key = sample_key();
  EXPECT_EQ(key.text(),
            "target=cpu.avx512;features=avx2,fma;compiler=clang-19.1.7/edge-infer-cc-3;generator=cpu-c-1;"
            "options=O2,fp-contract-off;source=" +
                key.source_hash + ";");
  const Result<KernelKey> parsed = KernelKey::parse(key.text());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, key);
  KernelKey plain = key;
  plain.features.clear();
  EXPECT_EQ(*KernelKey::parse(plain.text()), plain);
}

TEST(KernelKey, id_depends_on_every_component) {
  std::set<std::string> ids;
  const KernelKey key = sample_key();
  ids.insert(key.id());
  EXPECT_EQ(key.id().size(), 32u);
  for (auto member : {&KernelKey::target, &KernelKey::features, &KernelKey::compiler, &KernelKey::generator,
                      &KernelKey::options, &KernelKey::source_hash}) {
    KernelKey changed = key;
    (changed.*member).back() ^= 1;
    ids.insert(changed.id());
  }
  EXPECT_EQ(ids.size(), 7u);
}

TEST(KernelKey, refuses_other_text) {
  const std::string text = sample_key().text();
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(KernelKey::parse(text.substr(0, size))) << size;
  EXPECT_FALSE(KernelKey::parse(text + "x"));
  EXPECT_FALSE(KernelKey::parse(text + text));
  for (const char* part : {"features", "options"}) {
    std::string other = text;
    EXPECT_FALSE(KernelKey::parse(other.replace(other.find(part), 1, "F")));
  }
  std::string spaced = text;
  spaced[10] = ' ';
  EXPECT_FALSE(KernelKey::parse(spaced));
  std::string hash = text;
  hash[hash.size() - 2] = 'G';
  EXPECT_FALSE(KernelKey::parse(hash));
  EXPECT_FALSE(KernelKey::parse(std::string(1 << 20, 'a')));
}

TEST(KernelBlob, bytes_and_back) {
  const std::vector<std::byte> bytes = sample_blob().serialize();
  ASSERT_EQ(bytes.size(), 32u + 100u);
  const Result<KernelBlob> parsed = KernelBlob::parse(bytes);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, sample_blob());
}

TEST(KernelBlob, refuses_every_truncation_and_extension) {
  std::vector<std::byte> bytes = sample_blob().serialize();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Result<KernelBlob> parsed = KernelBlob::parse(std::span(bytes).first(size));
    ASSERT_FALSE(parsed) << size;
    EXPECT_EQ(parsed.error().code, ErrorCode::kCorruption);
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(KernelBlob::parse(bytes));
}

TEST(KernelBlob, refuses_flips_in_the_header_that_matter) {
  const std::vector<std::byte> bytes = sample_blob().serialize();
  for (size_t at = 0; at < 32; ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> flipped = bytes;
      flipped[at] ^= static_cast<std::byte>(1 << bit);
      const Result<KernelBlob> parsed = KernelBlob::parse(flipped);
      if (!parsed) continue;
      // An offset inside the image and a number of scratch bytes are all that may differ.
      EXPECT_TRUE((at >= 8 && at < 24)) << at;
      EXPECT_LT(parsed->entry, parsed->image.size());
      EXPECT_LE(parsed->scratch_bytes, KernelBlob::kMaxScratchBytes);
    }
}

TEST(KernelBlob, refuses_an_image_that_is_too_large_or_empty) {
  KernelBlob blob;
  EXPECT_FALSE(KernelBlob::parse(blob.serialize()));
  blob.image.resize(KernelBlob::kMaxBytes + 1);
  EXPECT_FALSE(KernelBlob::parse(blob.serialize()));
  blob.image.pop_back();
  EXPECT_TRUE(KernelBlob::parse(blob.serialize()));
}

}  // namespace
}  // namespace edge_infer
