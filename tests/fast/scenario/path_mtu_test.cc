// A path MTU that falls while data flow: without any report, small packets still pass. [MRC-MTU-1..5]
#include "scenario/pair.h"

namespace mrc::scenario {
namespace {

// UDP payload that a path with an IPv6 MTU of 1500 carries: path MTU 1024.
constexpr size_t kNarrow = 1452;

// Retries for about 300 ms: longer than searches of all planes take.
QpAttr short_budget() {
  QpAttr attr;
  attr.timeout = 14;
  attr.retry_linear = 3;
  attr.retry_exp = 3;
  return attr;
}

struct World : Pair {
  explicit World(const QpAttr& attr = {}) : Pair({}, attr, 1 << 20) {}
  // From now on these planes carry only small packets, both ways.
  void narrow(uint32_t planes) {
    fabric.net().set_filter([planes](int, int plane, const wire::Flow&, const std::vector<uint8_t>& bytes) {
      return (planes >> plane & 1) != 0 && bytes.size() > kNarrow;
    });
  }
  // A message of 64 KiB each millisecond.
  void keep_writing(Duration time) {
    const Instant end = fabric.now() + time;
    while (fabric.now() < end) {
      write(next_id_, (next_id_ % 10) * 65536, 65536);
      ++next_id_;
      pass(Duration::milliseconds(1));
    }
  }

