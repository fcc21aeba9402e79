// Each property of a link on both sides of its threshold; packets of 934 bytes make 1000 on the wire, so at 8 Gb/s one
// takes exactly 1 us.
#include "simnet/simnet.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mrc::simnet {
namespace {

constexpr uint32_t kSize = 934;

struct Out {
  Instant at;
  Delivery d;
};

class SimNetTest : public testing::Test {
 protected:
  explicit SimNetTest(uint64_t seed = 5) : net_(seed, 2) {
    for (int node = 0; node < 2; ++node)
      for (int plane = 0; plane < 2; ++plane) net_.attach(node, plane, address(node, plane));
    for (int plane = 0; plane < 2; ++plane) {
      net_.link(plane).rate_bps = 8e9;
      net_.link(plane).latency = Duration::microseconds(5);
    }
  }

  static IpAddress address(int node, int plane) {
    return IpAddress::v4(10, static_cast<uint8_t>(plane), 0, static_cast<uint8_t>(node + 1));
  }

  // `count` packets of `size` bytes, a shorter last one when `last` is given; byte k of packet i is i.
  void send(Instant now, uint32_t count, uint32_t size = kSize, uint32_t last = 0, int plane = 0, uint16_t port = 50000,
            uint8_t dscp = 4, wire::Ecn ecn = wire::Ecn::kEct0, int node = 0) {
    data_.resize((count - 1) * size + (last != 0 ? last : size));
    for (size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<uint8_t>(i / size);
    burst_.flow.src = address(node, plane);
    burst_.flow.dst = address(1 - node, plane);
    burst_.flow.src_port = port;
    burst_.flow.traffic_class = static_cast<uint8_t>(dscp << 2 | static_cast<uint8_t>(ecn));
    burst_.plane = plane_at(plane);
    burst_.segments = count;
    burst_.segment_size = count == 1 ? static_cast<uint32_t>(data_.size()) : size;
    burst_.bytes = static_cast<uint32_t>(data_.size());
    // Two pieces that do not fall on a packet's edge: a burst is one run of bytes.
    const size_t cut = data_.size() / 3;
    burst_.iov_count = 2;
    burst_.iov[0] = {data_.data(), cut};
    burst_.iov[1] = {data_.data() + cut, data_.size() - cut};
    net_.send(now, node, burst_);
  }

  std::vector<Out> drain() {
    std::vector<Out> all;
    while (net_.next_delivery() < Instant::never()) {
      Out o;
      o.at = net_.next_delivery();
      EXPECT_FALSE(net_.take(o.at - Duration::nanoseconds(1)).has_value());
      o.d = net_.take(o.at).value();
      o.d.burst.data = o.d.bytes.data();
      all.push_back(std::move(o));
    }
    return all;
  }

  static Instant us(int64_t n) { return Instant::from_ns(n * 1000); }

  SimNet net_;
  core::TxBurst burst_;
  std::vector<uint8_t> data_;
};

TEST_F(SimNetTest, serialises_then_delays) {
  send(us(100), 3);
  const auto out = drain();
  ASSERT_EQ(out.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(out[i].at, us(106 + static_cast<int64_t>(i)));
    EXPECT_EQ(out[i].d.bytes, std::vector<uint8_t>(kSize, static_cast<uint8_t>(i)));
    EXPECT_EQ(out[i].d.node, 1);
    EXPECT_EQ(out[i].d.burst.flow.src_port, 50000);
  }
}

TEST_F(SimNetTest, planes_and_directions_do_not_share_a_link) {
  send(us(0), 1);
  send(us(0), 1, kSize, 0, 1);
  send(us(0), 1, kSize, 0, 0, 50000, 4, wire::Ecn::kEct0, 1);
  for (const Out& o : drain()) EXPECT_EQ(o.at, us(6));
}

TEST_F(SimNetTest, last_segment_may_be_shorter) {
  send(us(0), 3, kSize, 34);
  const auto out = drain();
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[2].d.bytes, std::vector<uint8_t>(34, 2));
  EXPECT_EQ((out[2].at - out[1].at).ns(), 100);  // 34 + 66 bytes
}

TEST_F(SimNetTest, queue_drops_what_exceeds_it) {
  net_.link(0).queue_bytes = 3000;
  send(us(0), 6);  // the fourth finds 3000 bytes waiting, the fifth 4000
  EXPECT_EQ(drain().size(), 4u);
  EXPECT_EQ(net_.counters().queue_drops, 2u);
}

TEST_F(SimNetTest, trim_cuts_and_marks_instead_of_dropping) {
  net_.link(0).queue_bytes = 3000;
  net_.link(0).trim = true;
  send(us(0), 6);
  auto out = drain();
  ASSERT_EQ(out.size(), 6u);
  EXPECT_EQ(net_.counters().trimmed, 2u);
  // They overtake what waits.
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(out[i].at, us(5));
    EXPECT_EQ(out[i].d.bytes, std::vector<uint8_t>(20, static_cast<uint8_t>(4 + i)));
    EXPECT_EQ(out[i].d.burst.flow.dscp(), 12);
    EXPECT_EQ(out[i].d.burst.flow.ecn(), wire::Ecn::kEct0);
  }
}

