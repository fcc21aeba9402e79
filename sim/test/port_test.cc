// One port alone: what a switch does to packets that wait.
#include "sim/model/port.h"

#include <gtest/gtest.h>

#include <functional>

namespace mrc::sim {
namespace {

struct Sink : Receiver {
  struct Arrival {
    Ps at;
    TrafficClass tc;
    uint32_t bytes;
    uint8_t traffic_class;
  };
  PacketPool* pool = nullptr;
  std::vector<Arrival> arrivals;
  void receive(Packet* p, uint16_t) override {
    arrivals.push_back({now_ps(), p->tc, p->bytes, p->flow.traffic_class});
    pool->give(p);
  }
};

class PortTest : public testing::Test {
 protected:
  static constexpr uint32_t kBytes = 1250;  // 100 ns at 100 Gb/s
  PortTest() {
    prepare_simulator();
    sink_.pool = &pool_;
  }
  Port& make(const QueueConfig& q) {
    port_ = std::make_unique<Port>(&pool_, &rng_, 100e9, 1000 * kPsPerNs, q);
    port_->connect(&sink_, 0);
    return *port_;
  }
  Packet* packet(TrafficClass tc = TrafficClass::kData, bool trimmable = true) {
    Packet* p = pool_.take();
    p->flow = wire::Flow();
    p->flow.traffic_class = 4 << 2 | 2;  // TRIMMABLE, ECT(0)
    p->bytes = kBytes;
    p->udp_bytes = kBytes - 40;
    p->tc = tc;
    p->trimmable = trimmable;
    return p;
  }
  // Runs `f` at time 0, then all following events.
  void run(const std::function<void()>& f) {
    schedule_in(0, f);
    run_simulator();
    destroy_simulator();
  }
  int arrived(TrafficClass tc) const {
    int n = 0;
    for (const auto& a : sink_.arrivals) n += a.tc == tc;
    return n;
  }

  PacketPool pool_;
  Rng rng_{1};
  Sink sink_;
  std::unique_ptr<Port> port_;
};

TEST_F(PortTest, serialises_and_propagates) {
  Port& port = make({});
  run([&] {
    for (int i = 0; i < 3; ++i) port.enqueue(packet());
  });
  ASSERT_EQ(sink_.arrivals.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sink_.arrivals[static_cast<size_t>(i)].at, (1100 + 100 * i) * kPsPerNs);
  EXPECT_EQ(pool_.live(), 0);
}

TEST_F(PortTest, control_passes_waiting_data) {
  Port& port = make({});
  run([&] {
    for (int i = 0; i < 3; ++i) port.enqueue(packet());
    port.enqueue(packet(TrafficClass::kControl));
  });
  EXPECT_EQ(sink_.arrivals[1].tc, TrafficClass::kControl);
}

TEST_F(PortTest, trims_beyond_its_limit_and_says_where_it_happened) {
  QueueConfig q;
  q.trimming = true;
  q.last_hop = true;
  q.trim_bytes = 64;
  q.data_limit = 2 * kBytes;
  Port& port = make(q);
  run([&] {
    for (int i = 0; i < 5; ++i) port.enqueue(packet());  // one leaves at once, two wait, two are cut
  });
  EXPECT_EQ(arrived(TrafficClass::kData), 3);
  EXPECT_EQ(arrived(TrafficClass::kTrimmed), 2);
  EXPECT_EQ(port.counters().trimmed, 2u);
  for (const auto& a : sink_.arrivals)
    if (a.tc == TrafficClass::kTrimmed) {
      EXPECT_EQ(a.bytes, 64u);
      EXPECT_EQ(a.traffic_class >> 2, q.trimmed_lasthop_dscp);
    }
}

TEST_F(PortTest, drops_what_may_not_be_trimmed_beyond_the_drop_limit) {
  QueueConfig q;
  q.trimming = true;
  q.data_limit = 2 * kBytes;
  q.drop_limit = 3 * kBytes;
  Port& port = make(q);
  run([&] {
    for (int i = 0; i < 6; ++i) port.enqueue(packet(TrafficClass::kData, false));
  });
  EXPECT_EQ(arrived(TrafficClass::kData), 4);
  EXPECT_EQ(port.counters().queue_drops, 2u);
}

TEST_F(PortTest, marks_at_dequeue_by_the_queue_that_is_left_behind) {
  QueueConfig q;
  q.ecn_min = q.ecn_max = 2 * kBytes;
  Port& port = make(q);
  run([&] {
    for (int i = 0; i < 6; ++i) port.enqueue(packet());
  });
  // The first leaves an empty queue behind, then four, three, two, one, none wait.
  std::vector<bool> marked;
  for (const auto& a : sink_.arrivals) marked.push_back((a.traffic_class & 3) == 3);
  EXPECT_EQ(marked, (std::vector<bool>{false, true, true, false, false, false}));
}

TEST_F(PortTest, a_link_that_goes_down_loses_what_is_on_it_and_takes_nothing) {
  Port& port = make({});
  run([&] {
    for (int i = 0; i < 4; ++i) port.enqueue(packet());
    port.set_up(false);
    port.enqueue(packet());
    port.set_up(true);
    port.enqueue(packet());
  });
  EXPECT_EQ(sink_.arrivals.size(), 1u);
  EXPECT_EQ(port.counters().lost_down, 5u);
  EXPECT_EQ(pool_.live(), 0);
}

// 100 ns a packet on the line, 1 us on the wire, then 300 ns inside the switch.
TEST_F(PortTest, a_switch_keeps_what_it_has_received_when_its_link_goes_down) {
  Port& port = make({});
  port.connect(&sink_, 0, 300 * kPsPerNs);
  run([&] {
    for (int i = 0; i < 4; ++i) port.enqueue(packet());
    schedule_in(1250 * kPsPerNs, [&] {
      port.set_up(false);
      port.set_up(true);
      port.enqueue(packet());
    });
  });
  ASSERT_EQ(sink_.arrivals.size(), 3u);
  EXPECT_EQ(sink_.arrivals[0].at, 1400 * kPsPerNs);
  EXPECT_EQ(sink_.arrivals[1].at, 1500 * kPsPerNs);
  EXPECT_EQ(sink_.arrivals[2].at, 2650 * kPsPerNs);
  EXPECT_EQ(port.counters().lost_down, 2u);
  EXPECT_EQ(pool_.live(), 0);
}

TEST_F(PortTest, pause_holds_data_but_not_control) {
  Port& port = make({});
  run([&] {
    port.set_paused(true);
    port.enqueue(packet());
    port.enqueue(packet(TrafficClass::kControl));
    schedule_in(10 * kPsPerUs, [&] { port.set_paused(false); });
  });
  ASSERT_EQ(sink_.arrivals.size(), 2u);
  EXPECT_EQ(sink_.arrivals[0].tc, TrafficClass::kControl);
  EXPECT_GE(sink_.arrivals[1].at, 10 * kPsPerUs);
}

TEST_F(PortTest, loss_takes_its_share) {
  Port& port = make({});
  port.set_loss(0.1);
  run([&] {
    for (int i = 0; i < 10000; ++i) port.enqueue(packet());
  });
  EXPECT_NEAR(static_cast<double>(port.counters().lost), 1000, 100);
}

}  // namespace
}  // namespace mrc::sim
