// Requirements on every datapath: the contract of datapath.h, one test each. [MRC-UDP-2]
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <map>
#include <set>

#include "conformance_rigs.h"
#include "udp_fixture.h"

namespace mrc::datapath {
namespace {

class Conformance : public ::testing::TestWithParam<RigKind> {
 protected:
  void SetUp() override {
    GetParam().make(&rig_);
    ASSERT_NE(rig_.a.datapath, nullptr);
    ASSERT_NE(rig_.b.datapath, nullptr);
  }
  Datapath& a() { return *rig_.a.datapath; }
  Datapath& b() { return *rig_.b.datapath; }
  uint16_t evs() const { return static_cast<uint16_t>(rig_.a.evs.size()); }
  uint32_t max_segments() { return std::min(a().max_segments(), a().max_burst_bytes() / 1000); }

  static void address(core::TxBurst* burst, const Rig::End& from, const Rig::End& to, EvIndex ev) {
    const core::EvEntry& entry = from.evs[ev];
    burst->plane = entry.plane;
    burst->ev_index = ev;
    burst->flow.src = from.planes[entry.plane.value()].addr;
    burst->flow.dst = to.planes[entry.plane.value()].addr;
    burst->flow.src_port = static_cast<uint16_t>(entry.value);
    burst->flow.dst_port = to.planes[entry.plane.value()].port;
    burst->flow.flow_label = burst->flow.dst.is_v4() ? 0 : entry.value >> 16;
    burst->flow.traffic_class = 0;
  }
  void send(const Rig::End& from, const core::TxBurst& burst) {
    offer(from, burst);
    from.datapath->flush();
  }
  // When there is room: a datapath may be full for a while, never for ever.
  void offer(const Rig::End& from, const core::TxBurst& burst) {
    for (int tries = 0; tries < harness::limit_ms(1000); ++tries) {
      if (from.datapath->tx_one(now(), burst)) return;
      wait(*from.datapath, 20);
    }
    FAIL() << "no room for ever";
  }
  static std::vector<pollfd> descriptors(const Datapath& datapath) {
    int fds[64];
    const int n = datapath.wait_fds(fds, 64);
    std::vector<pollfd> list;
    for (int i = 0; i < n; ++i) list.push_back({fds[i], POLLIN, 0});
    return list;
  }
  // Until it is worth asking again, by descriptors or by the datapath's own wish. False: nothing to wait for.
  static bool wait(Datapath& datapath, int max_ms) {
    datapath.before_wait();
    std::vector<pollfd> fds = descriptors(datapath);
    if (!fds.empty()) return ::poll(fds.data(), fds.size(), max_ms) > 0;
    if (datapath.next_timeout() == Instant::never()) return false;
    ::usleep(1000);
    return true;
  }
  // `packets` packets, or what has come when nothing does for long. Both ends are asked: what a driver does for
  // the other one, such as answering for its address, it does when it is called.
  std::vector<Got> take(Datapath& datapath, uint64_t packets, int batch = 8) {
    std::vector<Got> all;
    std::vector<core::RxBurst> bursts(static_cast<size_t>(batch));
    Datapath& other = &datapath == &a() ? b() : a();
    int idle = 0;
    for (uint64_t got = 0; got < packets && idle < harness::limit_ms(kMaxIdle);) {
      other.tx_burst(now(), nullptr, 0);
      const int n = datapath.rx_burst(now(), bursts.data(), batch);
      EXPECT_LE(n, batch);
      for (int i = 0; i < n; ++i) {
        const core::RxBurst& r = bursts[static_cast<size_t>(i)];
        all.push_back({r.flow, r.plane, r.segment_size, {r.data, r.data + r.bytes}});
        got += r.segments();
      }
      idle = n > 0 ? 0 : idle + 1;
      if (n == 0 && !wait(datapath, harness::limit_ms(kMaxIdle))) break;
    }
    return all;
  }