TEST_F(SimNetTest, control_packets_are_not_trimmed) {
  net_.link(0).queue_bytes = 0;
  net_.link(0).trim = true;
  send(us(0), 3, kSize, 0, 0, 50000, 46);
  EXPECT_EQ(drain().size(), 1u);
  EXPECT_EQ(net_.counters().trimmed, 0u);
  EXPECT_EQ(net_.counters().queue_drops, 2u);
}

TEST_F(SimNetTest, marks_above_the_threshold_where_marking_is_allowed) {
  net_.link(0).ecn_bytes = 2000;
  send(us(0), 5);
  const auto out = drain();
  ASSERT_EQ(out.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(out[i].d.burst.flow.ecn(), i < 3 ? wire::Ecn::kEct0 : wire::Ecn::kCe) << i;
  send(us(1000), 5, kSize, 0, 0, 50000, 4, wire::Ecn::kNotEct);
  for (const Out& o : drain()) EXPECT_EQ(o.d.burst.flow.ecn(), wire::Ecn::kNotEct);
}

TEST_F(SimNetTest, loss_has_its_rate_and_only_on_its_plane) {
  net_.link(0).loss = 0.25;
  for (int i = 0; i < 4000; ++i) send(us(i * 10), 1, 100);
  for (int i = 0; i < 100; ++i) send(us(i * 10), 1, 100, 0, 1);
  EXPECT_NEAR(static_cast<double>(net_.counters().lost), 1000, 120);
  EXPECT_EQ(drain().size(), 4100 - net_.counters().lost);
}

TEST_F(SimNetTest, burst_loss_takes_runs_of_its_length) {
  net_.link(0).burst_loss = 0.01;
  net_.link(0).burst_length = 7;
  std::vector<bool> arrived;
  for (int i = 0; i < 3000; ++i) {
    const uint64_t before = net_.counters().lost;
    send(us(i * 10), 1, 100);
    arrived.push_back(net_.counters().lost == before);
  }
  int runs = 0, length = 0;
  for (bool a : arrived) {
    if (!a) {
      ++length;
      continue;
    }
    EXPECT_EQ(length % 7, 0);
    runs += length > 0;
    length = 0;
  }
  EXPECT_GT(runs, 5);
}

TEST_F(SimNetTest, outage_covers_its_window_plane_and_sender) {
  net_.add_outage({0, 0, us(100), us(200)});
  send(us(99), 1);
  send(us(100), 1);
  send(us(199), 1);
  send(us(150), 1, kSize, 0, 1);                                 // another plane
  send(us(150), 1, kSize, 0, 0, 50000, 4, wire::Ecn::kEct0, 1);  // another sender
  send(us(200), 1);
  EXPECT_EQ(net_.counters().lost, 2u);
  EXPECT_EQ(drain().size(), 4u);
  net_.add_outage({-1, -1, us(300), us(400)});
  send(us(350), 1, kSize, 0, 1, 50000, 4, wire::Ecn::kEct0, 1);
  EXPECT_EQ(net_.counters().lost, 3u);
}

TEST_F(SimNetTest, one_bad_path) {
  net_.set_ev_loss(50001, 1.0);
  send(us(0), 2);
  send(us(0), 2, kSize, 0, 0, 50001);
  EXPECT_EQ(drain().size(), 2u);
}

TEST_F(SimNetTest, duplicates_arrive_twice_and_unchanged) {
  net_.link(0).duplicate = 1;
  send(us(0), 1);
  const auto out = drain();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].at, us(6));
  EXPECT_GE(out[1].at, us(6));
  EXPECT_EQ(out[0].d.bytes, out[1].d.bytes);
}

TEST_F(SimNetTest, reorder_holds_back_by_its_delay) {
  net_.link(0).reorder = 1;
  net_.link(0).reorder_delay = Duration::microseconds(70);
  send(us(0), 1);
  net_.link(0).reorder = 0;
  send(us(1), 1, 100);
  const auto out = drain();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].d.bytes.size(), 100u);
  EXPECT_EQ(out[1].at, us(76));
}

