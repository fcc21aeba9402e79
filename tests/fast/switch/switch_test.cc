// A whole switch in virtual time, and the configuration that a fabric file makes of it
// [MRC-SW-CHOICE-4].
#include "switch.h"

#include <gtest/gtest.h>

#include "frames.h"
#include "lab.h"
#include "setup.h"

namespace mrc::softswitch {
namespace {

Instant us(int64_t n) {
  return Instant::from_ns(n * 1000);
}

// T0 number 0 of plane 0: ports h0, h1 (to hosts), t1-0, t1-1.
class SwitchTest : public testing::Test {
 protected:
  SwitchTest()
      : topology_(fabric::fabric_of("name: two\nplanes: 2\nt0: 2\nt1: 2\nnics_per_t0: 2\nmtu: 2048\n"
                                    "nic_link: {rate: 100G, delay: 500ns}\n"
                                    "switch: {queue_last_hop: 3000, trim_bytes: 128}\nlab: {rate_scale: 0.01}\n")),
        node_(fabric::node_config(topology_, topology_.node("p0-t0-0"))),
        config_(switch_config(topology_, node_)),
        switch_(config_, &pool_) {
    add_routes(node_, config_, &switch_.forwarding());
  }
  Frame* to(const std::string& destination, uint32_t bytes = kBytes, uint8_t hop_limit = 64) {
    FrameSpec s;
    s.from = "fd00:1:1::1";  // h2
    s.to = destination;
    s.hop_limit = hop_limit;
    s.payload = bytes - kEthernetHeader - kIpHeader - kUdpHeader;
    return put(&pool_, bytes_of(s));
  }
  uint16_t port(const std::string& name) {
    for (size_t i = 0; i < config_.ports.size(); ++i)
      if (config_.ports[i].name == name) return static_cast<uint16_t>(i);
    return UINT16_MAX;
  }
  std::vector<Frame*> run(Instant until) {
    std::vector<Frame*> left;
    switch_.run(until, &left);
    return left;
  }