  static constexpr int kMaxIdle = 2000;  // milliseconds; a wait of a datapath without descriptors takes one
  Rig rig_;
};

TEST_P(Conformance, bursts_of_every_length_arrive_unchanged) {
  for (uint32_t segments = 1; segments <= max_segments(); segments = segments * 2 + 1) {
    for (uint32_t last : {1000u, 64u}) {
      TestBurst t(segments, segments == 1 ? last : 1000, last, segments + last);
      address(&t.burst, rig_.a, rig_.b, 0_ev);
      send(rig_.a, t.burst);
      EXPECT_EQ(joined(take(b(), segments)), t.payload) << segments << " segments, the last of " << last;
    }
  }
}

TEST_P(Conformance, packets_of_every_size) {
  for (uint32_t size : {1u, 16u, 64u, 1000u, rig_.largest_packet}) {
    TestBurst t(1, size, size, size);
    address(&t.burst, rig_.a, rig_.b, 1_ev);
    send(rig_.a, t.burst);
    const std::vector<Got> got = take(b(), 1);
    ASSERT_EQ(got.size(), 1u) << size;
    EXPECT_EQ(got[0].bytes, t.payload);
    EXPECT_EQ(got[0].segment_size, size);
  }
}

TEST_P(Conformance, every_entropy_value_arrives_on_its_plane_and_can_be_echoed) {
  std::set<std::pair<PlaneId, uint32_t>> seen;
  for (const EvIndex ev : rig_.a.evs.ids()) {
    TestBurst t(1, 200, 200, ev.value());
    address(&t.burst, rig_.a, rig_.b, ev);
    send(rig_.a, t.burst);
    const std::vector<Got> got = take(b(), 1);
    ASSERT_EQ(got.size(), 1u) << "EV " << ev << "\n" << a().describe() << b().describe();
    EXPECT_EQ(got[0].plane, rig_.a.evs[ev].plane);
    EXPECT_EQ(got[0].flow.src, t.burst.flow.src);
    EXPECT_EQ(got[0].flow.dst, t.burst.flow.dst);
    EXPECT_EQ(got[0].flow.src_port, t.burst.flow.src_port);
    EXPECT_EQ(got[0].flow.dst_port, t.burst.flow.dst_port);
    if (rig_.carries_labels) {
      EXPECT_EQ(wire::ev_of(got[0].flow), rig_.a.evs[ev].value);
    }
    seen.insert({got[0].plane, wire::ev_of(got[0].flow)});
  }
  EXPECT_EQ(seen.size(), evs());
}

TEST_P(Conformance, traffic_class_and_ecn_arrive) {
  for (uint8_t traffic_class : {0, 46 << 2, 4 << 2 | 1, 4 << 2 | 2, 4 << 2 | 3}) {
    TestBurst t(1, 300, 300, traffic_class);
    address(&t.burst, rig_.a, rig_.b, 0_ev);
    t.burst.flow.traffic_class = traffic_class;
    send(rig_.a, t.burst);
    const std::vector<Got> got = take(b(), 1);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].flow.traffic_class, traffic_class);
  }
}

TEST_P(Conformance, both_directions_do_not_mix) {
  TestBurst there(1, 500, 500, 1), back(1, 500, 500, 2);
  address(&there.burst, rig_.a, rig_.b, 0_ev);
  address(&back.burst, rig_.b, rig_.a, 0_ev);
  send(rig_.a, there.burst);
  send(rig_.b, back.burst);
  EXPECT_EQ(joined(take(b(), 1)), there.payload);
  EXPECT_EQ(joined(take(a(), 1)), back.payload);
}

TEST_P(Conformance, the_packets_of_one_path_keep_their_order) {
  constexpr uint32_t kBursts = 300;
  std::map<uint16_t, std::vector<uint8_t>> sent, got;
  const uint32_t segments = std::min<uint32_t>(max_segments(), 4);
  for (uint32_t i = 0; i < kBursts; ++i) {
    TestBurst t(segments, 500, 500, i);
    address(&t.burst, rig_.a, rig_.b, ev_at(i % evs()));
    send(rig_.a, t.burst);
    std::vector<uint8_t>& path = sent[t.burst.flow.src_port];
    path.insert(path.end(), t.payload.begin(), t.payload.end());
    if (i % 10 != 9) continue;  // few enough to wait in any receive buffer
    for (const Got& g : take(b(), uint64_t{10} * segments)) {
      std::vector<uint8_t>& arrived = got[g.flow.src_port];
      arrived.insert(arrived.end(), g.bytes.begin(), g.bytes.end());
    }
  }
  EXPECT_EQ(got, sent);
  EXPECT_EQ(a().counters().tx_errors, 0u);
}

// Rounds of one flush each, more bytes than any ring holds.
TEST_P(Conformance, packets_of_mixed_sizes_arrive_unchanged_in_rounds) {
  constexpr uint32_t kRoundsOfTwelve = 200, kPackets = 12;
  for (uint32_t round = 0; round < kRoundsOfTwelve; ++round) {
    std::multiset<std::vector<uint8_t>> sent, got;
    for (uint32_t i = 0; i < kPackets; ++i) {
      const uint32_t size = i % 3 == 0 ? 60 + round : rig_.largest_packet - 7 * i - round;
      TestBurst t(1, size, size, round * kPackets + i);
      address(&t.burst, rig_.a, rig_.b, ev_at(i % evs()));
      offer(rig_.a, t.burst);
      sent.insert(t.payload);
    }
    a().flush();
    for (const Got& g : take(b(), kPackets)) got.insert(g.bytes);
    ASSERT_EQ(got, sent) << "round " << round;
  }
}

