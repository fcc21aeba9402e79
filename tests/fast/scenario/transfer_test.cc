// Writes of every shape over a healthy network: sizes around the path MTU, empty ones, scatter/gather, inline data,
// unsignalled runs, PSN wrap, both directions at once.
#include "scenario/pair.h"

namespace mrc::scenario {
namespace {

class Sizes : public testing::TestWithParam<uint32_t> {};

// [MRC-RETH-1]: payload goes to the address of the message + k * path MTU, and nowhere else.
TEST_P(Sizes, writes_around_the_mtu_arrive_whole_and_nothing_beside) {
  const uint32_t mtu = GetParam();
  QpAttr attr;
  attr.path_mtu = mtu;
  Pair p({}, attr);
  size_t at = 64;
  std::vector<std::pair<size_t, uint32_t>> pieces;
  uint64_t id = 0;
  for (uint32_t n : {0u, 1u, 2u, 3u, mtu - 1, mtu, mtu + 1, 10 * mtu + 3}) {
    ASSERT_EQ(p.write(id++, at, n), PostResult::kOk);
    pieces.push_back({at, n});
    at += n + 64;
  }
  ASSERT_TRUE(p.until_sends(pieces.size()));
  EXPECT_TRUE(p.all_ok(pieces.size()));
  size_t gap = 0;
  for (auto [offset, n] : pieces) {
    EXPECT_TRUE(p.untouched(gap, offset - gap)) << "before " << n;
    EXPECT_TRUE(p.arrived(offset, n)) << n;
    gap = offset + n;
  }
  EXPECT_TRUE(p.untouched(gap, p.target.size() - gap));
}
INSTANTIATE_TEST_SUITE_P(Mtu, Sizes, testing::Values(256, 512, 1024, 2048, 4096, 8192));

// [MRC-WIRE-4]: an Only packet with dmalen 0 is valid; spec/clients.md rule 11: no SGE, or one of zeros.
TEST(Transfer, empty_write_imm_is_a_signal) {
  Pair p;
  p.fabric.post_receives(1, p.link.qb, 70, 2);
  SendWr wr;
  wr.op = SendOp::kWriteImm;
  wr.signaled = true;
  wr.wr_id = 1;
  wr.imm = 0xA1B2C3D4;
  ASSERT_EQ(p.fabric.at(0).post_send(p.fabric.now(), p.link.qa, wr), PostResult::kOk);
  const Sge none{0, 0, Key()};
  wr.sges = &none;
  wr.num_sge = 1;
  wr.wr_id = 2;
  wr.imm = 0x01020304;
  ASSERT_EQ(p.fabric.at(0).post_send(p.fabric.now(), p.link.qa, wr), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(2));
  EXPECT_TRUE(p.all_ok(2));
  ASSERT_EQ(p.receives().size(), 2u);
  EXPECT_EQ(p.receives()[0].wr_id, 70u);
  EXPECT_EQ(p.receives()[0].imm, 0xA1B2C3D4u);
  EXPECT_EQ(p.receives()[1].imm, 0x01020304u);
  EXPECT_TRUE(p.receives()[1].with_imm);
  EXPECT_EQ(p.receives()[1].byte_len, 0u);
}

// [MRC-RETH-1]: pieces of several regions become one run of bytes at the target, packets may cross pieces.
TEST(Transfer, gathers_from_several_regions) {
  Pair p;
  std::vector<uint8_t> one(5001, 1), two(1, 2), three(9000, 3);
  const Key k1 = p.fabric.register_memory(0, one), k2 = p.fabric.register_memory(0, two),
            k3 = p.fabric.register_memory(0, three);
  auto va = [](std::vector<uint8_t>& v) { return reinterpret_cast<uint64_t>(v.data()); };
  const Sge sges[] = {{va(one), 5001, k1}, {va(two), 1, k2}, {va(one), 0, k1}, {va(three), 9000, k3}};
  SendWr wr;
  wr.signaled = true;
  wr.sges = sges;
  wr.num_sge = 4;
  wr.remote_addr = va(p.target) + 7;
  wr.rkey = p.rkey;
  ASSERT_EQ(p.fabric.at(0).post_send(p.fabric.now(), p.link.qa, wr), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_TRUE(p.all_ok(1));
  std::vector<uint8_t> expected(7, kFill);
  expected.insert(expected.end(), one.begin(), one.end());
  expected.insert(expected.end(), two.begin(), two.end());
  expected.insert(expected.end(), three.begin(), three.end());
  expected.push_back(kFill);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), p.target.begin()));
}

