// The ibv_wr_* interface: requests are collected between wr_start and wr_complete, then posted as one list; when one
// cannot be posted, none is. [VRB-WR-1]
#include <cerrno>
#include <cstring>
#include <deque>
#include <vector>

#include "objects/base_qp.h"

namespace mrc::shim {

namespace {

// The collected request, per thread: a builder belongs to the thread that started it until it is completed.
struct Building {
  ibv_qp_ex* qp = nullptr;
  int error = 0;
  std::vector<ibv_send_wr> wrs;
  std::vector<std::vector<ibv_sge>> sges;
  std::deque<std::vector<uint8_t>> data;
};

Building& building() {
  thread_local Building b;
  return b;
}

ibv_send_wr& add(ibv_qp_ex* qp, ibv_wr_opcode opcode) {
  Building& b = building();
  b.wrs.push_back(ibv_send_wr{});
  b.sges.emplace_back();
  ibv_send_wr& wr = b.wrs.back();
  wr.wr_id = qp->wr_id;
  wr.opcode = opcode;
  wr.send_flags = qp->wr_flags & ~static_cast<unsigned>(IBV_SEND_INLINE);
  return wr;
}

void rdma(ibv_qp_ex* qp, ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr, __be32 imm) {
  ibv_send_wr& wr = add(qp, opcode);
  wr.wr.rdma = {addr, rkey};
  wr.imm_data = imm;
}

void wr_rdma_read(ibv_qp_ex* qp, uint32_t rkey, uint64_t addr) {
  rdma(qp, IBV_WR_RDMA_READ, rkey, addr, 0);
}
void wr_rdma_write(ibv_qp_ex* qp, uint32_t rkey, uint64_t addr) {
  rdma(qp, IBV_WR_RDMA_WRITE, rkey, addr, 0);
}
void wr_rdma_write_imm(ibv_qp_ex* qp, uint32_t rkey, uint64_t addr, __be32 imm) {
  rdma(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr, imm);
}
void wr_send(ibv_qp_ex* qp) {
  add(qp, IBV_WR_SEND);
}
void wr_send_imm(ibv_qp_ex* qp, __be32 imm) {
  add(qp, IBV_WR_SEND_WITH_IMM).imm_data = imm;
}
void wr_atomic_cmp_swp(ibv_qp_ex* qp, uint32_t rkey, uint64_t addr, uint64_t compare, uint64_t swap) {
  add(qp, IBV_WR_ATOMIC_CMP_AND_SWP).wr.atomic = {addr, compare, swap, rkey};
}
void wr_atomic_fetch_add(ibv_qp_ex* qp, uint32_t rkey, uint64_t addr, uint64_t value) {
  add(qp, IBV_WR_ATOMIC_FETCH_AND_ADD).wr.atomic = {addr, value, 0, rkey};
}

void wr_set_ud_addr(ibv_qp_ex*, ibv_ah* ah, uint32_t remote_qpn, uint32_t remote_qkey) {
  Building& b = building();
  if (b.wrs.empty()) {
    b.error = EINVAL;
    return;
  }
  b.wrs.back().wr.ud = {ah, remote_qpn, remote_qkey};
}
void wr_set_sge_list(ibv_qp_ex*, size_t n, const ibv_sge* list) {
  Building& b = building();
  if (b.wrs.empty()) {
    b.error = EINVAL;
    return;
  }
  b.sges.back().assign(list, list + n);
}
void wr_set_sge(ibv_qp_ex* qp, uint32_t lkey, uint64_t addr, uint32_t length) {
  const ibv_sge sge = {addr, length, lkey};
  wr_set_sge_list(qp, 1, &sge);
}
void wr_set_inline_data_list(ibv_qp_ex*, size_t n, const ibv_data_buf* list) {
  Building& b = building();
  if (b.wrs.empty()) {
    b.error = EINVAL;
    return;
  }
  std::vector<uint8_t>& data = b.data.emplace_back();
  for (size_t i = 0; i < n; ++i) {
    const auto* from = static_cast<const uint8_t*>(list[i].addr);
    data.insert(data.end(), from, from + list[i].length);
  }
  b.wrs.back().send_flags |= IBV_SEND_INLINE;
  b.sges.back() = {{reinterpret_cast<uint64_t>(data.data()), static_cast<uint32_t>(data.size()), 0}};
}
void wr_set_inline_data(ibv_qp_ex* qp, void* addr, size_t length) {
  const ibv_data_buf one = {addr, length};
  wr_set_inline_data_list(qp, 1, &one);
}

void clear() {
  Building& b = building();
  b.qp = nullptr;
  b.error = 0;
  b.wrs.clear();
  b.sges.clear();
  b.data.clear();
}
void wr_start(ibv_qp_ex* qp) {
  clear();
  building().qp = qp;
}
void wr_abort(ibv_qp_ex*) {
  clear();
}
int wr_complete(ibv_qp_ex* qp) {
  Building& b = building();
  int error = b.qp == qp ? b.error : EINVAL;
  if (error == 0 && BaseQp::of(qp)->context()->inherited()) error = EPERM;  // [VRB-FRK-1]
  if (error == 0 && !b.wrs.empty()) {
    for (size_t i = 0; i < b.wrs.size(); ++i) {
      b.wrs[i].sg_list = b.sges[i].data();
      b.wrs[i].num_sge = static_cast<int>(b.sges[i].size());
      b.wrs[i].next = i + 1 < b.wrs.size() ? &b.wrs[i + 1] : nullptr;
    }
    error = BaseQp::of(qp)->post_all(b.wrs.data());
  }
  clear();
  return error;
}

}  // namespace

uint64_t supported_send_ops(ibv_qp_type type) {
  if (type == IBV_QPT_UD) return IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  return IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
         IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
         IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
}

void fill_wr_functions(ibv_qp_ex* qp, uint64_t ops) {
  if (ops & IBV_QP_EX_WITH_RDMA_WRITE) qp->wr_rdma_write = wr_rdma_write;
  if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) qp->wr_rdma_write_imm = wr_rdma_write_imm;
  if (ops & IBV_QP_EX_WITH_SEND) qp->wr_send = wr_send;
  if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM) qp->wr_send_imm = wr_send_imm;
  if (ops & IBV_QP_EX_WITH_RDMA_READ) qp->wr_rdma_read = wr_rdma_read;
  if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP) qp->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
  if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD) qp->wr_atomic_fetch_add = wr_atomic_fetch_add;
  if (qp->qp_base.qp_type == IBV_QPT_UD) qp->wr_set_ud_addr = wr_set_ud_addr;
  qp->wr_set_sge = wr_set_sge;
  qp->wr_set_sge_list = wr_set_sge_list;
  qp->wr_set_inline_data = wr_set_inline_data;
  qp->wr_set_inline_data_list = wr_set_inline_data_list;
  qp->wr_start = wr_start;
  qp->wr_complete = wr_complete;
  qp->wr_abort = wr_abort;
}

}  // namespace mrc::shim
