// Completion order, and what a WriteIMM's receive completion promises about memory.
#include "scenario/pair.h"

namespace mrc::scenario {
namespace {

void disturb(Fabric* f, double loss) {
  for (int plane = 0; plane < f->net().planes(); ++plane) {
    simnet::LinkConfig& l = f->net().link(plane);
    l.latency = Duration::microseconds(3 + 9 * plane);
    l.jitter = Duration::microseconds(30);
    l.reorder = 0.1;
    l.loss = loss;
  }
}

// spec/clients.md rule 13: completions of one QP come in posting order.
TEST(Order, send_completions_come_in_posting_order) {
  Pair p;
  disturb(&p.fabric, 0.02);
  for (uint64_t i = 0; i < 100; ++i) ASSERT_EQ(p.write(i, i * 9000, i % 3 == 0 ? 64 : 9000), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(100));
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(p.sends()[i].wr_id, i);
}

// spec/clients.md rule 13: when the receive completes, all earlier writes and the message's own payload are in memory.
TEST(Order, receive_completion_implies_all_earlier_data) {
  for (double loss : {0.0, 0.03}) {
    Pair p;
    disturb(&p.fabric, loss);
    p.fabric.post_receives(1, p.link.qb, 500, 20);
    int seen = 0;
    p.fabric.node(1).on_done = [&](const Completion& c) {
      EXPECT_TRUE(c.is_recv && c.with_imm);
      EXPECT_EQ(c.wr_id, 500u + static_cast<uint64_t>(seen));
      EXPECT_EQ(c.imm, static_cast<uint32_t>(seen));
      EXPECT_EQ(c.byte_len, 5000u);
      ++seen;
      EXPECT_TRUE(p.arrived(0, static_cast<size_t>(seen) * 50000)) << seen;
      return true;
    };
    for (uint32_t i = 0; i < 20; ++i) {
      ASSERT_EQ(p.write(2 * i, i * 50000, 45000), PostResult::kOk);
      ASSERT_EQ(p.write_imm(2 * i + 1, i * 50000 + 45000, 5000, i), PostResult::kOk);
    }
    ASSERT_TRUE(p.until_sends(40));
    EXPECT_EQ(seen, 20);
    EXPECT_GT(p.fabric.net().counters().reordered, 0u);
  }
}

// A WriteIMM that overtakes a plain write on a quick plane waits for it.
TEST(Order, an_overtaking_write_imm_waits) {
  FabricConfig c;
  c.planes = 2;
  Pair p(c);
  p.fabric.net().link(0).latency = Duration::milliseconds(3);
  p.fabric.post_receives(1, p.link.qb, 1, 64);
  int seen = 0;
  p.fabric.node(1).on_done = [&](const Completion&) {
    ++seen;
    EXPECT_TRUE(p.arrived(0, static_cast<size_t>(seen) * 164));
    return true;
  };
  for (uint32_t i = 0; i < 32; ++i) {
    ASSERT_EQ(p.write(i, i * 164, 100), PostResult::kOk);
    ASSERT_EQ(p.write_imm(i, i * 164 + 100, 64, i), PostResult::kOk);
  }
  ASSERT_TRUE(p.until_sends(64));
  EXPECT_EQ(seen, 32);
}

// One packet from node 1 reaches node 0, which has a window of data of its own to send: what leaves node 0 first?
uint8_t dscp_of_first_answer(bool answers_first) {
  FabricConfig config;
  config.endpoint.max_segments = 1;
  config.endpoint.sack_bytes = 1;
  config.endpoint.answers_first = answers_first;
  Pair pair(without_queries(config));
  std::vector<uint8_t> back(4096);
  const Key lkey = pair.fabric.register_memory(1, back);
  std::vector<uint8_t> sink(4096);
  const Key rkey = pair.fabric.register_memory(0, sink);
  pair.fabric.write(1, pair.link.qb, 1, back.data(), 4096, lkey, sink.data(), rkey);
  pair.write(2, 0, 1 << 20);
  const Instant now = pair.fabric.now();
  auto burst = std::make_unique<TxBurst>();
  if (!pair.fabric.at(1).poll_tx(now, burst.get())) return 0xFF;
  std::vector<uint8_t> bytes;
  for (uint32_t i = 0; i < burst->iov_count; ++i) {
    const auto* p = static_cast<const uint8_t*>(burst->iov[i].iov_base);
    bytes.insert(bytes.end(), p, p + burst->iov[i].iov_len);
  }
  RxBurst received;
  received.flow = burst->flow;
  received.plane = burst->plane;
  received.data = bytes.data();
  received.bytes = received.segment_size = static_cast<uint32_t>(bytes.size());
  pair.fabric.at(0).handle_rx(now, received);
  if (!pair.fabric.at(0).poll_tx(now, burst.get())) return 0xFF;
  return burst->flow.dscp();
}

TEST(Order, answers_pass_data_only_where_the_configuration_puts_them_first) {
  EXPECT_EQ(dscp_of_first_answer(true), DscpConfig().control);
  EXPECT_EQ(dscp_of_first_answer(false), DscpConfig().no_trim);
}

// [MRC-ACK-3]: in a conversation the ACKs ride behind the answers, and a SACK leaves once in many messages.
TEST(Order, a_conversation_needs_few_packets_of_its_own) {
  Pair p;
  const Key back_lkey = p.fabric.register_memory(1, p.source), back_rkey = p.fabric.register_memory(0, p.target);
  constexpr size_t kRounds = 100;
  for (size_t i = 0; i < kRounds; ++i) {
    ASSERT_EQ(p.fabric.write(0, p.link.qa, i, &p.source[i], 1, p.lkey, &p.target[i], p.rkey), PostResult::kOk);
    ASSERT_TRUE(p.fabric.run_until([&] { return p.target[i] == p.source[i]; }, Duration::milliseconds(1)));
    ASSERT_EQ(p.fabric.write(1, p.link.qb, i, &p.source[5000 + i], 1, back_lkey, &p.target[5000 + i], back_rkey),
              PostResult::kOk);
    ASSERT_TRUE(
        p.fabric.run_until([&] { return p.target[5000 + i] == p.source[5000 + i]; }, Duration::milliseconds(1)));
  }
  ASSERT_TRUE(p.until_sends(kRounds));
  EXPECT_TRUE(p.all_ok(kRounds));
  EXPECT_LE(p.counters(1).tx_sacks, kRounds / 20);
  EXPECT_LE(p.counters(1).tx_acks, kRounds / 4);
  p.pass(Duration::milliseconds(2));  // the last SACK is sent separately, and congestion control gets everything
  EXPECT_GE(p.counters(1).tx_sacks, 1u);
  EXPECT_EQ(p.fabric.at(0).qp_status(p.link.qa).inflight, 0);
}

}  // namespace
}  // namespace mrc::scenario
