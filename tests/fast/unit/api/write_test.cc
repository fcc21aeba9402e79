// Posting and completing through the whole stack: mrc_post_*, mrc_poll_cq. [API-POST-*, API-CQ-*]
#include <arpa/inet.h>

#include <cerrno>
#include <numeric>

#include "harness/api_pair.h"

namespace mrc::api {
namespace {

class WriteTest : public ApiTest {};

TEST_F(WriteTest, write_places_bytes_and_completes) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  std::iota(a.buffer.begin(), a.buffer.end(), uint8_t{7});
  ASSERT_EQ(a.write(b, 42, End::kBytes, IBV_SEND_SIGNALED), 0);
  const ibv_wc wc = a.wait();
  EXPECT_EQ(wc.wr_id, 42u);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(wc.qp_num, a.qpn);
  EXPECT_EQ(a.buffer, b.buffer);
  EXPECT_EQ(b.poll_once(), 0);
}

// spec/clients.md rules 10 and 13. [API-CQ-6]
TEST_F(WriteTest, immediate_arrives_bit_for_bit_and_after_the_data) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  ASSERT_EQ(b.receive(9), 0);
  a.buffer.assign(End::kBytes, 0x5A);
  ASSERT_EQ(a.write(b, 1, End::kBytes, 0), 0);
  ASSERT_EQ(a.write(b, 2, 4096, IBV_SEND_SIGNALED, true, 0x11223344), 0);
  const ibv_wc wc = b.wait();
  EXPECT_EQ(wc.wr_id, 9u);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(wc.wc_flags & IBV_WC_WITH_IMM, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(wc.imm_data, 0x11223344u);
  EXPECT_EQ(wc.byte_len, 4096u);
  EXPECT_EQ(wc.qp_num, b.qpn);
  EXPECT_EQ(a.buffer, b.buffer);
  EXPECT_EQ(a.wait().wr_id, 2u);
}

// spec/clients.md rule 11: without SGE, and with one empty SGE whose key and address mean nothing.
TEST_F(WriteTest, zero_length_in_both_forms) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  for (int form = 0; form < 2; ++form) {
    ASSERT_EQ(b.receive(form), 0);
    ibv_sge empty{0, 0, 0};
    ibv_send_wr wr{};
    wr.wr_id = 100 + form;
    wr.sg_list = form == 0 ? nullptr : &empty;
    wr.num_sge = form;
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.imm_data = 77 + form;
    ibv_send_wr* bad;
    ASSERT_EQ(mrc_post_send(a.qp, &wr, &bad), 0);
    const ibv_wc received = b.wait();
    EXPECT_EQ(received.imm_data, 77u + form);
    EXPECT_EQ(received.byte_len, 0u);
    EXPECT_EQ(a.wait().wr_id, 100u + form);
  }
}

// [API-POST-4]
TEST_F(WriteTest, gathers_and_inlines) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  const auto base = reinterpret_cast<uint64_t>(a.buffer.data());
  std::memcpy(a.buffer.data(), "abcdefghijkl", 12);
  ibv_sge pieces[3] = {{base + 8, 4, a.mr->lkey}, {base, 0, 0}, {base, 3, a.mr->lkey}};
  ibv_send_wr wr{};
  wr.sg_list = pieces;
  wr.num_sge = 3;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(b.buffer.data());
  wr.wr.rdma.rkey = b.mr->rkey;
  ibv_send_wr* bad;
  ASSERT_EQ(mrc_post_send(a.qp, &wr, &bad), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(b.buffer.data(), "ijklabc", 7), 0);

  char on_stack[] = "inline!";
  ibv_sge local{reinterpret_cast<uint64_t>(on_stack), 7, 0xDEAD};  // not registered: keys are not looked at
  wr.sg_list = &local;
  wr.num_sge = 1;
  wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
  ASSERT_EQ(mrc_post_send(a.qp, &wr, &bad), 0);
  std::memset(on_stack, 'x', 7);  // copied already
  EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(b.buffer.data(), "inline!", 7), 0);
}

