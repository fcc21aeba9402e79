// Each kind of damage, with fixed seeds, through the in-process datapath: what arrives is compared with what was sent.
#include "datapath/fault.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "datapath/mem/mem_datapath.h"
#include "wire/packet.h"

namespace mrc::datapath {
namespace {

struct Arrived {
  std::vector<uint8_t> bytes;
  PlaneId plane;
  wire::Flow flow;
  uint32_t number() const {
    uint32_t n = 0;
    std::memcpy(&n, bytes.data(), 4);
    return n;
  }
};

class Fault : public ::testing::Test {
 protected:
  static constexpr uint32_t kSegments = 15, kSize = 200;

  void open(const std::string& text, uint32_t depth = 1u << 20) {
    const auto plan = parse_fault(text);
    ASSERT_TRUE(plan) << plan.error().text;
    auto pair = MemDatapath::make_pair(4, depth);
    dp_ = make_fault_datapath(std::move(pair.first), *plan, core::DscpConfig());
    peer_ = std::move(pair.second);
    sent_ = 0;
  }
  // A burst of numbered packets; the last is shorter. False when not taken.
  bool send(uint8_t plane = 0, EvIndex ev = {}, uint32_t segments = kSegments, uint8_t traffic_class = 2) {
    core::TxBurst& b = burst_;
    b.plane = PlaneId(plane);
    b.ev_index = ev;
    b.flow.traffic_class = traffic_class;
    b.segments = segments;
    b.segment_size = kSize;
    b.bytes = b.iov_count = 0;
    for (uint32_t s = 0; s < segments; ++s) {
      uint32_t size = s + 1 == segments ? kSize - 50 : kSize;
      uint8_t* packet = memory_ + s * kSize;
      std::memset(packet, static_cast<int>((sent_ + s) * 7 & 0xFF), size);
      uint32_t number = sent_ + s;
      std::memcpy(packet, &number, 4);
      b.iov[b.iov_count++] = {packet, 20};
      b.iov[b.iov_count++] = {packet + 20, size - 20};
      b.bytes += size;
    }
    if (segments == 1) b.segment_size = b.bytes;
    if (!dp_->tx_one(now_, b)) return false;
    sent_ += segments;
    return true;
  }
  std::vector<Arrived> arrived() {
    std::vector<Arrived> all;
    core::RxBurst in[8];
    for (int n; (n = peer_->rx_burst(now_, in, 8)) > 0;) {
      for (int i = 0; i < n; ++i) {
        for (uint32_t at = 0; at < in[i].bytes; at += in[i].segment_size) {
          uint32_t size = std::min(in[i].segment_size, in[i].bytes - at);
          all.push_back({{in[i].data + at, in[i].data + at + size}, in[i].plane, in[i].flow});
        }
      }
    }
    return all;
  }
  static bool intact(const Arrived& a) {
    for (size_t i = 4; i < a.bytes.size(); ++i)
      if (a.bytes[i] != static_cast<uint8_t>(a.number() * 7)) return false;
    bool last = a.number() % kSegments == kSegments - 1;
    return a.bytes.size() == (last ? kSize - 50 : kSize);
  }
  // Within four standard deviations of a binomial count.
  static void expect_about(uint64_t count, double n, double p) {
    EXPECT_NEAR(static_cast<double>(count), n * p, 4 * std::sqrt(n * p * (1 - p)) + 1);
  }
  const DatapathCounters& counters() { return dp_->counters(); }

