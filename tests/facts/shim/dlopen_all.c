/* Opens the shim by path, as programs do that take verbs from a library named by a variable, and takes every symbol by
 * dlvsym with the version it has in libibverbs [VRB-INT-1]. Then moves data: without LD_PRELOAD, without linking
 * libibverbs.
 *
 * Then closes the library while a device with a queue pair is open: its threads go on, and so does the process
 * [VRB-INT-4].
 *
 * usage: dlopen_all /path/libmrc-verbs.so */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef ibv_get_device_list
#undef ibv_reg_mr

static const char* const kSymbols[][2] = {
    {"ibv_create_comp_channel", "IBVERBS_1.0"},
    {"ibv_destroy_comp_channel", "IBVERBS_1.0"},
    {"ibv_read_sysfs_file", "IBVERBS_1.0"},
    {"ibv_get_sysfs_path", "IBVERBS_1.0"},
    {"ibv_rate_to_mult", "IBVERBS_1.0"},
    {"mult_to_ibv_rate", "IBVERBS_1.0"},
    {"ibv_get_device_list", "IBVERBS_1.1"},
    {"ibv_free_device_list", "IBVERBS_1.1"},
    {"ibv_get_device_name", "IBVERBS_1.1"},
    {"ibv_get_device_guid", "IBVERBS_1.1"},
    {"ibv_open_device", "IBVERBS_1.1"},
    {"ibv_close_device", "IBVERBS_1.1"},
    {"ibv_get_async_event", "IBVERBS_1.1"},
    {"ibv_ack_async_event", "IBVERBS_1.1"},
    {"ibv_query_device", "IBVERBS_1.1"},
    {"ibv_query_port", "IBVERBS_1.1"},
    {"ibv_query_gid", "IBVERBS_1.1"},
    {"ibv_query_pkey", "IBVERBS_1.1"},
    {"ibv_alloc_pd", "IBVERBS_1.1"},
    {"ibv_dealloc_pd", "IBVERBS_1.1"},
    {"ibv_reg_mr", "IBVERBS_1.1"},
    {"ibv_dereg_mr", "IBVERBS_1.1"},
    {"ibv_rereg_mr", "IBVERBS_1.1"},
    {"ibv_create_cq", "IBVERBS_1.1"},
    {"ibv_resize_cq", "IBVERBS_1.1"},
    {"ibv_destroy_cq", "IBVERBS_1.1"},
    {"ibv_get_cq_event", "IBVERBS_1.1"},
    {"ibv_ack_cq_events", "IBVERBS_1.1"},
    {"ibv_create_srq", "IBVERBS_1.1"},
    {"ibv_modify_srq", "IBVERBS_1.1"},
    {"ibv_query_srq", "IBVERBS_1.1"},
    {"ibv_destroy_srq", "IBVERBS_1.1"},
    {"ibv_create_qp", "IBVERBS_1.1"},
    {"ibv_modify_qp", "IBVERBS_1.1"},
    {"ibv_query_qp", "IBVERBS_1.1"},
    {"ibv_destroy_qp", "IBVERBS_1.1"},
    {"ibv_create_ah", "IBVERBS_1.1"},
    {"ibv_destroy_ah", "IBVERBS_1.1"},
    {"ibv_attach_mcast", "IBVERBS_1.1"},
    {"ibv_detach_mcast", "IBVERBS_1.1"},
    {"ibv_init_ah_from_wc", "IBVERBS_1.1"},
    {"ibv_create_ah_from_wc", "IBVERBS_1.1"},
    {"ibv_fork_init", "IBVERBS_1.1"},
    {"ibv_event_type_str", "IBVERBS_1.1"},
    {"ibv_wc_status_str", "IBVERBS_1.1"},
    {"ibv_port_state_str", "IBVERBS_1.1"},
    {"ibv_node_type_str", "IBVERBS_1.1"},
    {"ibv_resolve_eth_l2_from_gid", "IBVERBS_1.1"},
    {"ibv_rate_to_mbps", "IBVERBS_1.1"},
    {"mbps_to_ibv_rate", "IBVERBS_1.1"},
    {"ibv_get_pkey_index", "IBVERBS_1.5"},
    {"ibv_qp_to_qp_ex", "IBVERBS_1.6"},
    {"ibv_reg_mr_iova", "IBVERBS_1.7"},
    {"ibv_reg_mr_iova2", "IBVERBS_1.8"},
    {"ibv_get_device_index", "IBVERBS_1.9"},
    {"ibv_query_ece", "IBVERBS_1.10"},
    {"ibv_set_ece", "IBVERBS_1.10"},
    {"ibv_import_device", "IBVERBS_1.10"},
    {"ibv_import_mr", "IBVERBS_1.10"},
    {"ibv_unimport_mr", "IBVERBS_1.10"},
    {"ibv_import_pd", "IBVERBS_1.10"},
    {"ibv_unimport_pd", "IBVERBS_1.10"},
    {"_ibv_query_gid_ex", "IBVERBS_1.11"},
    {"_ibv_query_gid_table", "IBVERBS_1.11"},
    {"ibv_reg_dmabuf_mr", "IBVERBS_1.12"},
    {"ibv_is_fork_initialized", "IBVERBS_1.13"},
    {"ibv_import_dm", "IBVERBS_1.13"},
    {"ibv_unimport_dm", "IBVERBS_1.13"},
    {"ibv_query_qp_data_in_order", "IBVERBS_1.14"},
    {"ibv_query_gid_type", "IBVERBS_PRIVATE_34"},
};

static void* library;