// Inline data belongs to the library when post returns; a lost first transmission must not pick up later bytes.
TEST(Transfer, inline_data_may_be_overwritten_after_post) {
  Pair p;
  p.fabric.net().add_outage({-1, 0, p.fabric.now(), p.fabric.now() + Duration::milliseconds(2)});
  uint8_t text[64];
  std::memset(text, 0x5A, sizeof text);
  const Sge sge{reinterpret_cast<uint64_t>(text), 64, Key()};
  SendWr wr;
  wr.signaled = wr.inline_data = true;
  wr.sges = &sge;
  wr.num_sge = 1;
  wr.remote_addr = reinterpret_cast<uint64_t>(p.target.data());
  wr.rkey = p.rkey;
  ASSERT_EQ(p.fabric.at(0).post_send(p.fabric.now(), p.link.qa, wr), PostResult::kOk);
  std::memset(text, 0x11, sizeof text);
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_EQ(p.target[0], 0x5A);
  EXPECT_EQ(p.target[63], 0x5A);
  EXPECT_EQ(p.target[64], kFill);
}

// spec/clients.md rule 12: queues are used to the last slot; a signalled completion frees itself and the run before it.
TEST(Transfer, unsignalled_runs_are_reported_as_slots) {
  Pair p;
  for (uint64_t i = 0; i < 64; ++i) ASSERT_EQ(p.write(i, i * 100, 100, i == 62), PostResult::kOk);
  for (uint64_t i = 64; i < 128; ++i) ASSERT_EQ(p.write(i, i * 100, 100, i == 127), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(2));
  EXPECT_EQ(p.sends()[0].wr_id, 62u);
  EXPECT_EQ(p.sends()[0].slots, 63u);
  EXPECT_EQ(p.sends()[1].wr_id, 127u);
  EXPECT_EQ(p.sends()[1].slots, 65u);
  EXPECT_TRUE(p.arrived(0, 12800));
}

// [MRC-PSN-1]: the wrap from 0xFFFFFF to 0 is ordinary, also inside a message, also with losses around it.
TEST(Transfer, psn_wraps_inside_a_message) {
  for (double loss : {0.0, 0.05}) {
    QpAttr attr;
    attr.path_mtu = 1024;
    attr.sq_psn = Psn(0xFFFFF0);
    attr.rq_psn = Psn(0xFFFFFF);
    Pair p({}, attr);
    for (int plane = 0; plane < 4; ++plane) p.fabric.net().link(plane).loss = loss;
    std::vector<TraceRecord> trace;
    p.fabric.record(&trace);
    ASSERT_EQ(p.write(1, 0, 200000), PostResult::kOk);
    ASSERT_EQ(p.write(2, 200000, 200000), PostResult::kOk);
    ASSERT_TRUE(p.until_sends(2));
    EXPECT_TRUE(p.all_ok(2));
    EXPECT_TRUE(p.arrived(0, 400000));
    bool before = false, after = false;
    for (const TraceRecord& r : trace) {
      const auto placed = r.get<event::RxData>();
      if (!placed) continue;
      before = before || placed->psn == Psn(0xFFFFFF);
      after = after || placed->psn == Psn(0);
    }
    EXPECT_TRUE(before && after);
  }
}

// Both directions of one QP are independent PSN spaces.
TEST(Transfer, both_directions_of_one_qp) {
  Pair p;
  std::vector<uint8_t> back_source(300000, 0x77), back_target(300000, kFill);
  const Key lkey = p.fabric.register_memory(1, back_source), rkey = p.fabric.register_memory(0, back_target);
  for (int plane = 0; plane < 4; ++plane) p.fabric.net().link(plane).loss = 0.01;
  for (uint64_t i = 0; i < 30; ++i) {
    ASSERT_EQ(p.write(i, i * 10000, 10000), PostResult::kOk);
    ASSERT_EQ(p.fabric.write(1, p.link.qb, i, &back_source[i * 10000], 10000, lkey, &back_target[i * 10000], rkey),
              PostResult::kOk);
  }
  ASSERT_TRUE(p.fabric.run_until([&] { return p.sends().size() == 30 && p.fabric.node(1).sends.size() == 30; },
                                 Duration::seconds(10)));
  EXPECT_TRUE(p.all_ok(30));
  EXPECT_TRUE(p.arrived(0, 300000));
  EXPECT_EQ(back_source, back_target);
}

TEST(Transfer, a_hundred_queue_pairs_share_the_planes) {
  Pair p;
  std::vector<Link> links{p.link};
  while (links.size() < 100) links.push_back(p.fabric.connect(0, 1));
  for (uint64_t i = 0; i < 100; ++i)
    ASSERT_EQ(p.fabric.write(0, links[i].qa, i, &p.source[i * 10000], 10000, p.lkey, &p.target[i * 10000], p.rkey),
              PostResult::kOk);
  ASSERT_TRUE(p.until_sends(100));
  EXPECT_TRUE(p.all_ok(100));
  EXPECT_TRUE(p.arrived(0, 1000000));
}

}  // namespace
}  // namespace mrc::scenario
