// Packets to the mailbox are compared with what they wrote before. [MRC-SEC-3]
#include "core/mailbox_content.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

wire::Packet packet(const char* text) {
  wire::Packet p;
  p.payload = reinterpret_cast<const uint8_t*>(text);
  p.payload_len = 4;
  return p;
}

TEST(MailboxContent, only_the_same_bytes_are_the_same) {
  MailboxContent content;
  EXPECT_TRUE(content.same(packet("abcd"), 7));  // nothing is known
  content.allocate(64);
  content.keep(packet("abcd"), 7);
  EXPECT_TRUE(content.same(packet("abcd"), 7));
  EXPECT_FALSE(content.same(packet("abce"), 7));
  EXPECT_TRUE(content.same(packet("abce"), 8));
  wire::Packet empty;
  EXPECT_TRUE(content.same(empty, 7));
}

TEST(MailboxContent, is_kept_for_one_window) {
  MailboxContent content;
  content.allocate(64);
  content.keep(packet("abcd"), 7);
  content.keep(packet("wxyz"), 7 + 64);
  EXPECT_TRUE(content.same(packet("abce"), 7));  // no longer known
  EXPECT_FALSE(content.same(packet("abce"), 7 + 64));
}

TEST(MailboxContent, room_is_a_power_of_two) {
  MailboxContent content;
  content.check();
  content.allocate(64);
  content.check();
  MailboxContent odd;
  odd.allocate(48);
  if (kCheckInvariants) {
    EXPECT_DEATH(odd.check(), "invariant violated");
  }
}

}  // namespace
}  // namespace mrc::core
