#include "apps/index/path_text.h"

#include <gtest/gtest.h>

namespace edge_infer {
namespace {

TEST(PathText, json_keeps_what_is_utf8) {
  EXPECT_EQ(path_as_utf8("d\xc3\xa9j\xc3\xa0/\n.txt"), "d\xc3\xa9j\xc3\xa0/\n.txt");
  EXPECT_EQ(path_as_utf8("bad-\xff\xc3.txt"), "bad-%FF%C3.txt");
}

TEST(PathText, a_line_on_a_terminal_is_not_steered) {
  // ESC, BEL, DEL, C1 controls (CSI, NEL, OSC), line and paragraph separators.
  EXPECT_EQ(line_for_terminal("a\x1b[31mred\x07\x7f b"), "a [31mred b");
  EXPECT_EQ(line_for_terminal("a\xc2\x9b"
                              "2Jb\xc2\x85"
                              "c\xc2\x9d"
                              "d"),
            "a 2Jb c d");
  EXPECT_EQ(line_for_terminal("a\xe2\x80\xa8"
                              "b\xe2\x80\xa9"
                              "c"),
            "a b c");
  EXPECT_EQ(line_for_terminal("a\xe2\x80\xae"
                              "b\xe2\x81\xa6"
                              "c"),
            "abc")
      << "overrides and isolates";
}

TEST(PathText, a_line_on_a_terminal_keeps_all_that_is_seen) {
  EXPECT_EQ(line_for_terminal("  two\n\n words\t"), "two words");
  EXPECT_EQ(line_for_terminal("\xc3\xa9\xe6\xa9\x8b \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac \xc2\xa0x"),
            "\xc3\xa9\xe6\xa9\x8b \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac \xc2\xa0x");
  EXPECT_EQ(line_for_terminal("a\xff\x9b"
                              "b"),
            "a\xef\xbf\xbd\xef\xbf\xbd"
            "b");
  EXPECT_EQ(line_for_terminal(" \t\n\x1b"), "");
}

TEST(PathText, names_keep_to_their_line) {
  EXPECT_EQ(path_for_terminal("a\n\xc2\x9b"
                              "b\xff"),
            "a%0A%C2%9Bb%FF");
}

}  // namespace
}  // namespace edge_infer
