// A CQ by itself: its ring, and arming without a channel. The events of an armed one, and what a full one does, are in
// tests/system/unit/api/events_test.cc.
#include "api/cq.h"

#include <cerrno>
#include <vector>

#include "api/context.h"
#include "harness/api_pair.h"

namespace mrc::api {
namespace {

class CqTest : public ApiTest {};

// [API-CQ-1]
TEST_F(CqTest, holds_what_was_asked_for_and_drains_in_order) {
  for (int cqe : {1, 5, 64}) {
    mrc_cq* cq = mrc_create_cq(context, cqe, nullptr, nullptr, 0);
    ASSERT_NE(cq, nullptr);
    for (int lap = 0; lap < 3; ++lap) {
      for (int i = 0; i < cqe; ++i) {
        ibv_wc wc{};
        wc.wr_id = static_cast<uint64_t>(i);
        EXPECT_TRUE(cq->push(0, wc, nullptr, 0, false)) << i << " of " << cqe;
      }
      std::vector<ibv_wc> out(static_cast<size_t>(cqe) + 1);
      int n = mrc_poll_cq(cq, (cqe + 1) / 2, out.data());
      EXPECT_EQ(n, (cqe + 1) / 2);
      n += mrc_poll_cq(cq, cqe + 1, out.data() + n);
      ASSERT_EQ(n, cqe);
      for (int i = 0; i < cqe; ++i) EXPECT_EQ(out[static_cast<size_t>(i)].wr_id, static_cast<uint64_t>(i));
    }
    EXPECT_EQ(mrc_poll_cq(cq, 0, nullptr), 0);
    EXPECT_EQ(mrc_destroy_cq(cq), 0);
  }
}

// [API-CQ-3]
TEST_F(CqTest, arming_needs_a_channel) {
  End a(context, pd);
  EXPECT_EQ(mrc_req_notify_cq(a.cq, 0), EINVAL);
  EXPECT_EQ(mrc_req_notify_cq(nullptr, 0), EINVAL);
}

}  // namespace
}  // namespace mrc::api
