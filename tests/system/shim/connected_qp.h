// An RC queue pair brought to RTS, towards another one of the first device; one request, and what becomes of it.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>

#include "harness/limits.h"

struct RcConnection {
  uint32_t dest_qpn = 0;
  unsigned int access = 0;
  uint8_t rd_atomic = 1;  // READs and atomics at once, in both directions
  uint8_t min_rnr_timer = 1;
  uint8_t rnr_retry = 7;
};

// Call it in ASSERT_NO_FATAL_FAILURE where the caller goes on.
inline void connect_rc(ibv_qp* qp, const RcConnection& to) {
  constexpr uint8_t kGid = 3;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = to.access;
  ASSERT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_4096;
  attr.dest_qp_num = to.dest_qpn;
  attr.max_dest_rd_atomic = attr.max_rd_atomic = to.rd_atomic;
  attr.min_rnr_timer = to.min_rnr_timer;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.sgid_index = kGid;
  attr.ah_attr.grh.hop_limit = 64;
  ASSERT_EQ(ibv_query_gid(qp->context, 1, kGid, &attr.ah_attr.grh.dgid), 0);
  ASSERT_EQ(ibv_modify_qp(qp, &attr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            0);
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  attr.retry_cnt = 7;
  attr.rnr_retry = to.rnr_retry;
  ASSERT_EQ(ibv_modify_qp(qp, &attr,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                              IBV_QP_MAX_QP_RD_ATOMIC),
            0);
}

// The result of ibv_post_send().
inline int post_one(ibv_qp* qp, ibv_wr_opcode opcode, ibv_sge from, uint64_t remote_addr, uint32_t rkey) {
  ibv_send_wr wr{}, *bad;
  wr.sg_list = &from;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.wr.rdma = {remote_addr, rkey};
  return ibv_post_send(qp, &wr, &bad);
}

// The status of the next completion; IBV_WC_GENERAL_ERR when there is none for so long on a quiet machine.
inline ibv_wc_status status_within(ibv_cq* cq, std::chrono::milliseconds quiet) {
  ibv_wc wc;
  for (const auto until = std::chrono::steady_clock::now() + mrc::harness::limit(quiet);
       std::chrono::steady_clock::now() < until;)
    if (ibv_poll_cq(cq, 1, &wc) == 1) return wc.status;
  return IBV_WC_GENERAL_ERR;
}
