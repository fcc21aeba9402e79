// Which packets have been sent, have arrived or are lost, without an endpoint.
#include "core/sent_packets.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace mrc::core {
namespace {

class SentPacketsTest : public testing::Test {
 protected:
  void send(int n) {
    sent_.make_room(&pool_, static_cast<uint32_t>(n), 64);
    for (int i = 0; i < n; ++i) sent_.on_sent(now_, 3_ev, 1000);
  }
  void arrive(std::initializer_list<uint64_t> seqs) {
    for (const uint64_t s : seqs) sent_.on_arrived(s);
    sent_.advance();
  }
  Instant now_ = Instant::from_ns(1000000);
  TxWindowPool pool_;
  SentPackets sent_;
};

TEST_F(SentPacketsTest, sent_packets_are_in_flight) {
  EXPECT_FALSE(sent_.open());
  EXPECT_TRUE(sent_.all_arrived());
  send(3);
  EXPECT_EQ(sent_.una(), 0u);
  EXPECT_EQ(sent_.nxt(), 3u);
  EXPECT_EQ(sent_.in_flight(), 3u);
  EXPECT_EQ(sent_.highest_acked(), 0u);
  EXPECT_EQ(sent_[2].ev, 3_ev);
  EXPECT_EQ(sent_[2].sends, 1);
  EXPECT_TRUE(sent_.outstanding(2));
  EXPECT_FALSE(sent_.outstanding(3));
  EXPECT_FALSE(sent_.outstanding(-1));
}

TEST_F(SentPacketsTest, the_oldest_moves_over_what_has_arrived) {
  send(4);
  arrive({1, 2});
  EXPECT_EQ(sent_.una(), 0u);
  EXPECT_EQ(sent_.highest_acked(), 3u);
  EXPECT_EQ(sent_.in_flight(), 2u);
  arrive({0});
  EXPECT_EQ(sent_.una(), 3u);
  arrive({3});
  EXPECT_TRUE(sent_.all_arrived());
  EXPECT_EQ(sent_.in_flight(), 0u);
}

TEST_F(SentPacketsTest, next_in_flight__finds_packets_in_flight_among_the_others) {
  EXPECT_EQ(sent_.next_in_flight(0, 0), 0u);
  send(6);
  arrive({0, 1, 3});
  sent_.on_lost(4, TraceTrigger::kOvertaken);
  EXPECT_EQ(sent_.next_in_flight(2, 6), 2u);
  EXPECT_EQ(sent_.next_in_flight(3, 6), 5u);
  EXPECT_EQ(sent_.next_in_flight(3, 5), 5u);
  sent_.on_sent_again(now_, 4, 3_ev, 1000);
  EXPECT_EQ(sent_.next_in_flight(3, 6), 4u);
  sent_.make_room(&pool_, 60, 64);  // takes more records
  EXPECT_EQ(sent_.next_in_flight(2, 6), 2u);
  EXPECT_EQ(sent_.next_in_flight(3, 6), 4u);
  EXPECT_EQ(sent_.next_in_flight(5, 6), 5u);
}

// Of a queue pair that has failed.
TEST_F(SentPacketsTest, records_with_packets_in_flight_serve_another_queue_pair) {
  send(5);
  sent_.close(&pool_);
  sent_.restart(1);
  send(1);
  arrive({1});
  EXPECT_EQ(sent_.next_in_flight(1, 5), 5u);
}

TEST_F(SentPacketsTest, an_arrival_tells_what_the_packet_was_taken_for) {
  send(2);
  sent_.on_lost(0, TraceTrigger::kOvertaken);
  EXPECT_EQ(sent_.on_arrived(0), SentPackets::Arrival::kLost);
  EXPECT_EQ(sent_.on_arrived(0), SentPackets::Arrival::kKnown);
  EXPECT_EQ(sent_.on_arrived(1), SentPackets::Arrival::kInFlight);
  EXPECT_EQ(sent_.lost(), 0u);
  EXPECT_EQ(sent_.in_flight(), 0u);
}

TEST_F(SentPacketsTest, lost_packets_are_found_in_order_and_once) {
  send(6);
  sent_.on_lost(4, TraceTrigger::kTimedOut);
  sent_.on_lost(1, TraceTrigger::kOvertaken);
  EXPECT_EQ(sent_.lost(), 2u);
  EXPECT_EQ(sent_.in_flight(), 4u);
  EXPECT_EQ(sent_.next_lost(0), 1u);
  EXPECT_EQ(sent_.next_lost(0), 1u);  // until it is sent
  sent_.on_sent_again(now_, 1, 5_ev, 1000);
  EXPECT_EQ(sent_[1].sends, 2);
  EXPECT_EQ(sent_[1].ev, 5_ev);
  EXPECT_EQ(sent_.next_lost(0), 4u);
  sent_.on_sent_again(now_, 4, 5_ev, 1000);
  EXPECT_FALSE(sent_.next_lost(0));
  sent_.on_lost(1, TraceTrigger::kTimedOut);  // once more, below the last one
  EXPECT_EQ(sent_.next_lost(0), 1u);
}

TEST_F(SentPacketsTest, a_record_is_kept_until_another_packet_takes_its_place) {
  send(64);
  for (uint64_t s = 0; s < 64; ++s) sent_.on_arrived(s);
  sent_.advance();
  const uint64_t records = sent_.capacity();
  send(static_cast<int>(records) - 64);
  ASSERT_EQ(sent_.capacity(), records);
  EXPECT_TRUE(sent_.remembers(0));
  EXPECT_FALSE(sent_.remembers(-1));
  EXPECT_FALSE(sent_.remembers(static_cast<int64_t>(records)));
  send(1);
  ASSERT_EQ(sent_.capacity(), records);
  EXPECT_FALSE(sent_.remembers(0));
  EXPECT_TRUE(sent_.remembers(1));
  EXPECT_TRUE(sent_.remembers(static_cast<int64_t>(records)));
}

// As many records as are outstanding, and as many again, up to twice the limit.
TEST_F(SentPacketsTest, records_grow_with_what_is_outstanding_and_keep_their_contents) {
  constexpr uint32_t kMaxPackets = 1024;
  uint32_t sizes = 0;
  for (uint32_t n = 0; n < kMaxPackets; ++n) {
    const uint32_t before = sent_.open() ? sent_.capacity() : 0;
    sent_.make_room(&pool_, 1, kMaxPackets);
    sizes += sent_.capacity() != before;
    EXPECT_GE(sent_.capacity(), 2 * (n + 1));
    EXPECT_LT(sent_.capacity(), std::max(128u, 4 * (n + 1)));
    sent_.on_sent(now_, 3_ev, static_cast<uint16_t>(n));
    if (n == 5) sent_.on_lost(5, TraceTrigger::kOvertaken);
  }
  EXPECT_EQ(sent_.capacity(), 2 * kMaxPackets);
  EXPECT_EQ(sizes, 6u);  // 64 to 2048
  for (uint32_t n = 0; n < kMaxPackets; ++n) EXPECT_EQ(sent_[n].nominal, n);
  EXPECT_EQ(sent_.next_lost(0), 5u);
  sent_.make_room(&pool_, 64, kMaxPackets);
  EXPECT_EQ(sent_.capacity(), 2 * kMaxPackets);
}

// Where records were lost to a small ring, a larger one does not bring them back.
TEST_F(SentPacketsTest, packets_forgotten_by_a_small_ring_stay_forgotten) {
  for (int i = 0; i < 100; ++i) {
    send(1);
    arrive({sent_.una()});
  }
  ASSERT_EQ(sent_.capacity(), 64u);
  EXPECT_FALSE(sent_.remembers(35));
  EXPECT_TRUE(sent_.remembers(36));
  send(50);
  ASSERT_GT(sent_.capacity(), 64u);
  EXPECT_FALSE(sent_.remembers(35));
  EXPECT_TRUE(sent_.remembers(36));
  EXPECT_TRUE(sent_[36].acked);
}

TEST_F(SentPacketsTest, records_of_another_qp_are_not_remembered) {
  send(3);
  arrive({0, 1, 2});
  sent_.close(&pool_);
  EXPECT_FALSE(sent_.remembers(2));
  send(1);  // most likely in the same window
  EXPECT_FALSE(sent_.remembers(2));
  EXPECT_TRUE(sent_.remembers(3));
}

TEST_F(SentPacketsTest, a_restart_forgets_everything) {
  send(5);
  sent_.on_lost(2, TraceTrigger::kTimedOut);
  sent_.close(&pool_);
  sent_.restart(9);
  EXPECT_EQ(sent_.una(), 9u);
  EXPECT_EQ(sent_.nxt(), 9u);
  EXPECT_EQ(sent_.in_flight() + sent_.lost(), 0u);
  sent_.check();
  send(1);
  EXPECT_EQ(sent_.nxt(), 10u);
}

// Whatever happens, each packet is counted once; the checks compare with the records.
TEST_F(SentPacketsTest, each_packet_is_counted_once_whatever_happens) {
  Rng rng(7);
  send(1);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t range = sent_.nxt() - sent_.una();
    const uint64_t seq = sent_.una() + (range > 0 ? rng.below(static_cast<uint32_t>(range)) : 0);
    switch (rng.below(4)) {
      case 0:
        if (range < 64) send(1);
        break;
      case 1:
        if (range > 0) arrive({seq});
        break;
      case 2:
        if (range > 0 && !sent_[seq].acked && !sent_[seq].lost) sent_.on_lost(seq, TraceTrigger::kOvertaken);
        break;
      default:
        if (const auto lost = sent_.next_lost(sent_.una())) sent_.on_sent_again(now_, *lost, 1_ev, 1000);
    }
    uint64_t acked = 0;
    for (uint64_t s = sent_.una(); s < sent_.nxt(); ++s) acked += sent_[s].acked;
    ASSERT_EQ(sent_.in_flight() + sent_.lost() + acked, sent_.nxt() - sent_.una());
  }
  EXPECT_GT(sent_.una(), 1000u);
}

}  // namespace
}  // namespace mrc::core