 private:
  uint64_t next_id_ = 0;
};

// [MRC-MTU-4] [MRC-MTU-5]
TEST(PathMtu, a_qp_whose_packets_pass_nowhere_fails_after_its_retries_and_new_ones_are_offered_less) {
  World w(short_budget());
  ASSERT_EQ(w.write(1, 0, 500000), PostResult::kOk);
  ASSERT_TRUE(w.until_sends(1));
  EXPECT_EQ(w.fabric.at(0).found_path_mtu(w.fabric.now()), UINT32_MAX);
  w.narrow(0xF);
  const Instant fell = w.fabric.now();
  ASSERT_EQ(w.write(2, 0, 500000), PostResult::kOk);
  ASSERT_TRUE(w.until_sends(2, Duration::seconds(3)));
  EXPECT_LT(w.fabric.now() - fell, Duration::seconds(1));
  EXPECT_EQ(w.sends()[1].status, WcStatus::kPathMtu);
  EXPECT_EQ(w.state(0), QpState::kError);
  EXPECT_EQ(w.counters(0).mtu_failures, 1u);
  EXPECT_EQ(w.fabric.at(0).found_path_mtu(w.fabric.now()), 1024u);

  QpAttr less;
  less.path_mtu = 1024;
  const Link link = w.fabric.connect(0, 1, less);
  ASSERT_EQ(w.fabric.write(0, link.qa, 3, w.source.data(), 500000, w.lkey, w.target.data(), w.rkey), PostResult::kOk);
  ASSERT_TRUE(w.until_sends(3));
  EXPECT_EQ(w.sends()[2].status, WcStatus::kSuccess);
  EXPECT_TRUE(w.arrived(0, 500000));
  for (uint8_t plane = 0; plane < 4; ++plane)
    EXPECT_GT(w.fabric.at(0).plane_counters(PlaneId(plane)).tx_bytes, 200000u);
  EXPECT_EQ(w.fabric.at(0).found_path_mtu(w.fabric.now() + Duration::seconds(700)), UINT32_MAX);
}

// A QP of the old size that is made afterwards learns it at once instead of by another search.
TEST(PathMtu, a_later_qp_of_the_old_size_fails_too) {
  World w(short_budget());
  w.narrow(0xF);
  w.write(1, 0, 100000);
  ASSERT_TRUE(w.until_sends(1, Duration::seconds(3)));
  const Link link = w.fabric.connect(0, 1, short_budget());
  w.fabric.write(0, link.qa, 2, w.source.data(), 100000, w.lkey, w.target.data(), w.rkey);
  ASSERT_TRUE(w.until_sends(2, Duration::seconds(1)));
  EXPECT_EQ(w.sends()[1].status, WcStatus::kPathMtu);
}

// The plane is known to be narrow when an interface refuses a packet there: the other planes come under suspicion, and
// their searches begin at once.
TEST(PathMtu, a_refused_packet_on_a_narrow_plane_searches_the_others_at_once) {
  World w;
  w.narrow(1 << 2);
  w.keep_writing(Duration::milliseconds(1000));
  for (int i = 0; i < 100; ++i) {
    w.keep_writing(Duration::milliseconds(10));
    w.fabric.at(0).on_packet_too_long(w.fabric.now(), 2_plane, w.fabric.describe(1).planes[2].addr);
  }
  for (const Completion& c : w.sends()) ASSERT_EQ(c.status, WcStatus::kSuccess);
}

// Small messages go on.
TEST(PathMtu, qps_with_small_packets_survive) {
  World w(short_budget());
  const Link small = w.fabric.connect(0, 1);
  w.narrow(0xF);
  w.write(1, 0, 100000);
  ASSERT_TRUE(w.until_sends(1, Duration::seconds(3)));
  EXPECT_EQ(w.sends()[0].status, WcStatus::kPathMtu);
  w.fabric.write(0, small.qa, 2, w.source.data(), 1000, w.lkey, w.target.data(), w.rkey);
  ASSERT_TRUE(w.until_sends(2));
  EXPECT_EQ(w.sends()[1].status, WcStatus::kSuccess);
}

// [MRC-MTU-3]: nothing fails, and the plane is not taken back for small packets that pass.
TEST(PathMtu, a_narrow_plane_is_left_where_others_carry_full_packets_and_comes_back) {
  World w;
  w.narrow(1 << 2);
  w.keep_writing(Duration::milliseconds(1500));
  const uint64_t before = w.fabric.at(0).plane_counters(2_plane).tx_bytes, lost = w.counters(0).retransmits;
  w.keep_writing(Duration::milliseconds(1000));
  EXPECT_LT(w.fabric.at(0).plane_counters(2_plane).tx_bytes - before, 200000u);  // searches, no data
  EXPECT_LT(w.counters(0).retransmits - lost, 20u);
  EXPECT_EQ(w.state(0), QpState::kRts);
  EXPECT_EQ(w.fabric.at(0).found_path_mtu(w.fabric.now()), UINT32_MAX);
  w.fabric.net().set_filter(nullptr);
  w.keep_writing(Duration::seconds(9));
  const uint64_t back = w.fabric.at(0).plane_counters(2_plane).tx_bytes;
  w.keep_writing(Duration::milliseconds(500));
  EXPECT_GT(w.fabric.at(0).plane_counters(2_plane).tx_bytes - back, 4000000u);
  EXPECT_EQ(w.counters(0).mtu_failures, 0u);
}

// [MRC-MTU-1]: the driver reports it at the first packet.
TEST(PathMtu, a_packet_that_the_driver_refuses_starts_the_search) {
  World w(short_budget());
  w.narrow(0xF);
  ASSERT_EQ(w.write(1, 0, 100000), PostResult::kOk);
  w.fabric.pump();
  for (uint8_t plane = 0; plane < 4; ++plane)
    w.fabric.at(0).on_packet_too_long(w.fabric.now(), PlaneId(plane), w.fabric.describe(1).planes[plane].addr);
  EXPECT_EQ(w.counters(0).tx_too_long, 4u);
  EXPECT_EQ(w.counters(0).mtu_searches, 4u);
  ASSERT_TRUE(w.until_sends(1, Duration::seconds(1)));
  EXPECT_EQ(w.sends()[0].status, WcStatus::kPathMtu);
}

// All planes are narrow for a while, known to be so, and become wide again before the retries are exhausted
// [MRC-MTU-4].
TEST(PathMtu, a_dip_that_is_shorter_than_the_retries_is_survived) {
  for (const int seconds : {1, 5, 20}) {
    World w;
    ASSERT_EQ(w.write(1, 0, 500000), PostResult::kOk);
    w.pass(Duration::microseconds(20));
    w.narrow(0xF);
    ASSERT_EQ(w.write(2, 500000, 500000), PostResult::kOk);
    w.pass(Duration::seconds(seconds));
    EXPECT_EQ(w.fabric.at(0).found_path_mtu(w.fabric.now()), 1024u) << "not found out";
    EXPECT_EQ(w.state(0), QpState::kRts);
    w.fabric.net().set_filter(nullptr);
    ASSERT_TRUE(w.until_sends(2, Duration::seconds(60))) << seconds;
    EXPECT_TRUE(w.all_ok(2));
    EXPECT_TRUE(w.arrived(0, 1000000));
    EXPECT_EQ(w.counters(0).mtu_failures, 0u);
  }
}

// Loss takes small and full probes alike, and full ones that pass clear the suspicion.
TEST(PathMtu, loss_alone_is_not_taken_for_it) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    FabricConfig c;
    c.seed = seed;
    Pair p(c);
    for (int plane = 0; plane < 4; ++plane) p.fabric.net().link(plane).loss = 0.3;
    for (uint64_t i = 0; i < 32; ++i) ASSERT_EQ(p.write(i, (i % 16) * 65536, 65536), PostResult::kOk);
    ASSERT_TRUE(p.until_sends(32, Duration::seconds(100)));
    EXPECT_TRUE(p.all_ok(32)) << seed;
    EXPECT_EQ(p.fabric.at(0).found_path_mtu(p.fabric.now()), UINT32_MAX);
  }
}

// A failed network is not a narrow one.
TEST(PathMtu, silence_is_left_to_the_retries) {
  World w;
  w.fabric.net().add_outage({-1, -1, w.fabric.now(), w.fabric.now() + Duration::seconds(5)});
  ASSERT_EQ(w.write(1, 0, 100000), PostResult::kOk);
  w.pass(Duration::seconds(5));
  EXPECT_EQ(w.state(0), QpState::kRts);
  ASSERT_TRUE(w.until_sends(1));
  EXPECT_TRUE(w.all_ok(1));
}

}  // namespace
}  // namespace mrc::scenario
