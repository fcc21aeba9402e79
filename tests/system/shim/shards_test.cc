// Queue pairs that a program creates by verbs, over a device of several engines.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cstdlib>
#include <map>
#include <vector>

#include "first_device.h"

namespace {

// The upper half of a queue pair's number is the process slot, of which each engine has one of its own.
TEST(ShimShards, create_qp__spreads_queue_pairs_over_engines) {
  ::setenv("MRC_SHARDS", "2", 1);
  ibv_context* const context = open_first_device();
  ASSERT_NE(context, nullptr);
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_cq* const cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.qp_type = IBV_QPT_RC;
  init.cap = {4, 4, 1, 1, 0};
  std::vector<ibv_qp*> qps;
  std::map<uint32_t, int> by_slot;
  for (int i = 0; i < 8; ++i) {
    qps.push_back(ibv_create_qp(pd, &init));
    ASSERT_NE(qps.back(), nullptr);
    ++by_slot[qps.back()->qp_num >> 16];
  }
  EXPECT_EQ(by_slot.size(), 2u);
  for (const auto& [slot, count] : by_slot) EXPECT_EQ(count, 4) << slot;
  for (ibv_qp* qp : qps) EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

}  // namespace