  std::unique_ptr<Datapath> dp_;
  std::unique_ptr<MemDatapath> peer_;
  core::TxBurst burst_;
  uint8_t memory_[core::kMaxSegments * kSize];
  uint32_t sent_ = 0;
  Instant now_ = Instant::from_ns(5000000000);
};

TEST_F(Fault, nothing_asked_nothing_changed) {
  open("loss=0;seed=3");
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(send());
  auto got = arrived();
  ASSERT_EQ(got.size(), sent_);
  for (uint32_t i = 0; i < sent_; ++i) {
    EXPECT_EQ(got[i].number(), i);
    EXPECT_TRUE(intact(got[i]));
  }
}

TEST_F(Fault, loss_has_its_rate_and_leaves_the_others_intact) {
  for (double p : {0.001, 0.01, 0.3}) {
    open("loss=" + std::to_string(p) + ";seed=11");
    for (int i = 0; i < 4000; ++i) ASSERT_TRUE(send());
    auto got = arrived();
    expect_about(sent_ - got.size(), sent_, p);
    EXPECT_EQ(counters().fault_dropped, sent_ - got.size());
    EXPECT_EQ(counters().tx_packets, got.size());
    uint32_t previous = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(intact(got[i])) << got[i].number();
      ASSERT_TRUE(i == 0 || got[i].number() > previous);
      previous = got[i].number();
    }
  }
}

TEST_F(Fault, certain_loss_takes_everything) {
  open("loss=1");
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(send());
  EXPECT_TRUE(arrived().empty());
  EXPECT_EQ(counters().fault_dropped, sent_);
}

TEST_F(Fault, a_survivor_burst_stays_one_burst) {
  open("loss=0.2;seed=1");
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(send());
  EXPECT_LE(counters().tx_bursts, 100u);
  EXPECT_GT(counters().fault_dropped, 200u);
}

TEST_F(Fault, same_seed_same_losses_other_seed_others) {
  auto survivors = [&](const std::string& seed) {
    open("loss=0.05;seed=" + seed);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(send());
    std::vector<uint32_t> numbers;
    for (const Arrived& a : arrived()) numbers.push_back(a.number());
    return numbers;
  };
  auto first = survivors("5");
  EXPECT_EQ(first, survivors("5"));
  EXPECT_NE(first, survivors("6"));
}

TEST_F(Fault, losses_do_not_depend_on_how_packets_are_grouped) {
  auto survivors = [&](uint32_t group) {
    open("loss=0.05;seed=5");
    for (uint32_t i = 0; i < 1200 / group; ++i) EXPECT_TRUE(send(0, 0_ev, group));
    std::vector<uint32_t> numbers;
    for (const Arrived& a : arrived()) numbers.push_back(a.number());
    return numbers;
  };
  EXPECT_EQ(survivors(1), survivors(15));
}

TEST_F(Fault, burst_loss_takes_so_many_in_a_row) {
  open("burstloss=0.002/8;seed=2");
  for (int i = 0; i < 4000; ++i) ASSERT_TRUE(send());
  auto got = arrived();
  std::map<uint32_t, int> runs;
  uint32_t expected = 0;
  for (const Arrived& a : got) {
    if (a.number() != expected) ++runs[a.number() - expected];
    expected = a.number() + 1;
  }
  uint64_t events = 0;
  for (auto [length, count] : runs) {
    EXPECT_EQ(length % 8, 0u) << "two in succession at most";
    events += length / 8 * static_cast<uint64_t>(count);
  }
  expect_about(events, sent_ / (1 + 8 * 0.002), 0.002);
}

TEST_F(Fault, scope_by_plane_and_by_ev) {
  open("plane=2:loss=1;ev=7-8:loss=1");
  ASSERT_TRUE(send(0, 0_ev));
  ASSERT_TRUE(send(1, 0_ev));
  ASSERT_TRUE(send(2, 6_ev));
  ASSERT_TRUE(send(2, 7_ev));
  ASSERT_TRUE(send(3, 8_ev));
  ASSERT_TRUE(send(3, 9_ev));
  std::set<uint32_t> bursts;
  for (const Arrived& a : arrived()) bursts.insert(a.number() / kSegments);
  EXPECT_EQ(bursts, (std::set<uint32_t>{0, 2, 5}));
}

TEST_F(Fault, blackhole_from_and_to_count_from_the_first_burst) {
  open("plane=1:blackhole@2s-5s");
  auto reaches = [&](int64_t ns) {
    now_ = Instant::from_ns(5000000000 + ns);
    EXPECT_TRUE(send(0));
    return !arrived().empty();
  };
  EXPECT_TRUE(reaches(0));
  EXPECT_TRUE(reaches(1999999999));
  EXPECT_FALSE(reaches(2000000000));
  EXPECT_FALSE(reaches(4999999999));
  EXPECT_TRUE(reaches(5000000000));
  EXPECT_EQ(counters().fault_dropped, 2 * kSegments);
}

TEST_F(Fault, duplicates_arrive_twice_and_whole) {
  open("dup=0.02;seed=4");
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(send());
  std::map<uint32_t, int> count;
  for (const Arrived& a : arrived()) {
    ASSERT_TRUE(intact(a));
    ++count[a.number()];
  }
  EXPECT_EQ(count.size(), sent_);
  uint64_t twice = 0;
  for (auto [number, n] : count) {
    ASSERT_LE(n, 2);
    twice += n == 2 ? 1 : 0;
  }
  expect_about(twice, sent_, 0.02);
  EXPECT_EQ(counters().fault_duplicated, twice);
}

TEST_F(Fault, reordered_packets_come_one_to_four_bursts_later) {
  open("reorder=0.01;seed=9");
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(send());
  auto got = arrived();
  uint32_t highest = 0;
  uint64_t late = 0;
  std::set<uint32_t> distances;
  for (const Arrived& a : got) {
    ASSERT_TRUE(intact(a));
    if (a.number() < highest) {
      ++late;
      distances.insert(highest / kSegments - a.number() / kSegments);
    }
    highest = std::max(highest, a.number());
  }
  expect_about(counters().fault_reordered, sent_, 0.01);
  EXPECT_GE(late + 5, counters().fault_reordered);
  for (uint32_t d : distances) EXPECT_LE(d, 4u);
  EXPECT_GE(distances.size(), 4u);
}

TEST_F(Fault, the_last_packet_reordered_goes_after_a_millisecond) {
  open("reorder=1");
  ASSERT_TRUE(send(0, 0_ev, 1));
  EXPECT_TRUE(arrived().empty());
  EXPECT_EQ(dp_->next_timeout(), now_ + Duration::milliseconds(1));
  now_ = now_ + Duration::nanoseconds(999999);
  dp_->tx_burst(now_, nullptr, 0);
  EXPECT_TRUE(arrived().empty());
  now_ = now_ + Duration::nanoseconds(1);
  dp_->tx_burst(now_, nullptr, 0);
  EXPECT_EQ(arrived().size(), 1u);
  EXPECT_EQ(dp_->next_timeout(), Instant::never());
}

TEST_F(Fault, delay_is_exact_and_wakes_the_driver) {
  open("delay=200us");
  ASSERT_TRUE(send());
  EXPECT_TRUE(arrived().empty());
  EXPECT_EQ(dp_->next_timeout(), now_ + Duration::microseconds(200));
  std::memset(memory_, 0xEE, sizeof(memory_));  // the sender's memory may change meanwhile
  now_ = now_ + Duration::microseconds(199);
  core::RxBurst in[1];
  dp_->rx_burst(now_, in, 1);
  EXPECT_TRUE(arrived().empty());
  now_ = now_ + Duration::microseconds(1);
  dp_->rx_burst(now_, in, 1);
  auto got = arrived();
  ASSERT_EQ(got.size(), kSegments);
  for (const Arrived& a : got) EXPECT_TRUE(intact(a));
  EXPECT_EQ(counters().fault_delayed, kSegments);
  EXPECT_EQ(dp_->next_timeout(), Instant::never());
}

TEST_F(Fault, jitter_stays_between_its_bounds_and_reorders) {
  open("delay=100us/300us;seed=8");
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(send(0, 0_ev, 1));
  Instant start = now_;
  std::vector<uint32_t> order;
  int64_t first = 0;
  int64_t last = 0;
  for (int64_t us = 0; us <= 300; ++us) {
    now_ = start + Duration::microseconds(us);
    dp_->tx_burst(now_, nullptr, 0);
    for (const Arrived& a : arrived()) {
      order.push_back(a.number());
      if (order.size() == 1) first = us;
      last = us;
    }
  }
  EXPECT_EQ(order.size(), 200u);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  EXPECT_GE(first, 100);
  EXPECT_LT(first, 110);
  EXPECT_GT(last, 290);
}

TEST_F(Fault, corruption_flips_exactly_one_bit) {
  open("corrupt=0.01;seed=12");
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(send());
  auto got = arrived();
  ASSERT_EQ(got.size(), sent_);
  uint64_t bad = 0;
  for (uint32_t i = 0; i < sent_; ++i) {
    std::vector<uint8_t> expected(got[i].bytes.size(), static_cast<uint8_t>(i * 7));
    std::memcpy(expected.data(), &i, 4);
    int bits = 0;
    for (size_t k = 0; k < expected.size(); ++k) bits += __builtin_popcount(expected[k] ^ got[i].bytes[k]);
    ASSERT_LE(bits, 1);
    bad += static_cast<uint64_t>(bits);
  }
  EXPECT_EQ(bad, counters().fault_corrupted);
  expect_about(bad, sent_, 0.01);
}

TEST_F(Fault, ecn_marks_capable_packets_only) {
  open("ecn=0.1;seed=13");
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(send(0, 0_ev, kSegments, 46 << 2 | 2));
  uint64_t marked = 0;
  auto got = arrived();
  ASSERT_EQ(got.size(), sent_);
  for (const Arrived& a : got) {
    EXPECT_EQ(a.flow.dscp(), 46);
    EXPECT_TRUE(intact(a));
    marked += a.flow.ecn() == wire::Ecn::kCe ? 1 : 0;
  }
  expect_about(marked, sent_, 0.1);
  EXPECT_EQ(counters().fault_marked, marked);
  open("ecn=1");
  ASSERT_TRUE(send(0, 0_ev, kSegments, 46 << 2));
  for (const Arrived& a : arrived()) EXPECT_EQ(a.flow.traffic_class, 46 << 2);
}

TEST_F(Fault, trim_keeps_the_headers_a_switch_keeps) {
  uint8_t packet[128];
  for (bool ts : {true, false}) {
    open("trim=1");
    wire::Bth bth;
    wire::Meth meth;
    wire::Tseth tseth;
    wire::Reth reth;
    uint32_t n =
        wire::encode_request_headers(packet, wire::Opcode::kWriteOnly, bth, meth, ts ? &tseth : nullptr, reth, nullptr);
    core::TxBurst& b = burst_;
    b.plane = 0_plane;
    b.flow.traffic_class = 4 << 2 | 2;
    b.segments = 2;
    b.segment_size = n + 16;
    b.bytes = 2 * b.segment_size;
    b.iov_count = 3;
    b.iov[0] = {packet, n + 16};
    b.iov[1] = {packet, 7};  // headers cut apart by the gather list
    b.iov[2] = {packet + 7, n + 9};
    ASSERT_TRUE(dp_->tx_one(now_, b));
    auto got = arrived();
    ASSERT_EQ(got.size(), 2u);
    for (const Arrived& a : got) {
      EXPECT_EQ(a.bytes.size(), wire::Bth::kSize + wire::Meth::kSize + (ts ? wire::Tseth::kSize : 0));
      EXPECT_EQ(std::memcmp(a.bytes.data(), packet, a.bytes.size()), 0);
      EXPECT_EQ(a.flow.dscp(), core::DscpConfig().trimmed);
      EXPECT_EQ(a.flow.ecn(), wire::Ecn::kEct0);
    }
    EXPECT_EQ(counters().fault_trimmed, 2u);
  }
}

TEST_F(Fault, control_packets_are_not_trimmed) {
  open("trim=1");
  ASSERT_TRUE(send());  // not decodable as a request
  auto got = arrived();
  ASSERT_EQ(got.size(), kSegments);
  for (const Arrived& a : got) EXPECT_TRUE(intact(a));
  EXPECT_EQ(counters().fault_trimmed, 0u);
}

TEST_F(Fault, a_full_plane_refuses_without_drawing) {
  open("loss=0.1;seed=20", 3);
  std::vector<uint32_t> with_refusals;
  for (int i = 0; i < 60; ++i) {
    while (!send()) {
      EXPECT_FALSE(send()) << "still full";
      EXPECT_FALSE(dp_->planes_with_room().contains(0_plane));
      for (const Arrived& a : arrived()) with_refusals.push_back(a.number());
    }
  }
  for (const Arrived& a : arrived()) with_refusals.push_back(a.number());
  open("loss=0.1;seed=20");
  std::vector<uint32_t> without;
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(send());
  for (const Arrived& a : arrived()) without.push_back(a.number());
  EXPECT_EQ(with_refusals, without);
}

TEST_F(Fault, a_copy_without_room_waits_and_is_not_lost) {
  open("dup=1", 1);  // room for the burst, none for its copy
  ASSERT_TRUE(send());
  EXPECT_EQ(arrived().size(), kSegments);
  EXPECT_EQ(dp_->next_timeout(), Instant::never()) << "waits for room, not for time";
  dp_->tx_burst(now_, nullptr, 0);
  auto got = arrived();
  ASSERT_EQ(got.size(), kSegments);
  for (const Arrived& a : got) EXPECT_TRUE(intact(a));
}

TEST_F(Fault, all_kinds_together_lose_only_what_is_counted) {
  open("loss=0.01;burstloss=0.001/5;dup=0.01;reorder=0.01;delay=10us/50us;ecn=0.05;plane=2:corrupt=0.01;seed=99");
  for (uint32_t i = 0; i < 3000; ++i) {
    ASSERT_TRUE(send(static_cast<uint8_t>(i % 4), ev_at(static_cast<size_t>(i % 64))));
    now_ = now_ + Duration::microseconds(1);
  }
  now_ = now_ + Duration::seconds(1);
  dp_->tx_burst(now_, nullptr, 0);
  uint64_t got = arrived().size();
  EXPECT_EQ(got, sent_ - counters().fault_dropped + counters().fault_duplicated);
}

TEST_F(Fault, describes_itself) {
  open("plane=2:loss=0.5");
  EXPECT_NE(dp_->describe().find("fault injection: plane=2:loss=0.5"), std::string::npos);
  EXPECT_EQ(dp_->max_segments(), core::kMaxSegments);
}

}  // namespace
}  // namespace mrc::datapath
