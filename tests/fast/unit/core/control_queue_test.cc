// Control packets that wait: order, limits, bursts and trailers. [MRC-TX-1] [MRC-SEC-11]
#include "core/control_queue.h"

#include <cstring>

#include "bare_engine.h"
#include "core/flows.h"

namespace mrc::core {
namespace {

class ControlQueueTest : public BareEngine {
 protected:
  wire::Flow flow(EvIndex ev, uint8_t host = 2) {
    return make_flow(engine_.config, bare_peer(host), ev, engine_.config.dscp.control).value();
  }
  bool push(EvIndex ev, uint8_t mark, uint32_t length = 24, uint32_t padding = 0) {
    return control_.push(
        flow(ev), ev,
        [&](std::span<uint8_t> out) {
          std::memset(out.data(), mark, length);
          return length;
        },
        padding);
  }
  bool reply(uint8_t host, uint32_t asked, uint32_t length) {
    const auto encode = [&](std::span<uint8_t> out) {
      std::memset(out.data(), 0xAB, length);
      return length;
    };
    return control_.push_reply(now_, flow(0_ev, host), 0_ev, {flow(0_ev, host).dst, host == 2}, asked, encode);
  }
  // First byte of each packet of the next burst; empty: nothing may leave.
  std::vector<uint8_t> pop(PlaneSet planes = PlaneSet::all()) {
    std::vector<uint8_t> marks;
    if (!control_.pop(&burst_, planes)) return marks;
    EXPECT_EQ(burst_.bytes, burst_.segments * burst_.segment_size);
    EXPECT_EQ(burst_.iov_count, 1u);
    EXPECT_EQ(burst_.iov[0].iov_len, burst_.bytes);
    const auto* at = static_cast<const uint8_t*>(burst_.iov[0].iov_base);
    for (uint32_t i = 0; i < burst_.segments; ++i, at += burst_.segment_size) {
      marks.push_back(*at);
      EXPECT_TRUE(wire::icrc_check(burst_.flow, {at, burst_.segment_size}));
    }
    return marks;
  }
  using Marks = std::vector<uint8_t>;
};

TEST_F(ControlQueueTest, neighbours_of_one_flow_and_size_leave_as_one_burst) {
  for (uint8_t i = 1; i <= 3; ++i) ASSERT_TRUE(push(0_ev, i));
  ASSERT_TRUE(push(2_ev, 4));  // same plane, another EV
  ASSERT_TRUE(push(2_ev, 5, 28));
  ASSERT_TRUE(push(2_ev, 6, 28));
  EXPECT_EQ(control_.waiting(), 6u);
  EXPECT_EQ(pop(), (Marks{1, 2, 3}));
  EXPECT_EQ(burst_.ev_index, 0_ev);
  EXPECT_EQ(burst_.segment_size, 28u);
  EXPECT_EQ(pop(), (Marks{4}));
  EXPECT_EQ(burst_.ev_index, 2_ev);
  EXPECT_EQ(pop(), (Marks{5, 6}));
  EXPECT_EQ(pop(), Marks());
  EXPECT_EQ(control_.waiting(), 0u);
}

// [MRC-TX-1]
TEST_F(ControlQueueTest, packets_of_interleaved_flows_leave_as_one_burst_per_flow) {
  constexpr size_t kFlows = 4;
  constexpr uint8_t kEach = 8;
  for (uint8_t i = 0; i < kEach; ++i)
    for (const EvIndex ev : EvRange(kFlows)) ASSERT_TRUE(push(ev, static_cast<uint8_t>(16 * ev.value() + i)));
  for (const EvIndex ev : EvRange(kFlows)) {
    Marks expected;
    for (uint8_t i = 0; i < kEach; ++i) expected.push_back(static_cast<uint8_t>(16 * ev.value() + i));
    EXPECT_EQ(pop(), expected);
    EXPECT_EQ(burst_.ev_index, ev);
    control_.check();
  }
  EXPECT_EQ(pop(), Marks());
  EXPECT_EQ(control_.waiting(), 0u);
}

TEST_F(ControlQueueTest, packets_of_one_flow_do_not_overtake_each_other) {
  ASSERT_TRUE(push(0_ev, 1));
  ASSERT_TRUE(push(1_ev, 2));
  ASSERT_TRUE(push(0_ev, 3, 28));  // another size
  ASSERT_TRUE(push(0_ev, 4));
  ASSERT_TRUE(push(1_ev, 5, 24, 1000));  // padded
  ASSERT_TRUE(push(1_ev, 6));
  EXPECT_EQ(pop(), (Marks{1}));
  EXPECT_EQ(pop(), (Marks{2}));
  EXPECT_EQ(pop(), (Marks{3}));
  EXPECT_EQ(pop(), (Marks{4}));
  EXPECT_EQ(pop(), (Marks{5}));
  EXPECT_EQ(pop(), (Marks{6}));
}

TEST_F(ControlQueueTest, packets_beyond_one_burst_follow_in_order) {
  const uint32_t max = engine_.config.max_segments;
  for (uint32_t i = 0; i < 2 * max; ++i) {
    ASSERT_TRUE(push(0_ev, static_cast<uint8_t>(i)));
    ASSERT_TRUE(push(1_ev, static_cast<uint8_t>(100 + i)));
  }
  EXPECT_EQ(pop().back(), max - 1);  // of flow 0
  EXPECT_EQ(pop().back(), 100 + max - 1);
  ASSERT_TRUE(push(0_ev, 99));
  EXPECT_EQ(pop().front(), max);
  EXPECT_EQ(pop().front(), 100 + max);
  EXPECT_EQ(pop(), (Marks{99}));
  EXPECT_EQ(pop(), Marks());
}

TEST_F(ControlQueueTest, a_burst_has_at_most_the_segments_of_the_driver) {
  const uint32_t most = engine_.config.max_segments;
  for (uint32_t i = 0; i <= most; ++i) ASSERT_TRUE(push(0_ev, static_cast<uint8_t>(i)));
  EXPECT_EQ(pop().size(), most);
  EXPECT_EQ(pop().size(), 1u);
}

TEST_F(ControlQueueTest, packets_wait_for_room_on_their_plane_in_order) {
  ASSERT_TRUE(push(0_ev, 1));
  ASSERT_TRUE(push(1_ev, 2));
  EXPECT_EQ(pop(0b10_planes), Marks());  // the first one's plane is full
  EXPECT_EQ(pop(0b01_planes), (Marks{1}));
  EXPECT_EQ(pop(0b01_planes), Marks());
  EXPECT_EQ(pop(0b10_planes), (Marks{2}));
}

TEST_F(ControlQueueTest, packets_of_a_plane_that_is_down_are_dropped) {
  ASSERT_TRUE(push(0_ev, 1));
  ASSERT_TRUE(push(1_ev, 2));
  engine_.planes_up = 0b10_planes;
  EXPECT_EQ(pop(), (Marks{2}));
  EXPECT_EQ(control_.waiting(), 0u);
}

TEST_F(ControlQueueTest, a_padded_packet_leaves_alone) {
  ASSERT_TRUE(push(0_ev, 1));
  ASSERT_TRUE(push(0_ev, 2, 24, 1000));
  ASSERT_TRUE(push(0_ev, 3));
  EXPECT_EQ(pop(), (Marks{1}));
  EXPECT_EQ(pop(), (Marks{2}));
  EXPECT_EQ(burst_.bytes, 24u + 1000u + 4u);
  EXPECT_EQ(pop(), (Marks{3}));
}

TEST_F(ControlQueueTest, a_full_ring_refuses) {
  for (size_t i = 0; i < ControlQueue::kMaxPackets; ++i) ASSERT_TRUE(push(0_ev, 1)) << i;
  EXPECT_FALSE(push(0_ev, 1));
  EXPECT_TRUE(reply(2, 100, 24));  // a ring of its own
  pop();
  EXPECT_TRUE(push(0_ev, 1));
}

TEST_F(ControlQueueTest, replies_come_after_other_packets_and_are_limited) {
  EXPECT_FALSE(reply(9, 27, 24));  // to an unknown source: more bytes than it sent
  EXPECT_EQ(engine_.counters.drop_replies, 1u);
  EXPECT_TRUE(reply(2, 27, 24));  // a peer
  ASSERT_TRUE(push(0_ev, 1));
  EXPECT_EQ(pop(), (Marks{1}));
  EXPECT_EQ(pop(), (Marks{0xAB}));
  for (size_t i = 0; i < ControlQueue::kMaxReplies; ++i) ASSERT_TRUE(reply(2, 27, 24)) << i;
  EXPECT_FALSE(reply(2, 27, 24));
  EXPECT_EQ(engine_.counters.drop_replies, 2u);
}

}  // namespace
}  // namespace mrc::core
