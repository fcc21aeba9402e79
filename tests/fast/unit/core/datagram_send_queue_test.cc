#include "core/datagram_send_queue.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

DatagramWr request(uint64_t id) {
  DatagramWr wr;
  wr.wr_id = id;
  wr.peer = static_cast<PeerId>(id % 5);
  wr.dest_qpn = Qpn(static_cast<uint32_t>(100 + id));
  return wr;
}

TEST(DatagramSendQueue, destinations_stay_with_their_requests_as_it_grows) {
  DatagramSendQueue q;
  q.init({64, 1, 1, 0});
  uint64_t posted = 0, sent = 0, done = 0;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 3; ++i, ++posted) ASSERT_EQ(q.post(request(posted), 256), PostResult::kOk);
    for (int i = 0; i < 2; ++i, ++sent) {
      ASSERT_TRUE(q.has_unsent());
      EXPECT_EQ(q.next().wr_id, sent);
      EXPECT_EQ(q.next_destination().qpn, Qpn(static_cast<uint32_t>(100 + sent)));
      q.on_sent();
    }
    for (int i = 0; i < 2; ++i, ++done) {
      ASSERT_TRUE(q.has_sent());
      EXPECT_EQ(q.front().wr_id, done);
      EXPECT_EQ(q.front_peer(), done % 5);
      q.pop_front();
    }
    q.check();
  }
  EXPECT_FALSE(q.has_sent());
  // Requests that were not sent can be dropped, too.
  while (!q.empty()) q.pop_front();
  EXPECT_FALSE(q.has_unsent());
  ASSERT_EQ(q.post(request(posted), 256), PostResult::kOk);
  EXPECT_EQ(q.next().wr_id, posted);
}

TEST(DatagramSendQueue, a_datagram_is_one_packet) {
  DatagramSendQueue q;
  q.init({4, 1, 2, 0});
  const Sge sges[2] = {{0, 200, Key(1)}, {0, 57, Key(1)}};
  DatagramWr wr = request(1);
  wr.sges = sges;
  wr.num_sge = 2;
  EXPECT_EQ(q.post(wr, 256), PostResult::kTooLong);
  EXPECT_EQ(q.post(wr, 257), PostResult::kOk);
  wr.inline_data = true;
  EXPECT_EQ(q.post(wr, 257), PostResult::kInlineTooLong);
}

}  // namespace
}  // namespace mrc::core