// spec/clients.md rule 12: the last slot is usable, one more is not, and bad_wr is the refused request. [API-POST-3]
TEST_F(WriteTest, queues_are_usable_to_the_last_slot) {
  for (uint32_t depth : {1u, 8u}) {
    EndOptions options;
    options.max_send_wr = options.max_recv_wr = depth;
    End a(context, pd, options), b(context, pd, options);
    connect(&a, &b);
    for (uint32_t i = 0; i < depth; ++i) ASSERT_EQ(b.receive(i), 0) << i;
    EXPECT_EQ(b.receive(99), ENOMEM);
    for (uint32_t i = 0; i < depth; ++i) ASSERT_EQ(a.write(b, i, 64, IBV_SEND_SIGNALED, true), 0) << i;
    EXPECT_EQ(a.write(b, 99, 64, IBV_SEND_SIGNALED), ENOMEM);
    for (uint32_t i = 0; i < depth; ++i) {
      EXPECT_EQ(a.wait().wr_id, i);  // in posting order
      EXPECT_EQ(b.wait().wr_id, i);
    }
    EXPECT_EQ(a.write(b, 100, 64, IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(a.wait().wr_id, 100u);
  }
}

// The other half of rule 12: unsignalled requests give their slots back with the next signalled completion that was
// polled, not when they are done and not one request too late.
TEST_F(WriteTest, unsignalled_slots_come_back_with_a_polled_completion) {
  EndOptions options;
  options.max_send_wr = 64;
  End a(context, pd, options), b(context, pd);
  connect(&a, &b);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 63; ++i) ASSERT_EQ(a.write(b, i, 8, 0), 0);
    ASSERT_EQ(a.write(b, 63, 8, IBV_SEND_SIGNALED, true), 0);
    ASSERT_EQ(b.receive(1), 0);
    EXPECT_EQ(b.wait().wr_id, 1u);            // all 64 are done at the peer
    EXPECT_EQ(a.write(b, 64, 8, 0), ENOMEM);  // but none was polled here
    EXPECT_EQ(a.wait().wr_id, 63u);
    EXPECT_EQ(a.write(b, 65, 8, IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(a.wait().wr_id, 65u);
  }
}

TEST_F(WriteTest, sq_sig_all_signals_everything) {
  EndOptions options;
  options.sq_sig_all = 1;
  End a(context, pd, options), b(context, pd);
  connect(&a, &b);
  ASSERT_EQ(a.write(b, 5, 8, 0), 0);
  EXPECT_EQ(a.wait().wr_id, 5u);
}

// [API-POST-1]
TEST_F(WriteTest, list_stops_at_the_first_bad_request) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  ibv_send_wr wr[3] = {};
  for (int i = 0; i < 3; ++i) {
    wr[i].wr_id = i;
    wr[i].opcode = i == 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
    wr[i].send_flags = IBV_SEND_SIGNALED;
    wr[i].next = i < 2 ? &wr[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(mrc_post_send(a.qp, wr, &bad), EINVAL);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(bad, &wr[1]);
  EXPECT_EQ(a.wait().wr_id, 0u);
}

TEST_F(WriteTest, refuses_what_does_not_fit) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  ibv_sge sges[5] = {};
  ibv_send_wr wr{};
  wr.sg_list = sges;
  wr.opcode = IBV_WR_RDMA_WRITE;
  ibv_send_wr* bad;
  wr.num_sge = 5;  // the QP has 4
  EXPECT_EQ(mrc_post_send(a.qp, &wr, &bad), EINVAL);
  wr.num_sge = -1;
  EXPECT_EQ(mrc_post_send(a.qp, &wr, &bad), EINVAL);
  wr.num_sge = 1;
  wr.send_flags = IBV_SEND_INLINE;
  sges[0] = {reinterpret_cast<uint64_t>(a.buffer.data()), 65, 0};  // the QP has 64
  EXPECT_EQ(mrc_post_send(a.qp, &wr, &bad), EINVAL);
  wr.send_flags = 1u << 20;
  sges[0].length = 8;
  EXPECT_EQ(mrc_post_send(a.qp, &wr, &bad), EINVAL);
  wr.send_flags = 0;
  sges[0] = {0, (1u << 30) + 1, a.mr->lkey};
  EXPECT_EQ(mrc_post_send(a.qp, &wr, &bad), EINVAL);
  EXPECT_EQ(mrc_post_send(nullptr, &wr, &bad), EINVAL);
}

// [API-POST-2]
TEST_F(WriteTest, posting_follows_the_state) {
  End a(context, pd), b(context, pd);
  EXPECT_EQ(a.receive(1), EINVAL);  // RESET
  EXPECT_EQ(a.write(b, 1, 8, 0), EINVAL);
  ASSERT_EQ(a.to_init(), 0);
  EXPECT_EQ(a.receive(1), 0);
  EXPECT_EQ(a.write(b, 1, 8, 0), EINVAL);
  ASSERT_EQ(a.to(IBV_QPS_ERR), 0);
  ibv_wc wc = a.wait();
  EXPECT_EQ(wc.wr_id, 1u);
  EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(a.write(b, 2, 8, 0), 0);  // ERR: taken, and flushed although unsignalled
  wc = a.wait();
  EXPECT_EQ(wc.wr_id, 2u);
  EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(a.receive(3), 0);
  EXPECT_EQ(a.wait().wr_id, 3u);
}

TEST_F(WriteTest, wrong_remote_key_is_a_remote_access_error) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  ibv_sge sge{reinterpret_cast<uint64_t>(a.buffer.data()), 8, a.mr->lkey};
  ibv_send_wr wr{};
  wr.wr_id = 3;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(b.buffer.data());
  wr.wr.rdma.rkey = b.mr->rkey ^ 0x55;
  ibv_send_wr* bad;
  ASSERT_EQ(mrc_post_send(a.qp, &wr, &bad), 0);  // unsignalled: an error completes all the same
  const ibv_wc wc = a.wait();
  EXPECT_EQ(wc.wr_id, 3u);
  EXPECT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(a.state(), IBV_QPS_ERR);
}

TEST_F(WriteTest, region_without_remote_write_refuses) {
  EndOptions local_only;
  local_only.access = IBV_ACCESS_LOCAL_WRITE;
  End a(context, pd), b(context, pd, local_only);
  connect(&a, &b);
  ASSERT_EQ(a.write(b, 3, 8, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(WriteTest, wrong_local_key_is_a_local_protection_error) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  ibv_sge sge{reinterpret_cast<uint64_t>(a.buffer.data()), 8, a.mr->lkey ^ 0x55};
  ibv_send_wr wr{};
  wr.wr_id = 4;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(b.buffer.data());
  wr.wr.rdma.rkey = b.mr->rkey;
  ibv_send_wr* bad;
  ASSERT_EQ(mrc_post_send(a.qp, &wr, &bad), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_LOC_PROT_ERR);
}

// spec/clients.md rule 3: writes that arrive while the peer is still in INIT are repeated until it is ready. [API-QP-7]
TEST_F(WriteTest, peer_in_init_is_waited_for) {
  End a(context, pd), b(context, pd);
  ASSERT_EQ(a.to_init(), 0);
  ASSERT_EQ(b.to_init(), 0);
  ASSERT_EQ(a.to_rtr(gid, b.qpn), 0);
  ASSERT_EQ(a.to_rts(), 0);
  a.buffer[0] = 0xEE;
  ASSERT_EQ(a.write(b, 8, 64, IBV_SEND_SIGNALED), 0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(a.poll_once(), 0);
  ASSERT_EQ(b.to_rtr(gid, a.qpn), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
  EXPECT_EQ(b.buffer[0], 0xEE);
}

// spec/clients.md rule 5: more writes with immediate than any limit, and fewer receives than writes, wait and do not
// fail. [API-POST-5]
TEST_F(WriteTest, immediates_beyond_every_limit_wait) {
  EndOptions options;
  options.max_send_wr = 1024;
  options.cqe = 2048;
  End a(context, pd, options), b(context, pd);
  connect(&a, &b);
  for (uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(a.write(b, i, 8, IBV_SEND_SIGNALED, true, i), 0) << i;
  for (uint32_t i = 0; i < 1024; ++i) {
    ASSERT_EQ(b.receive(i), 0);
    const ibv_wc wc = b.wait();
    ASSERT_EQ(wc.imm_data, i);
    ASSERT_EQ(wc.wr_id, i);
  }
  for (uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(a.wait().wr_id, i);
}

TEST_F(WriteTest, every_path_mtu_carries_data) {
  for (ibv_mtu mtu : {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096}) {
    End a(context, pd), b(context, pd);
    ASSERT_EQ(a.to_init(), 0);
    ASSERT_EQ(b.to_init(), 0);
    ASSERT_EQ(a.to_rtr(gid, b.qpn, mtu), 0);
    ASSERT_EQ(b.to_rtr(gid, a.qpn, mtu), 0);
    ASSERT_EQ(a.to_rts(), 0);
    a.buffer.assign(End::kBytes, static_cast<uint8_t>(mtu));
    ASSERT_EQ(a.write(b, 1, 100001, IBV_SEND_SIGNALED), 0);
    ASSERT_EQ(a.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(a.buffer.data(), b.buffer.data(), 100001), 0);
    EXPECT_EQ(b.buffer[100001], 0);
  }
}

// Destroying a QP takes its completions out of a CQ that others share. [API-CQ-5]
TEST_F(WriteTest, destroyed_qp_leaves_no_completions_behind) {
  mrc_cq* cq = mrc_create_cq(context, 64, nullptr, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  {
    EndOptions shared;
    shared.shared_cq = cq;
    End a(context, pd, shared);
    ASSERT_EQ(a.to_init(), 0);
    ASSERT_EQ(a.receive(1), 0);
    ASSERT_EQ(a.to(IBV_QPS_ERR), 0);
    EXPECT_EQ(mrc_destroy_cq(cq), EBUSY);
  }
  ibv_wc wc;
  EXPECT_EQ(mrc_poll_cq(cq, 1, &wc), 0);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
}

TEST_F(WriteTest, reset_forgets_and_starts_anew) {
  EndOptions options;
  options.max_send_wr = 2;
  End a(context, pd, options), b(context, pd);
  connect(&a, &b);
  ASSERT_EQ(a.write(b, 1, 8, 0), 0);
  ASSERT_EQ(a.write(b, 2, 8, 0), 0);
  ASSERT_EQ(a.to(IBV_QPS_RESET), 0);
  ASSERT_EQ(b.to(IBV_QPS_RESET), 0);
  connect(&a, &b);
  ASSERT_EQ(a.write(b, 3, 8, 0), 0);  // both slots are free again
  ASSERT_EQ(a.write(b, 4, 8, IBV_SEND_SIGNALED), 0);
  const ibv_wc wc = a.wait();
  EXPECT_EQ(wc.wr_id, 4u);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace mrc::api
