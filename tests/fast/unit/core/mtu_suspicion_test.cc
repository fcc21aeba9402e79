// When the size of the oldest packet is suspected, from both sides of each threshold. [MRC-MTU-1] [MRC-MTU-4]
#include "core/mtu_suspicion.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

class MtuSuspicionTest : public testing::Test {
 protected:
  static constexpr bool kTimestamps = true;
  static uint16_t nominal(uint32_t payload) {
    return static_cast<uint16_t>(
        wire::nominal_size(wire::packet_bytes(wire::Opcode::kWriteLastImm, kTimestamps, payload)));
  }
  // The oldest packet, sent that often.
  void send(uint32_t payload, int sends, TraceTrigger lost_by = TraceTrigger::kTimedOut) {
    sent_.make_room(&pool_, 1, 64);
    sent_.on_sent(Instant(), 0_ev, nominal(payload));
    for (int i = 1; i < sends; ++i) {
      sent_.on_lost(sent_.una(), lost_by);
      sent_.on_sent_again(Instant(), sent_.una(), 0_ev, nominal(payload));
    }
  }
  void arrive() {
    sent_.on_arrived(sent_.una());
    sent_.advance();
  }
  bool suspect() const { return size_is_suspect(sent_, kTimestamps); }
  TxWindowPool pool_;
  SentPackets sent_;
};

TEST_F(MtuSuspicionTest, oldest_exceeds__only_larger_packets_than_those_of_the_path_mtu) {
  EXPECT_FALSE(oldest_exceeds(sent_, 256, kTimestamps));  // there is none
  send(1024, 1);
  EXPECT_TRUE(oldest_exceeds(sent_, 1020, kTimestamps));
  EXPECT_FALSE(oldest_exceeds(sent_, 1024, kTimestamps));
  arrive();
  EXPECT_FALSE(oldest_exceeds(sent_, 1020, kTimestamps));
}

TEST_F(MtuSuspicionTest, size_is_suspect__from_the_third_transmission_on) {
  send(1024, 2);
  EXPECT_FALSE(suspect());
  arrive();
  send(1024, 3);
  EXPECT_TRUE(suspect());
}

TEST_F(MtuSuspicionTest, size_is_suspect__not_of_the_smallest_packets) {
  send(PathMtu::kSmallest, 3);
  EXPECT_FALSE(suspect());
  arrive();
  send(PathMtu::kSmallest + 4, 3);
  EXPECT_TRUE(suspect());
}

TEST_F(MtuSuspicionTest, size_is_suspect__not_of_a_packet_that_a_switch_trimmed) {
  send(1024, 3, TraceTrigger::kTrimmed);
  EXPECT_FALSE(suspect());
}

}  // namespace
}  // namespace mrc::core
