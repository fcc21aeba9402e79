#include "datapath/udp/send_errors.h"

#include <gtest/gtest.h>

namespace mrc::datapath {
namespace {

TEST(SendErrors, first__is_kept) {
  SendErrors errors;
  EXPECT_EQ(errors.first(), "");
  errors.note(EPERM);
  errors.note_refusal(ENETUNREACH);
  EXPECT_EQ(errors.first(), std::strerror(EPERM));
  EXPECT_FALSE(errors.take_too_long());
}

TEST(SendErrors, take_too_long__is_the_last_place_and_once) {
  SendErrors errors;
  errors.set_destination(1_plane, IpAddress::v4(10, 0, 0, 1));
  errors.note_refusal(EMSGSIZE);
  errors.set_destination(2_plane, IpAddress::v4(10, 0, 0, 2));
  errors.note_refusal(EMSGSIZE);
  errors.set_destination(3_plane, IpAddress::v4(10, 0, 0, 3));
  const auto too_long = errors.take_too_long();
  ASSERT_TRUE(too_long);
  EXPECT_EQ(too_long->plane, 2_plane);
  EXPECT_EQ(too_long->to, IpAddress::v4(10, 0, 0, 2));
  EXPECT_FALSE(errors.take_too_long());
}

}  // namespace
}  // namespace mrc::datapath
