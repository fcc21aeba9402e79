// Which SACKs a burst of answers has. [MRC-SACK-1..11] [MRC-PROBE-4]
#include "core/sack_report.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc::core {
namespace {

constexpr uint64_t kFirstReported = ReceivedPackets::kOrigin;

class SackReportTest : public testing::Test {
 protected:
  SackReportTest() {
    received_.set_window(1024);
    received_.allocate();
  }
  void arrive(uint64_t k, bool ce = false) {
    received_.add(kFirstReported + k, 100);
    report_.on_packet(kFirstReported + k, 100);
    SackTrigger t;
    t.seq = kFirstReported + k;
    t.ce = ce;
    report_.on_trigger(t);
    while (received_.next_arrived()) received_.advance();
    report_.check();
  }
  void arrive_again(uint64_t k, bool ce = false) {
    SackTrigger t;
    t.seq = kFirstReported + k;
    t.ce = ce;
    t.again = true;
    report_.on_trigger(t);
    report_.check();
  }
  struct Sack {
    int64_t named, base;
    bool probe_reply;
    bool again = false;
    friend bool operator==(const Sack&, const Sack&) = default;
  };
  // The SACKs of one burst of at most `room` packets; an ACK follows.
  std::vector<Sack> write(uint32_t room = 16) {
    std::vector<Sack> all;
    const auto room_for = [&](uint32_t reserve) { return all.empty() || all.size() + reserve < room; };
    const auto add = [&](const SackTrigger& t, uint64_t base, bool probe_reply) {
      all.push_back({static_cast<int64_t>(t.seq - kFirstReported), static_cast<int64_t>(base - kFirstReported),
                     probe_reply, t.again});
    };
    more_ = report_.write(received_, Psn(0), room_for, add);
    while (!more_ && report_.duplicates_left() && all.size() + 1 < room)
      report_.write_duplicate(received_, Psn(0), add);
    report_.on_reported();
    report_.check();
    return all;
  }
  using Sacks = std::vector<Sack>;
  ReceivedPackets received_;
  SackReport report_;
  bool more_ = false;
};

TEST_F(SackReportTest, in_order_one_sack_names_the_newest) {
  for (uint64_t k = 0; k < 10; ++k) arrive(k);
  EXPECT_EQ(write(), (Sacks{{9, 8, false}}));
  EXPECT_FALSE(more_);
  EXPECT_TRUE(report_.only_cumulative());
}

TEST_F(SackReportTest, bytes_count_at_least_a_kilobyte_per_packet_until_they_are_reported) {
  report_.on_packet(kFirstReported, 10);
  report_.on_packet(kFirstReported + 1, 2000);
  EXPECT_EQ(report_.unreported_bytes(), 3024u);
  report_.on_reported();
  EXPECT_EQ(report_.unreported_bytes(), 0u);
}

TEST_F(SackReportTest, one_per_stretch_that_holds_something) {
  arrive(10);
  arrive(300);
  EXPECT_EQ(write(), (Sacks{{300, 8, false}, {300, 240, false}}));
  EXPECT_FALSE(more_);
}

TEST_F(SackReportTest, marked_packets_are_named_one_by_one) {
  arrive(1, true);
  arrive(2, true);
  arrive(3);
  EXPECT_FALSE(report_.only_cumulative());
  EXPECT_EQ(write(), (Sacks{{1, 0, false}, {2, 0, false}}));
  EXPECT_TRUE(report_.only_cumulative());
}

// [MRC-SACK-11]
TEST_F(SackReportTest, packets_that_arrive_again_are_named_one_by_one_and_once) {
  for (uint64_t k = 0; k < 4; ++k) arrive(k);
  write();
  arrive_again(1);
  arrive_again(2, true);  // marked, too: one SACK reports both
  arrive_again(1);
  EXPECT_FALSE(report_.only_cumulative());
  EXPECT_EQ(write(), (Sacks{{2, 0, false, true}, {1, 0, false, true}, {1, 0, false, true}}));
  EXPECT_TRUE(report_.only_cumulative());
  arrive(4);
  EXPECT_EQ(write(), (Sacks{{4, 0, false}}));
  arrive_again(4);
  EXPECT_EQ(write(), (Sacks{{4, 0, false, true}}));
  EXPECT_EQ(write(), (Sacks{{4, 0, false}})) << "named once more, for another reason: it has not arrived once more";
}

// [MRC-SACK-10] [MRC-SACK-11]: one packet that arrived again costs one SACK, whatever else is to be repeated.
TEST_F(SackReportTest, a_packet_that_arrives_again_is_named_by_the_sack_that_repeats) {
  arrive(100);
  EXPECT_EQ(write(), (Sacks{{100, 40, false}}));
  arrive_again(100);
  arrive_again(100);
  EXPECT_EQ(write(), (Sacks{{100, 96, false, true}, {100, 0, false, true}}));
  EXPECT_FALSE(more_);
  arrive_again(100);
  EXPECT_EQ(write(), (Sacks{{100, 0, false, true}})) << "repeated once";
}

TEST_F(SackReportTest, sixty_four_packets_that_arrive_again_are_kept) {
  for (uint64_t k = 0; k < 70; ++k) arrive(k);
  write();
  for (uint64_t k = 0; k < 70; ++k) arrive_again(k);
  const Sacks all = write(100);
  ASSERT_EQ(all.size(), DuplicateArrivals::kMax);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(all[i].again);
    EXPECT_EQ(all[i].named, static_cast<int64_t>(i));
  }
}

