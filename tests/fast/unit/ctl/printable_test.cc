#include "ctl/printable.h"

#include <gtest/gtest.h>

namespace mrc::ctl {
namespace {

TEST(Printable, control_characters_are_replaced_and_nothing_else) {
  for (const char* text : {"", "a test, 100 %", "\xc3\xa4", "\xc2\xa0", "\xc2"}) {
    EXPECT_TRUE(is_printable(text)) << text;
    EXPECT_EQ(printable(text), text);
  }
  EXPECT_EQ(printable("\x1b[31mRED\nFAKE"), "?[31mRED?FAKE");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a?b");
  EXPECT_EQ(printable("\x7f\x1f\x20"), "?? ");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "1m\xc2\x80\xc2\x9f"),
            "a?1m??");  // CSI as one character
  for (const char* text : {"\n", "a\t", "\xc2\x85"}) EXPECT_FALSE(is_printable(text));
}

}  // namespace
}  // namespace mrc::ctl