TEST_P(Conformance, packets_composed_where_the_datapath_shows_arrive_unchanged_beside_others) {
  std::multiset<std::vector<uint8_t>> sent, got;
  constexpr uint32_t kPackets = 30;
  for (uint32_t i = 0; i < kPackets; ++i) {
    const uint32_t size = rig_.largest_packet - 100 * i;
    TestBurst t(1, size, size, i);
    address(&t.burst, rig_.a, rig_.b, ev_at(i % evs()));
    uint8_t* const room = a().staging();
    if (room != nullptr && i % 3 != 2) {
      std::copy(t.payload.begin(), t.payload.end(), room);
      t.burst.iov[0] = {room, size};
      t.burst.iov_count = 1;
    }
    offer(rig_.a, t.burst);
    if (room != nullptr) std::memset(a().staging(), 0xEE, size);  // the next packet's
    sent.insert(t.payload);
  }
  a().flush();
  for (const Got& g : take(b(), kPackets)) got.insert(g.bytes);
  EXPECT_EQ(got, sent);
}

TEST_P(Conformance, a_call_without_bursts_passes_on_what_was_kept_back) {
  TestBurst t(1, 100, 100, 1);
  address(&t.burst, rig_.a, rig_.b, 0_ev);
  offer(rig_.a, t.burst);
  EXPECT_EQ(a().tx_burst(now(), nullptr, 0), 0);
  EXPECT_EQ(joined(take(b(), 1)), t.payload);
}

TEST_P(Conformance, counters_agree_with_what_was_moved) {
  const uint32_t segments = std::min<uint32_t>(max_segments(), 3);
  uint64_t bytes = 0;
  for (const EvIndex ev : rig_.a.evs.ids()) {
    TestBurst t(segments, 700, 70, ev.value());
    if (segments == 1) t.burst.segment_size = t.burst.bytes;
    address(&t.burst, rig_.a, rig_.b, ev);
    send(rig_.a, t.burst);
    bytes += t.burst.bytes;
  }
  take(b(), uint64_t{evs()} * segments);
  EXPECT_EQ(a().counters().tx_bursts, evs());
  EXPECT_EQ(a().counters().tx_packets, uint64_t{evs()} * segments);
  EXPECT_EQ(a().counters().tx_bytes, bytes);
  EXPECT_EQ(b().counters().rx_packets, uint64_t{evs()} * segments);
  EXPECT_EQ(b().counters().rx_bytes, bytes);
  EXPECT_EQ(b().counters().rx_errors, 0u);
}

TEST_P(Conformance, no_more_than_asked_for_and_nothing_when_empty) {
  core::RxBurst none;
  EXPECT_EQ(b().rx_burst(now(), &none, 1), 0);
  for (uint32_t i = 0; i < 5; ++i) {
    TestBurst t(1, 100, 100, i);
    address(&t.burst, rig_.a, rig_.b, 0_ev);
    send(rig_.a, t.burst);
  }
  EXPECT_EQ(joined(take(b(), 5, 1)).size(), 500u);
  EXPECT_EQ(b().rx_burst(now(), &none, 1), 0);
}

TEST_P(Conformance, descriptors_stay_and_tell_of_packets) {
  std::vector<pollfd> fds = descriptors(b());
  if (fds.empty()) return;  // a datapath without descriptors is polled by who drives it
  b().before_wait();
  EXPECT_EQ(::poll(fds.data(), fds.size(), 0), 0);
  TestBurst t(1, 100, 100, 9);
  address(&t.burst, rig_.a, rig_.b, 0_ev);
  send(rig_.a, t.burst);
  EXPECT_EQ(::poll(fds.data(), fds.size(), harness::limit_ms(kMaxIdle)), rig_.told_by);
  take(b(), 1);
  core::RxBurst none;
  EXPECT_EQ(b().rx_burst(now(), &none, 1), 0);
  b().before_wait();
  EXPECT_EQ(::poll(fds.data(), fds.size(), 0), 0);
  const std::vector<pollfd> again = descriptors(b());
  ASSERT_EQ(again.size(), fds.size());
  for (size_t i = 0; i < fds.size(); ++i) EXPECT_EQ(again[i].fd, fds[i].fd);
}

TEST_P(Conformance, planes_have_room_and_nothing_to_send_is_fine) {
  EXPECT_EQ(a().planes_with_room(), PlaneSet::all(rig_.a.planes.size()));
  EXPECT_EQ(a().tx_burst(now(), nullptr, 0), 0);
}

TEST_P(Conformance, limits_are_within_a_burst) {
  EXPECT_GE(a().max_segments(), 1u);
  EXPECT_LE(a().max_segments(), core::kMaxSegments);
  EXPECT_GE(a().max_burst_bytes(), rig_.largest_packet);
  EXPECT_LE(a().max_burst_bytes(), core::kMaxBurstBytes);
  EXPECT_FALSE(a().describe().empty());
}

INSTANTIATE_TEST_SUITE_P(every, Conformance, ::testing::ValuesIn(rigs()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace mrc::datapath