// [MRC-SACK-11]: marks come first, however many packets arrive again.
TEST_F(SackReportTest, packets_that_arrive_again_take_no_place_of_marked_ones) {
  for (uint64_t k = 0; k < 4; ++k) arrive(k);
  write();
  for (uint64_t k = 0; k < 4; ++k) arrive_again(k);
  arrive(4, true);
  arrive(5);
  EXPECT_EQ(write(2), (Sacks{{4, 0, false}}));
  EXPECT_EQ(write(), (Sacks{{0, 0, false, true}, {1, 0, false, true}, {2, 0, false, true}, {3, 0, false, true}}));
}

TEST_F(SackReportTest, sacks_beyond_the_room_follow_in_the_next_burst) {
  arrive(10);
  arrive(300);
  EXPECT_EQ(write(2), (Sacks{{300, 8, false}}));
  EXPECT_TRUE(more_);
  const Sacks rest = write(2);
  ASSERT_FALSE(rest.empty());
  EXPECT_EQ(rest[0], (Sack{300, 240, false}));
}

// [MRC-SACK-10]
TEST_F(SackReportTest, a_stretch_further_back_is_reported_once_more) {
  arrive(10);
  EXPECT_EQ(write(), (Sacks{{10, 0, false}}));
  arrive(300);
  EXPECT_EQ(write(), (Sacks{{300, 240, false}, {300, 8, false}}));
  arrive(301);
  EXPECT_EQ(write(), (Sacks{{301, 240, false}}));
}

TEST_F(SackReportTest, a_probe_has_everything_reported_again_and_its_reply_last) {
  arrive(10);
  write();
  SackTrigger t;
  report_.on_probe(t, 77, received_);
  EXPECT_EQ(report_.probe_id(), 77);
  const Sacks sacks = write();
  ASSERT_EQ(sacks.size(), 2u);
  EXPECT_FALSE(sacks[0].probe_reply);
  EXPECT_EQ(sacks[0].base, 0);
  EXPECT_TRUE(sacks[1].probe_reply);
  EXPECT_TRUE(report_.only_cumulative());
}

TEST_F(SackReportTest, bases_are_multiples_of_eight_psns) {
  for (uint32_t psn = 0; psn < 16; ++psn)
    for (uint64_t k = 0; k < 16; ++k) {
      const uint64_t base = SackReport::aligned(kFirstReported + k, Psn(psn));
      EXPECT_EQ((psn + (base - kFirstReported)) & 7, 0u);
      EXPECT_LE(base, kFirstReported + k);
      EXPECT_GT(base + 8, kFirstReported + k);
    }
}

}  // namespace
}  // namespace mrc::core
