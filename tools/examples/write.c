/* Writes from one queue pair to another, both in this process for brevity, over a software device. */
#include <mrc.h>
#include <mrc_soft.h>
#include <stdio.h>
#include <string.h>

static struct mrc_qp* make_qp(struct mrc_context* mrc, struct mrc_cq* cq, struct ibv_pd* pd) {
  struct mrc_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .pd = pd,
                                  .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1}};
  return mrc_create_qp(mrc, &init);
}

static int connect_qp(struct mrc_qp* qp, union ibv_gid peer, uint32_t peer_qpn) {
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
  struct ibv_qp_attr rtr = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = IBV_MTU_4096,
      .dest_qp_num = peer_qpn,
      .rq_psn = 100,
      .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = peer, .sgid_index = 3, .hop_limit = 64}}};
  struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .sq_psn = 100};
  int rc = mrc_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, NULL, 0);
  if (rc == 0)
    rc = mrc_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, NULL, 0);
  return rc != 0 ? rc : mrc_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN, NULL, 0);
}

int main(void) {
  static char from[] = "written over several planes", to[sizeof from];
  struct ibv_context* device = mrc_soft_open_device_by_name(NULL);
  if (device == NULL) return perror("mrc_soft_open_device_by_name"), 1;
  struct mrc_context* mrc = mrc_create_context(device, NULL);
  struct ibv_pd* pd = mrc_soft_alloc_pd(device);
  struct ibv_mr* source = mrc_soft_reg_mr(pd, from, sizeof from, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_mr* target = mrc_soft_reg_mr(pd, to, sizeof to, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  struct mrc_cq* cq = mrc_create_cq(mrc, 16, NULL, NULL, 0);
  struct mrc_qp *a = make_qp(mrc, cq, pd), *b = make_qp(mrc, cq, pd);

  union ibv_gid gid; /* between two programs: GID, QPN, PSN, key and address travel over a socket of yours */
  uint32_t qpn_a, qpn_b;
  mrc_soft_query_gid(device, 1, 3, &gid);
  mrc_get_qpn(a, &qpn_a);
  mrc_get_qpn(b, &qpn_b);
  if (connect_qp(a, gid, qpn_b) != 0 || connect_qp(b, gid, qpn_a) != 0) return perror("mrc_modify_qp"), 1;

  struct ibv_sge sge = {(uintptr_t)from, sizeof from, source->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge,
                           .num_sge = 1,
                           .opcode = IBV_WR_RDMA_WRITE,
                           .send_flags = IBV_SEND_SIGNALED,
                           .wr = {.rdma = {.remote_addr = (uintptr_t)to, .rkey = target->rkey}}},
                     *bad;
  if (mrc_post_send(a, &wr, &bad) != 0) return perror("mrc_post_send"), 1;
  struct ibv_wc wc;
  while (mrc_poll_cq(cq, 1, &wc) == 0) {
  }
  printf("status %d: %s\n", wc.status, to);

  mrc_destroy_qp(a);
  mrc_destroy_qp(b);
  mrc_destroy_cq(cq);
  mrc_soft_dereg_mr(source);
  mrc_soft_dereg_mr(target);
  mrc_destroy_context(mrc);
  mrc_soft_dealloc_pd(pd);
  mrc_soft_close_device(device);
  return wc.status != IBV_WC_SUCCESS || strcmp(from, to) != 0;
}
