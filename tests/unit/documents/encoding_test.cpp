#include "apps/documents/readers/encoding.h"

#include "apps/documents/protocol.h"
#include "tests/unit/documents/support.h"

namespace edge_infer {
namespace {

using namespace std::string_view_literals;

std::string decoded(std::string_view source, std::string_view label = {}) {
  const auto charset = Charset::open(label);
  Result<DecodedText> text = decode_text(source, label, charset.get());
  return text ? std::string(text->text()) : "error: " + text.error().message;
}

TEST(Encoding, knows_unicode_by_its_mark_or_form) {
  EXPECT_EQ(decoded("\xef\xbb\xbfGr\xc3\xbc\xc3\x9f"), "Grüß");
  EXPECT_EQ(decoded("\xff\xfeG\0r\0\xfc\0"sv), "Grü");
  EXPECT_EQ(decoded("\xfe\xff\0G\0r\0\xfc"sv), "Grü");
  EXPECT_EQ(decoded("\xff\xfe\0\0G\0\0\0\x22\xf6\x01\0"sv), "G\U0001F622");
  EXPECT_EQ(decoded("\0\0\xfe\xff\0\0\0G"sv), "G");
  EXPECT_EQ(decoded("\xfe\xff\xd8\x3d\xde\x22"sv), "\U0001F622");
  EXPECT_EQ(decoded("\xfe\xff\xd8\x3d\0A"sv), "\uFFFDA") << "half a surrogate pair";
  EXPECT_EQ(decoded("p\0l\0a\0i\0n\0 \0t\0e\0x\0t\0"sv), "plain text");
}

template <typename Source>
concept Decodable =
    requires(Source&& source) { decode_text(std::forward<Source>(source), std::string_view(), nullptr); };
static_assert(Decodable<std::string&> && Decodable<const std::string&> && Decodable<std::string_view>);
static_assert(!Decodable<std::string>, "the result would show into a string that is gone");

TEST(Encoding, falls_back_to_windows_1252_and_says_so) {
  Result<DecodedText> text = decode_text(
      "Die Br\xfc"
      "cke \x96 \x91Umleitung\x92.",
      {}, nullptr);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->text(), "Die Brücke – ‘Umleitung’.");
  EXPECT_EQ(text->note, "not utf-8 (byte 6): read as windows-1252");
}

TEST(Encoding, repairs_utf8_with_single_wrong_bytes) {
  EXPECT_EQ(decoded("Br\xc3\xbc"
                    "cke \xff Fl\xc3\xbcsse"),
            "Brücke \uFFFD Flüsse");
}

TEST(Encoding, refuses_what_would_become_mojibake) {
  const std::string shift_jis =
      "\x8b\xb4\x82\xcd\x8d\x48\x8e\x96\x82\xcc\x82\xbd\x82\xdf\x92\xca\x8d\x73\x8e\x7e\x82\xdf";
  EXPECT_TRUE(decoded(shift_jis).starts_with("error: text in an unknown encoding")) << decoded(shift_jis);
  EXPECT_EQ(decoded(shift_jis, "shift_jis"), "橋は工事のため通行止め");
}

TEST(Encoding, reads_declared_charsets) {
  EXPECT_EQ(declared_charset("<html><META HTTP-EQUIV=\"Content-Type\" content='text/html; charset=KOI8-R'>"),
            "koi8-r");
  EXPECT_EQ(declared_charset("<?xml version=\"1.0\" encoding='ISO-8859-2'?><html>"), "iso-8859-2");
  EXPECT_EQ(declared_charset("<p>charset=utf-8"), "");
  EXPECT_EQ(decoded("\xd0\xd2\xc9\xd7\xc5\xd4", "koi8-r"), "привет");
  EXPECT_EQ(decoded("\xa4", "iso-8859-15"), "€");
  EXPECT_EQ(Charset::open("iso-2022-jp"), nullptr) << "stateful";
}

TEST(Encoding, maps_every_character_to_its_bytes) {
  for (const auto& [source, label] : {std::pair{"a\xfc"
                                                "b\xfc\xfc"
                                                "c"sv,
                                                "iso-8859-1"sv},
                                      std::pair{"\xff\xfe"
                                                "a\0\xfc\0\x3d\xd8\x22\xde"
                                                "b\0"sv,
                                                ""sv},
                                      std::pair{"a\x82\xcd"
                                                "b"sv,
                                                "shift_jis"sv}}) {
    const auto charset = Charset::open(label);
    Result<DecodedText> text = decode_text(source, label, charset.get());
    ASSERT_TRUE(text);
    Block block;
    block.text = text->text();
    block.origins = text->origins();
    block.end = static_cast<int64_t>(source.size());
    int64_t last = source.starts_with("\xff\xfe") ? 2 : 0;
    for (size_t at = 0; at < block.text.size();) {
      const auto lead = static_cast<unsigned char>(block.text[at]);
      const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      const ByteRange range = source_range(block, static_cast<int64_t>(at), static_cast<int64_t>(at + size));
      EXPECT_EQ(range.start, last);
      EXPECT_GT(range.end, range.start);
      last = range.end;
      at += size;
    }
    EXPECT_EQ(last, static_cast<int64_t>(source.size()));
  }
}

TEST(Encoding, tells_binary_data_from_text) {
  EXPECT_TRUE(
      looks_binary("\x7f"
                   "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0>\0\1\0\0\0\xa0\xb1\0\0\0\0"sv));
  EXPECT_FALSE(looks_binary("\x1f\nFile: a.info,  Node: Top\n\nText with \x1b[1mbold\x1b[0m words\f\n"));
  EXPECT_FALSE(
      looks_binary("\xff\xfe"
                   "a\0b\0"sv));
}

TEST(Utf8, is_checked_strictly) {
  for (const std::string_view good : {""sv, "abc"sv, "\xc3\xbc"sv, "\xe2\x82\xac"sv, "\xf4\x8f\xbf\xbf"sv})
    EXPECT_EQ(valid_utf8_prefix(good), good.size());
  for (const std::string_view bad :
       {"\x80"sv, "\xc0\xaf"sv, "\xe0\x80\xaf"sv, "\xed\xa0\x80"sv, "\xf4\x90\x80\x80"sv, "\xc3"sv, "\xff"sv})
    EXPECT_EQ(valid_utf8_prefix(bad), 0u);
}

}  // namespace
}  // namespace edge_infer
