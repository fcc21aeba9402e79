// The ibv_cq_ex interface: one completion at a time, read through functions.
#include "clock_ns.h"
#include "objects/completion_queue.h"

namespace mrc::shim {

namespace {

const ibv_wc& current(ibv_cq_ex* cq) {
  return Cq::of(cq)->current();
}

int next_poll(ibv_cq_ex* cq) {
  Cq* const of = Cq::of(cq);
  if (const int error = of->next()) return error;
  cq->status = of->current().status;
  cq->wr_id = of->current().wr_id;
  return 0;
}
int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
  return attr != nullptr && attr->comp_mask != 0 ? EINVAL : next_poll(cq);
}
void end_poll(ibv_cq_ex*) {}

ibv_wc_opcode read_opcode(ibv_cq_ex* cq) {
  return current(cq).opcode;
}
uint32_t read_vendor_err(ibv_cq_ex* cq) {
  return current(cq).vendor_err;
}
uint32_t read_byte_len(ibv_cq_ex* cq) {
  return current(cq).byte_len;
}
__be32 read_imm_data(ibv_cq_ex* cq) {
  return current(cq).imm_data;
}
uint32_t read_qp_num(ibv_cq_ex* cq) {
  return current(cq).qp_num;
}
uint32_t read_src_qp(ibv_cq_ex* cq) {
  return current(cq).src_qp;
}
unsigned read_wc_flags(ibv_cq_ex* cq) {
  return current(cq).wc_flags;
}
uint32_t read_slid(ibv_cq_ex* cq) {
  return current(cq).slid;
}
uint8_t read_sl(ibv_cq_ex* cq) {
  return current(cq).sl;
}
uint8_t read_dlid_path_bits(ibv_cq_ex* cq) {
  return current(cq).dlid_path_bits;
}
// The time of reading: completions carry none.
uint64_t read_wallclock(ibv_cq_ex*) {
  return static_cast<uint64_t>(environment::clock_ns(CLOCK_REALTIME));
}

}  // namespace

void fill_poll_functions(ibv_cq_ex* cq, uint64_t wc_flags) {
  cq->start_poll = start_poll;
  cq->next_poll = next_poll;
  cq->end_poll = end_poll;
  cq->read_opcode = read_opcode;
  cq->read_vendor_err = read_vendor_err;
  cq->read_wc_flags = read_wc_flags;
  if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN) cq->read_byte_len = read_byte_len;
  if (wc_flags & IBV_WC_EX_WITH_IMM) cq->read_imm_data = read_imm_data;
  if (wc_flags & IBV_WC_EX_WITH_QP_NUM) cq->read_qp_num = read_qp_num;
  if (wc_flags & IBV_WC_EX_WITH_SRC_QP) cq->read_src_qp = read_src_qp;
  if (wc_flags & IBV_WC_EX_WITH_SLID) cq->read_slid = read_slid;
  if (wc_flags & IBV_WC_EX_WITH_SL) cq->read_sl = read_sl;
  if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS) cq->read_dlid_path_bits = read_dlid_path_bits;
  if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) cq->read_completion_wallclock_ns = read_wallclock;
}

}  // namespace mrc::shim
