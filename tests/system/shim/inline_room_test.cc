// Queue pairs have room for inline data without asking: the caller of ibv_create_qp finds it in its argument, and may
// use it. [VRB-QP-6]
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <vector>

#include "connected_qp.h"
#include "first_device.h"

namespace {

using namespace std::chrono_literals;

constexpr ibv_qp_type kTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};

class InlineRoom : public ::testing::Test {
 protected:
  void SetUp() override {
    context_ = open_first_device();
    ASSERT_NE(context_, nullptr);
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 16, nullptr, nullptr, 0);
  }
  void TearDown() override {
    EXPECT_EQ(ibv_destroy_cq(cq_), 0);
    EXPECT_EQ(ibv_dealloc_pd(pd_), 0);
    EXPECT_EQ(ibv_close_device(context_), 0);
  }
  ibv_qp* make(ibv_qp_type type, ibv_qp_cap* cap) const {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = type;
    init.sq_sig_all = 1;
    init.cap = *cap;
    ibv_qp* const qp = ibv_create_qp(pd_, &init);
    *cap = init.cap;
    return qp;
  }
  ibv_qp* make_extended(ibv_qp_type type, ibv_qp_cap* cap) const {
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = type;
    init.pd = pd_;
    init.comp_mask = IBV_QP_INIT_ATTR_PD;
    init.cap = *cap;
    ibv_qp* const qp = ibv_create_qp_ex(context_, &init);
    *cap = init.cap;
    return qp;
  }
  // The caller reads `granted` in both places.
  static void expect_granted(ibv_qp* qp, const ibv_qp_cap& cap, uint32_t granted) {
    ASSERT_NE(qp, nullptr);
    EXPECT_EQ(cap.max_inline_data, granted);
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init), 0);
    EXPECT_EQ(attr.cap.max_inline_data, granted);
    EXPECT_EQ(init.cap.max_inline_data, granted);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
  }

  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
};

TEST_F(InlineRoom, is_reported_where_programs_look) {
  const struct {
    uint32_t asked, max_send_sge, granted;
  } cases[] = {{0, 1, 64}, {0, 15, 240}, {100, 1, 100}, {960, 1, 960}};
  for (const ibv_qp_type type : kTypes)
    for (const auto& c : cases) {
      ibv_qp_cap cap = {4, 4, c.max_send_sge, 1, c.asked};
      ibv_qp* const qp = make(type, &cap);
      ASSERT_NO_FATAL_FAILURE(expect_granted(qp, cap, c.granted)) << type << ' ' << c.asked;
      cap = {4, 4, c.max_send_sge, 1, c.asked};
      ibv_qp* const extended = make_extended(type, &cap);
      ASSERT_NO_FATAL_FAILURE(expect_granted(extended, cap, c.granted)) << type << ' ' << c.asked;
    }
}

TEST_F(InlineRoom, beyond_the_maximum_is_refused) {
  for (const ibv_qp_type type : kTypes) {
    ibv_qp_cap cap = {4, 4, 1, 1, 961};
    errno = 0;
    EXPECT_EQ(make(type, &cap), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(cap.max_inline_data, 961u);
  }
}

// As rdma_xclient of librdmacm does with what it reads back.
TEST_F(InlineRoom, is_usable) {
  ibv_qp_cap cap = {4, 4, 1, 1, 0}, peers = cap;
  ibv_qp* const qp = make(IBV_QPT_RC, &cap);
  ibv_qp* const peer = make(IBV_QPT_RC, &peers);
  ASSERT_NO_FATAL_FAILURE(connect_rc(qp, {.dest_qpn = peer->qp_num}));
  ASSERT_NO_FATAL_FAILURE(connect_rc(peer, {.dest_qpn = qp->qp_num}));
  std::vector<uint8_t> to(cap.max_inline_data), from(cap.max_inline_data, 7);
  ibv_mr* const mr = ibv_reg_mr(pd_, to.data(), to.size(), IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  ibv_sge piece = {reinterpret_cast<uint64_t>(to.data()), static_cast<uint32_t>(to.size()), mr->lkey};
  ibv_recv_wr receive{}, *bad_receive;
  receive.sg_list = &piece;
  receive.num_sge = 1;
  ASSERT_EQ(ibv_post_recv(peer, &receive, &bad_receive), 0);
  ibv_sge inlined = {reinterpret_cast<uint64_t>(from.data()), static_cast<uint32_t>(from.size()), 0};
  ibv_send_wr send{}, *bad_send;
  send.sg_list = &inlined;
  send.num_sge = 1;
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_INLINE;
  ASSERT_EQ(ibv_post_send(qp, &send, &bad_send), 0);
  std::fill(from.begin(), from.end(), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(status_within(cq_, 10s), IBV_WC_SUCCESS);
  EXPECT_EQ(to, std::vector<uint8_t>(cap.max_inline_data, 7));
  inlined.length = cap.max_inline_data + 1;
  EXPECT_EQ(ibv_post_send(qp, &send, &bad_send), EINVAL);
  for (ibv_qp* each : {qp, peer}) EXPECT_EQ(ibv_destroy_qp(each), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

}  // namespace