  const fabric::Topology topology_;
  const fabric::NodeConfig node_;
  const SwitchConfig config_;
  FramePool pool_{10000, 10000};
  Switch switch_;
};

TEST_F(SwitchTest, takes_queues_and_rates_from_the_fabric) {
  ASSERT_EQ(config_.ports.size(), 4u);
  const PortConfig& host = config_.ports[port("h0")];
  const PortConfig& spine = config_.ports[port("t1-0")];
  EXPECT_EQ(host.rate, 1e9);
  EXPECT_TRUE(host.queue.last_hop);
  EXPECT_FALSE(spine.queue.last_hop);
  EXPECT_EQ(host.queue.data_limit, 3000);
  const double bdp = topology_.spec().plane_bdp();
  EXPECT_NEAR(static_cast<double>(spine.queue.data_limit), bdp, 1);
  EXPECT_NEAR(static_cast<double>(spine.queue.ecn_min), 0.2 * bdp, 1);
  EXPECT_EQ(host.queue.ecn_min, INT64_MAX) << "no marks at the last hop";
  EXPECT_EQ(host.queue.trim_bytes, 104u) << "without preamble, check sequence and gap";
  EXPECT_EQ(host.peer_mac, (Mac{0x02, 0x00, 0, 0, 0, 0}));
}

TEST_F(SwitchTest, forwards_up_and_down_with_the_neighbours_addresses) {
  switch_.receive(to("fcbb:bb00:400:c01::"), port("t1-1"), us(100));
  switch_.receive(to("fd00:1:1::1"), port("h0"), us(100));
  EXPECT_EQ(switch_.next_event(), us(100));
  const std::vector<Frame*> left = run(us(110));
  ASSERT_EQ(left.size(), 2u);
  for (const Frame* f : left) {
    const PortConfig& out = config_.ports[f->port];
    EXPECT_EQ(out.name, f->port == port("h1") ? "h1" : "t1-1") << "h2 is below T0 1, whose T1 is number 1";
    EXPECT_TRUE(std::equal(out.peer_mac.begin(), out.peer_mac.end(), f->data));
    EXPECT_TRUE(std::equal(out.own_mac.begin(), out.own_mac.end(), f->data + 6));
  }
  EXPECT_EQ(switch_.next_event(), Instant::never());
}

// Eight frames that the sender's kernel hands over at once arrive one after the other, so nothing is trimmed.
TEST_F(SwitchTest, a_burst_of_one_link_is_a_train) {
  for (int i = 0; i < 8; ++i) switch_.receive(to("fd00:1::1"), port("t1-0"), us(100));
  EXPECT_EQ(run(us(109)).size(), 0u);
  EXPECT_EQ(run(us(1000)).size(), 8u);
  EXPECT_EQ(switch_.egress(port("h0")).counters().max_queue, 0);
}

TEST_F(SwitchTest, two_links_into_one_fill_the_queue_and_are_trimmed) {
  for (int i = 0; i < 20; ++i)
    for (const char* from : {"t1-0", "t1-1"}) switch_.receive(to("fd00:1::1"), port(from), us(100));
  const std::vector<Frame*> left = run(us(10000));
  EXPECT_EQ(left.size(), 40u);
  const PortCounters& c = switch_.egress(port("h0")).counters();
  EXPECT_GT(c.trimmed, 10u);
  EXPECT_EQ(c.data_packets + c.trimmed, 40u);
  EXPECT_LE(c.max_queue, 3000);
  uint64_t last_hop = 0;
  for (const Frame* f : left) last_hop += traffic_class(*f) >> 2 == 16;
  EXPECT_EQ(last_hop, c.trimmed);
}

// The process may look late; what it does then is what it would have done in time.
TEST_F(SwitchTest, lateness_changes_nothing) {
  const auto pass = [&](bool late) {
    FramePool pool(10000, 10000);
    Switch s(config_, &pool);
    add_routes(node_, config_, &s.forwarding());
    std::vector<Frame*> left;
    for (int i = 0; i < 300; ++i) {
      for (const char* from : {"t1-0", "t1-1"}) {
        FrameSpec spec;
        spec.to = "fd00:1::1";
        s.receive(put(&pool, bytes_of(spec)), port(from), us(7 * i));
      }
      if (!late) s.run(us(7 * i), &left);
    }
    s.run(us(100000), &left);
    const PortCounters c = s.egress(port("h0")).counters();
    return std::make_tuple(c.trimmed, c.data_packets, c.max_queue, left.size());
  };
  EXPECT_EQ(pass(false), pass(true));
  EXPECT_GT(std::get<0>(pass(true)), 0u);
}

TEST_F(SwitchTest, a_sender_faster_than_its_link_is_held_back_only_so_far) {
  // 4000 frames of 10 us at one instant: the line lags by at most 20 ms, then they come as they come.
  for (int i = 0; i < 4000; ++i) switch_.receive(to("fd00:1::1"), port("t1-0"), us(100));
  run(us(100 + 20000));
  EXPECT_EQ(switch_.ingress(port("t1-0")).packets, 4000u);
  const PortCounters& c = switch_.egress(port("h0")).counters();
  EXPECT_GT(c.trimmed, 1000u);
}

TEST_F(SwitchTest, frames_that_are_too_large_or_broken_are_counted) {
  switch_.receive(to("fd00:1::1", 9216 + kEthernetHeader), port("h1"), us(1));
  Frame* large = to("fd00:1::1", 9216 + kEthernetHeader + 1);
  switch_.receive(large, port("h1"), us(1));
  Frame* broken = to("fd00:1::1");
  broken->data[14] = 0;
  switch_.receive(broken, port("h1"), us(1));
  EXPECT_EQ(run(us(1000)).size(), 1u);
  EXPECT_EQ(switch_.counters().malformed, 2u);
}

TEST_F(SwitchTest, a_used_up_hop_limit_is_answered_with_a_valid_message) {
  switch_.receive(to("fd00:1::1", kBytes, 1), port("t1-1"), us(1));
  const std::vector<Frame*> left = run(us(1000));
  ASSERT_EQ(left.size(), 1u);
  const Frame& f = *left[0];
  EXPECT_EQ(destination(f), ip("fd00:1:1::1"));
  EXPECT_EQ(source(f), config_.address);
  EXPECT_EQ(f.data[kEthernetHeader + 6], 58);
  EXPECT_EQ(f.data[kEthernetHeader + kIpHeader], 3);
  uint32_t sum = 58 + f.bytes - kEthernetHeader - kIpHeader;
  for (uint32_t at = kEthernetHeader + 8; at + 1 < f.bytes; at += 2) sum += word(f, at);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  EXPECT_EQ(sum, 0xFFFFu);
  EXPECT_EQ(switch_.counters().hop_limit, 1u);
  // Its own kind is not answered.
  Frame* error = put(&pool_, {f.data, f.data + f.bytes});
  set_hop_limit(error, 1);
  switch_.receive(error, port("t1-1"), us(2000));
  EXPECT_EQ(run(us(3000)).size(), 0u);
}

TEST_F(SwitchTest, a_dead_link_takes_nothing) {
  switch_.set_up(port("h0"), false);
  switch_.receive(to("fd00:1::1"), port("t1-0"), us(1));
  EXPECT_EQ(run(us(1000)).size(), 0u);
  EXPECT_EQ(switch_.egress(port("h0")).counters().lost_down, 1u);
  switch_.set_up(port("h0"), true);
  switch_.receive(to("fd00:1::1"), port("t1-0"), us(2000));
  EXPECT_EQ(run(us(3000)).size(), 1u);
}

TEST_F(SwitchTest, nothing_leaks_from_the_pool) {
  for (int i = 0; i < 100; ++i) {
    for (const char* where : {"fd00:1::1", "fe80::1", "fcbb:bb00:400:999::", "fd00:77::1"})
      switch_.receive(to(where), port("t1-0"), us(i));
    switch_.receive(to("fd00:1::2", kBytes, 1), port("t1-1"), us(i));
  }
  for (Frame* f : run(us(1000000))) pool_.release(f);
  EXPECT_EQ(pool_.live(), 0u);
  EXPECT_EQ(switch_.counters().local, 100u);
  EXPECT_EQ(switch_.counters().no_route, 200u);
}

TEST(FramePool, ends_at_its_limit) {
  FramePool pool(64, 3);
  Frame* frames[3];
  for (Frame*& f : frames) ASSERT_NE(f = pool.take(), nullptr);
  EXPECT_EQ(pool.take(), nullptr);
  pool.release(frames[1]);
  EXPECT_EQ(pool.take(), frames[1]);
}

}  // namespace
}  // namespace mrc::softswitch