TEST_F(SimNetTest, jitter_stays_below_its_bound) {
  net_.link(0).jitter = Duration::microseconds(3);
  bool any = false;
  for (int i = 0; i < 200; ++i) {
    send(us(i * 100), 1);
    const auto out = drain();
    ASSERT_EQ(out.size(), 1u);
    const Duration extra = out[0].at - us(i * 100 + 6);
    EXPECT_GE(extra, Duration());
    EXPECT_LT(extra, Duration::microseconds(3));
    any |= extra > Duration::microseconds(2);
  }
  EXPECT_TRUE(any);
}

TEST_F(SimNetTest, corruption_changes_one_byte) {
  net_.link(0).corrupt = 1;
  for (int i = 0; i < 50; ++i) {
    send(us(i * 10), 1);
    const auto out = drain();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(std::count(out[0].d.bytes.begin(), out[0].d.bytes.end(), 0), kSize - 1);
  }
}

TEST_F(SimNetTest, coalesces_one_flow_and_size_as_gro_does) {
  net_.set_coalescing(true);
  net_.link(0).rate_bps = 8e15;  // everything arrives within a microsecond
  send(us(0), 20, kSize, 34);
  send(us(0), 2, kSize, 0, 0, 50001);
  std::vector<size_t> sizes;
  while (const auto d = net_.take(us(100))) {
    sizes.push_back(d->bytes.size());
    EXPECT_EQ(d->burst.bytes, d->bytes.size());
    EXPECT_EQ(d->burst.segment_size, kSize);
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{15 * kSize, 4 * kSize + 34, 2 * kSize}));
  EXPECT_EQ(net_.counters().delivered, 22u);
}

TEST_F(SimNetTest, unknown_destination_is_counted) {
  send(us(0), 1);
  burst_.flow.dst = IpAddress::v4(192, 0, 2, 1);
  net_.send(us(0), 0, burst_);
  EXPECT_EQ(net_.counters().unroutable, 1u);
  EXPECT_EQ(drain().size(), 1u);
}

TEST_F(SimNetTest, filter_chooses_what_vanishes) {
  net_.set_filter([](int, int, const wire::Flow&, const std::vector<uint8_t>& b) { return b[0] == 1; });
  send(us(0), 3);
  auto out = drain();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[1].d.bytes[0], 2);
}

TEST_F(SimNetTest, clear_faults__keeps_the_link) {
  LinkConfig& l = net_.link(0);
  l.loss = l.duplicate = l.corrupt = l.reorder = l.burst_loss = 1;
  net_.add_outage({-1, -1, us(0), us(1000)});
  net_.set_ev_loss(50000, 1);
  net_.set_filter([](int, int, const wire::Flow&, const std::vector<uint8_t>&) { return true; });
  send(us(0), 1);
  net_.clear_faults();
  send(us(10), 1);
  const auto out = drain();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].at, us(16));
  EXPECT_EQ(out[0].d.bytes, std::vector<uint8_t>(kSize, 0));
}

TEST_F(SimNetTest, injected_packets_arrive_as_given) {
  wire::Flow flow;
  flow.src_port = 7;
  net_.inject(us(3), 1, 1, flow, {1, 2, 3});
  const auto out = drain();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].at, us(3));
  EXPECT_EQ(out[0].d.burst.plane, 1_plane);
  EXPECT_EQ(out[0].d.burst.flow.src_port, 7);
  EXPECT_EQ(out[0].d.bytes, (std::vector<uint8_t>{1, 2, 3}));
}

class Seeded : public SimNetTest {
 public:
  explicit Seeded(uint64_t seed) : SimNetTest(seed) {}
  void TestBody() override {}
  std::vector<std::pair<int64_t, std::vector<uint8_t>>> story() {
    LinkConfig& l = net_.link(0);
    l.loss = l.duplicate = l.corrupt = l.reorder = 0.2;
    l.jitter = Duration::microseconds(9);
    for (int i = 0; i < 50; ++i) send(us(i), 2, 100);
    std::vector<std::pair<int64_t, std::vector<uint8_t>>> all;
    for (Out& o : drain()) all.emplace_back(o.at.ns(), o.d.bytes);
    return all;
  }
};

TEST(SimNetSeed, decides_everything) {
  EXPECT_EQ(Seeded(1).story(), Seeded(1).story());
  EXPECT_NE(Seeded(1).story(), Seeded(2).story());
}

}  // namespace
}  // namespace mrc::simnet
