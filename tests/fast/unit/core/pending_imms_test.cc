// Immediates that wait for earlier messages. [MRC-WIMM-2] [MRC-METH-2]
#include "core/pending_imms.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

TEST(PendingImms, at_most_so_many_at_once) {
  PendingImms imms;
  for (uint16_t i = 0; i < 3; ++i) {
    PendingImm* const imm = imms.add(i, 3);
    ASSERT_NE(imm, nullptr);
    imm->seq = 100u + i;
  }
  EXPECT_EQ(imms.add(3, 3), nullptr);
  imms.remove(imms.find_next(100));
  EXPECT_EQ(imms.count(), 2u);
  EXPECT_NE(imms.add(3, 3), nullptr);
  imms.check();
}

TEST(PendingImms, a_number_that_is_taken_is_refused) {
  PendingImms imms;
  ASSERT_NE(imms.add(5, 4), nullptr);
  EXPECT_EQ(imms.add(5, 4), nullptr);
  EXPECT_EQ(imms.add(9, 4), nullptr);  // the same place, four further on
  EXPECT_NE(imms.add(6, 4), nullptr);
}

TEST(PendingImms, are_delivered_in_the_order_of_their_numbers) {
  PendingImms imms;
  for (const uint16_t rqmsn : {65535, 0, 2}) {  // wraps, and one is missing
    PendingImm* const imm = imms.add(rqmsn, 8);
    ASSERT_NE(imm, nullptr);
    imm->seq = 100u + rqmsn;
  }
  EXPECT_EQ(imms.find_next(1), nullptr);
  imms.remove(imms.find_next(100 + 65535));  // the first may have any number
  imms.remove(imms.find_next(100));
  EXPECT_EQ(imms.find_next(102), nullptr);  // 1 would be next
  EXPECT_EQ(imms.count(), 1u);
}

TEST(PendingImms, none_allowed_means_one) {
  PendingImms imms;
  EXPECT_NE(imms.add(0, 0), nullptr);
  EXPECT_EQ(imms.add(1, 0), nullptr);
}

}  // namespace
}  // namespace mrc::core