static void* symbol(const char* name, const char* version) {
  void* found = dlvsym(library, name, version);
  if (found == NULL) {
    fprintf(stderr, "no %s@%s\n", name, version);
    exit(1);
  }
  return found;
}
#define EACH_TAKEN(TAKE)                    \
  TAKE(ibv_get_device_list, "IBVERBS_1.1")  \
  TAKE(ibv_free_device_list, "IBVERBS_1.1") \
  TAKE(ibv_open_device, "IBVERBS_1.1")      \
  TAKE(ibv_close_device, "IBVERBS_1.1")     \
  TAKE(ibv_query_gid, "IBVERBS_1.1")        \
  TAKE(ibv_alloc_pd, "IBVERBS_1.1")         \
  TAKE(ibv_dealloc_pd, "IBVERBS_1.1")       \
  TAKE(ibv_reg_mr, "IBVERBS_1.1")           \
  TAKE(ibv_dereg_mr, "IBVERBS_1.1")         \
  TAKE(ibv_reg_dmabuf_mr, "IBVERBS_1.12")   \
  TAKE(ibv_create_cq, "IBVERBS_1.1")        \
  TAKE(ibv_destroy_cq, "IBVERBS_1.1")       \
  TAKE(ibv_create_qp, "IBVERBS_1.1")        \
  TAKE(ibv_modify_qp, "IBVERBS_1.1")        \
  TAKE(ibv_destroy_qp, "IBVERBS_1.1")
#define DECLARE(name, version) static __typeof__(name)* p_##name;
#define TAKE(name, version) p_##name = (__typeof__(name)*)symbol(#name, version);
EACH_TAKEN(DECLARE)
#define CHECK(what)  \
  do {               \
    if (!(what)) {   \
      perror(#what); \
      return 1;      \
    }                \
  } while (0)

static char from[] = "a queue pair connected to itself", to[64];

static int connect_to_itself(struct ibv_qp* qp, const union ibv_gid* gid) {
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_READ};
  CHECK(p_ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
                            .path_mtu = IBV_MTU_4096,
                            .dest_qp_num = qp->qp_num,
                            .rq_psn = 7,
                            .max_dest_rd_atomic = 1,
                            .min_rnr_timer = 12,
                            .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = *gid, .sgid_index = 3}}};
  CHECK(p_ibv_modify_qp(qp, &rtr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  struct ibv_qp_attr rts = {
      .qp_state = IBV_QPS_RTS, .sq_psn = 7, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  CHECK(p_ibv_modify_qp(qp, &rts,
                        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_MAX_QP_RD_ATOMIC) == 0);
  return 0;
}

/* The READ to itself with which plugins for GPU memory make writes visible. */
static int read_from_itself(struct ibv_qp* qp, struct ibv_cq* cq, const struct ibv_mr* source,
                            const struct ibv_mr* target) {
  struct ibv_sge sge = {(uintptr_t)to, sizeof from, target->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge,
                           .num_sge = 1,
                           .opcode = IBV_WR_RDMA_READ,
                           .send_flags = IBV_SEND_SIGNALED,
                           .wr = {.rdma = {.remote_addr = (uintptr_t)from, .rkey = source->rkey}}},
                     *bad;
  CHECK(ibv_post_send(qp, &wr, &bad) == 0);
  struct ibv_wc wc;
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
  }
  CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RDMA_READ && strcmp(from, to) == 0);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 2 || (library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) == NULL) {
    fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: dlopen_all LIBRARY");
    return 1;
  }
  for (size_t i = 0; i < sizeof kSymbols / sizeof kSymbols[0]; ++i) symbol(kSymbols[i][0], kSymbols[i][1]);
  EACH_TAKEN(TAKE)

  int devices = 0;
  struct ibv_device** list = p_ibv_get_device_list(&devices);
  CHECK(list != NULL && devices >= 1);
  struct ibv_context* context = p_ibv_open_device(list[devices - 1]);
  CHECK(context != NULL);
  p_ibv_free_device_list(list);
  struct ibv_pd* pd = p_ibv_alloc_pd(context);
  CHECK(pd != NULL);
  errno = 0;
  CHECK(p_ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, 0) == NULL && errno == EOPNOTSUPP);
  struct ibv_mr* source = p_ibv_reg_mr(pd, from, sizeof from, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  struct ibv_mr* target = p_ibv_reg_mr(pd, to, sizeof to, IBV_ACCESS_LOCAL_WRITE);
  CHECK(source != NULL && target != NULL);
  struct ibv_cq* cq = p_ibv_create_cq(context, 16, NULL, NULL, 0);
  CHECK(cq != NULL);
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* qp = p_ibv_create_qp(pd, &init);
  CHECK(qp != NULL);
  union ibv_gid gid;
  CHECK(p_ibv_query_gid(context, 1, 3, &gid) == 0);
  if (connect_to_itself(qp, &gid) != 0 || read_from_itself(qp, cq, source, target) != 0) return 1;
  CHECK(p_ibv_destroy_qp(qp) == 0 && p_ibv_destroy_cq(cq) == 0 && p_ibv_dereg_mr(source) == 0 &&
        p_ibv_dereg_mr(target) == 0 && p_ibv_dealloc_pd(pd) == 0);
  printf("%s\n", to);

  pd = p_ibv_alloc_pd(context);
  init.send_cq = init.recv_cq = p_ibv_create_cq(context, 16, NULL, NULL, 0);
  CHECK(pd != NULL && init.send_cq != NULL && p_ibv_create_qp(pd, &init) != NULL);
  CHECK(dlclose(library) == 0);
  usleep(300000); /* in which threads of an unmapped library would crash */
  return 0;
}
