// [MRC-TX-1]
#include "core/control_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/rng.h"

namespace mrc::core {
namespace {

void push(ControlRing* ring, uint16_t flow, uint8_t mark = 0) {
  ControlPacket& p = ring->next_free();
  p.flow = {};
  p.flow.dst = IpAddress::v4(10, 0, 0, static_cast<uint8_t>(flow));
  p.ev_index = EvIndex(flow);
  p.bytes[0] = mark;
  ring->push();
  ring->check();
}

// Takes the first packet and all that are linked behind it; their marks.
std::vector<int> take_flow(ControlRing* ring) {
  std::vector<int> marks;
  for (std::optional<uint32_t> number = ring->front(); number;) {
    marks.push_back(ring->packet(*number).bytes[0]);
    const std::optional<uint32_t> next = ring->next_of_flow(*number);
    ring->take(*number);
    ring->check();
    number = next;
  }
  return marks;
}

TEST(ControlRing, links_packets_of_one_flow) {
  ControlRing ring(8);
  push(&ring, 1, 10);
  push(&ring, 2, 20);
  push(&ring, 1, 11);
  push(&ring, 1, 12);
  push(&ring, 2, 21);
  EXPECT_EQ(ring.count(), 5u);
  EXPECT_EQ(take_flow(&ring), (std::vector<int>{10, 11, 12}));
  EXPECT_EQ(ring.count(), 2u);
  EXPECT_EQ(take_flow(&ring), (std::vector<int>{20, 21}));
  EXPECT_EQ(ring.count(), 0u);
}

TEST(ControlRing, does_not_link_behind_a_taken_packet) {
  ControlRing ring(8);
  push(&ring, 2, 20);
  push(&ring, 1, 10);
  push(&ring, 2, 21);
  EXPECT_EQ(take_flow(&ring), (std::vector<int>{20, 21}));
  push(&ring, 2, 22);
  EXPECT_EQ(take_flow(&ring), (std::vector<int>{10}));
  EXPECT_EQ(take_flow(&ring), (std::vector<int>{22}));
}

TEST(ControlRing, distinguishes_flows_of_one_ev) {
  ControlRing ring(8);
  push(&ring, 1, 10);
  ControlPacket& p = ring.next_free();
  p.flow = {};
  p.flow.dst = IpAddress::v4(10, 0, 0, 9);
  p.ev_index = 1_ev;
  p.bytes[0] = 90;
  ring.push();
  EXPECT_EQ(take_flow(&ring), (std::vector<int>{10}));
  EXPECT_EQ(take_flow(&ring), (std::vector<int>{90}));
}

TEST(ControlRing, keeps_slots_until_the_packets_before_are_taken) {
  ControlRing ring(4);
  push(&ring, 1, 10);
  push(&ring, 2, 20);
  push(&ring, 1, 11);
  push(&ring, 1, 12);
  EXPECT_TRUE(ring.full());
  EXPECT_EQ(take_flow(&ring), (std::vector<int>{10, 11, 12}));
  EXPECT_FALSE(ring.full());  // the first slot is free, those behind packet 20 are not yet
  push(&ring, 3, 30);
  EXPECT_TRUE(ring.full());
  EXPECT_EQ(take_flow(&ring), (std::vector<int>{20}));
  for (uint8_t i = 0; i < 3; ++i) push(&ring, 3, static_cast<uint8_t>(31 + i));
  EXPECT_EQ(take_flow(&ring), (std::vector<int>{30, 31, 32, 33}));
}

// More flows than the table has entries, pushed and taken at random: each flow keeps its order, and nothing is lost.
TEST(ControlRing, keeps_the_order_of_every_flow) {
  ControlRing ring(256);
  Rng rng(1);
  std::map<uint16_t, uint8_t> pushed, taken;
  uint64_t in = 0, out = 0;
  for (int step = 0; step < 200000; ++step) {
    if (rng.below(8) != 0) {
      if (ring.full()) continue;
      const auto flow = static_cast<uint16_t>(rng.below(rng.below(2) == 0 ? 4 : 1000));
      push(&ring, flow, pushed[flow]++);
      ++in;
    } else if (ring.count() > 0) {
      const uint16_t flow = ring.packet(ring.front()).ev_index.value();
      for (const int mark : take_flow(&ring)) {
        ASSERT_EQ(mark, taken[flow]++) << "flow " << flow << ", step " << step;
        ++out;
      }
    }
    ASSERT_EQ(ring.count(), in - out);
  }
  EXPECT_GT(out, 10000u);
}

}  // namespace
}  // namespace mrc::core
