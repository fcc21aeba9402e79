/* Calls every function of names.txt with objects of the shim, in a process whose libibverbs is a stand-in that ends the
 * process when one of its functions is reached with an object (standin.c). So no object of ours ever reaches the real
 * library, for any answer of the function.
 *
 * Linked with the stand-in, run with the shim preloaded. usage: foreign names.txt */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAIL(...) (fprintf(stderr, __VA_ARGS__), exit(1))

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_get_device_list

int ibv_query_gid_type(struct ibv_context*, uint8_t, unsigned, unsigned*);
int ibv_read_sysfs_file(const char*, const char*, char*, size_t);

/* What Debian's header does not have yet: parameters as in verbs.h of rdma-core 65. */
struct mr_init_attr {
  size_t length;
  int access;
  uint64_t comp_mask, iova;
  void* addr;
  int fd;
  uint64_t fd_offset;
  void *dmah, *buf;
};
struct of_context {
  struct ibv_context* context;
  uint64_t more[4];
};
typedef struct ibv_mr* reg_mr_ex_fn(struct ibv_pd*, struct mr_init_attr*);
typedef void* of_context_fn(struct ibv_context*, void*);
typedef int of_object_fn(struct of_context*);
typedef int counter_fn(struct of_context*, uint64_t);
typedef int counter_read_fn(struct of_context*, uint64_t*);

static struct {
  char version[32], name[48];
  int object, called;
} names[256];
static int count;

static void read_names(const char* file) {
  FILE* in = fopen(file, "r");
  char line[256], kind[16];
  while (in != NULL && fgets(line, sizeof line, in) != NULL) {
    if (line[0] == '#' || sscanf(line, "%31s %47s %15s", names[count].version, names[count].name, kind) != 3) continue;
    names[count++].object = strcmp(kind, "object") == 0;
  }
  if (count < 90) FAIL("%s: %d names\n", file, count);
  fclose(in);
}

/* The function as a preloaded program gets it, which must be the shim's. */
static void* take(const char* name) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(names[i].name, name) != 0) continue;
    names[i].called = 1;
    void* found = dlvsym(RTLD_DEFAULT, name, names[i].version);
    Dl_info info;
    if (found == NULL || dladdr(found, &info) == 0 || strstr(info.dli_fname, "libmrc-verbs.so") == NULL)
      FAIL("%s@%s is not the shim's\n", name, names[i].version);
    errno = 0;
    return found;
  }
  FAIL("%s is not listed\n", name);
}
#define TYPED(type, name) ((__typeof__(type)*)take(#name))
#define OUR(name) TYPED(__typeof__(name), name)

static int failures;
#define CHECK(what)                                                                                   \
  do {                                                                                                \
    if (!(what)) failures += fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #what, errno) > 0; \
  } while (0)
#define REFUSED(what) CHECK((what) && errno == EOPNOTSUPP)

static char memory[1 << 16] __attribute__((aligned(4096)));
static struct ibv_context* ctx;
static struct ibv_pd* pd;
static struct ibv_cq* cq;

static void device_and_context(void) {
  int n = 0;
  struct ibv_device** list = OUR(ibv_get_device_list)(&n);
  if (list == NULL || n < 1) FAIL("no device\n");
  CHECK(strncmp(OUR(ibv_get_device_name)(list[0]), "mrc", 3) == 0);
  CHECK(OUR(ibv_get_device_index)(list[0]) > 0);
  CHECK(OUR(ibv_get_device_guid)(list[0]) != 0);
  ctx = OUR(ibv_open_device)(list[0]);
  OUR(ibv_free_device_list)(list);
  if (ctx == NULL) FAIL("no context\n");
  struct ibv_device_attr device;
  CHECK(OUR(ibv_query_device)(ctx, &device) == 0);
  struct ibv_port_attr port;
  CHECK(OUR(ibv_query_port)(ctx, 1, (struct _compat_ibv_port_attr*)&port) == 0);
  union ibv_gid gid;
  CHECK(OUR(ibv_query_gid)(ctx, 1, 3, &gid) == 0);
  unsigned type = 0;
  CHECK(OUR(ibv_query_gid_type)(ctx, 1, 3, &type) == 0 && type == 1);
  struct ibv_gid_entry entries[64];
  CHECK(OUR(_ibv_query_gid_ex)(ctx, 1, 3, entries, 0, sizeof entries[0]) == 0);
  CHECK(OUR(_ibv_query_gid_table)(ctx, entries, 64, 0, sizeof entries[0]) > 0);
  __be16 pkey;
  CHECK(OUR(ibv_query_pkey)(ctx, 1, 0, &pkey) == 0);
  CHECK(OUR(ibv_get_pkey_index)(ctx, 1, pkey) == 0);
  struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .sgid_index = 3}};
  uint8_t mac[6];
  uint16_t vid;
  REFUSED(OUR(ibv_resolve_eth_l2_from_gid)(ctx, &ah, mac, &vid) == -1);
  /* To share a device, programs pass a copy of its descriptor on. Other descriptors are libibverbs'. */
  const int copy = dup(ctx->cmd_fd), other = open("/dev/null", O_RDWR);
  CHECK(copy >= 0 && other >= 0);
  REFUSED(OUR(ibv_import_device)(copy) == NULL);
  REFUSED(OUR(ibv_import_device)(-1) == NULL);
  CHECK(OUR(ibv_import_device)(other) == NULL && errno == 0);
  close(copy);
  close(other);
  char text[64];
  CHECK(OUR(ibv_read_sysfs_file)(ctx->device->ibdev_path, "node_type", text, sizeof text) == 5);
}

static void memory_regions(void) {
  pd = OUR(ibv_alloc_pd)(ctx);
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  struct ibv_mr* mr = OUR(ibv_reg_mr)(pd, memory, sizeof memory, access);
  CHECK(mr != NULL);
  CHECK(OUR(ibv_rereg_mr)(mr, IBV_REREG_MR_CHANGE_ACCESS, pd, memory, sizeof memory, access) == 0);
  OUR(ibv_unimport_mr)(mr);
  CHECK(OUR(ibv_dereg_mr)(mr) == 0);
  CHECK((mr = OUR(ibv_reg_mr_iova)(pd, memory, sizeof memory, 0, access)) != NULL && ibv_dereg_mr(mr) == 0);
  CHECK((mr = OUR(ibv_reg_mr_iova2)(pd, memory, sizeof memory, 0, access)) != NULL && ibv_dereg_mr(mr) == 0);
  REFUSED(OUR(ibv_reg_dmabuf_mr)(pd, 0, 4096, 0, -1, access) == NULL);
  REFUSED(OUR(ibv_import_pd)(ctx, 1) == NULL);
  OUR(ibv_unimport_pd)(pd);
  REFUSED(OUR(ibv_import_mr)(pd, 1) == NULL);
  REFUSED(OUR(ibv_import_dm)(ctx, 1) == NULL);
  struct ibv_dm dm = {.context = ctx};
  OUR(ibv_unimport_dm)(&dm);
  REFUSED(TYPED(of_object_fn, ibv_dm_export_dmabuf_fd)((struct of_context*)&dm) == -1);
  struct of_context handle = {.context = ctx};
  REFUSED(TYPED(of_context_fn, ibv_alloc_dmah)(ctx, memory) == NULL);
  REFUSED(TYPED(of_object_fn, ibv_dealloc_dmah)(&handle) == EOPNOTSUPP);
}

/* Functions that verbs.h defines itself, and that call through a context. */
static void inline_functions(void) {
  struct ibv_xrcd_init_attr xrcd = {0};
  REFUSED(ibv_open_xrcd(ctx, &xrcd) == NULL);
  struct ibv_srq_init_attr_ex srq = {.attr = {.max_wr = 4, .max_sge = 1},
                                     .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
                                     .srq_type = IBV_SRQT_XRC,
                                     .pd = pd};
  REFUSED(ibv_create_srq_ex(ctx, &srq) == NULL);
  struct ibv_qp_open_attr open_attr = {0};
  REFUSED(ibv_open_qp(ctx, &open_attr) == NULL);
  REFUSED(ibv_alloc_null_mr(pd) == NULL);
  struct ibv_alloc_dm_attr dm = {.length = 64};
  REFUSED(ibv_alloc_dm(ctx, &dm) == NULL);
  struct ibv_sge range = {(uintptr_t)memory, sizeof memory, 0};
  CHECK(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &range, 1) == EOPNOTSUPP);
  struct ibv_device_attr_ex device;
  CHECK(ibv_query_device_ex(ctx, NULL, &device) == 0 && device.odp_caps.general_caps == 0 && device.max_dm_size == 0);
}

enum { IOVA = 1, ADDR = 2, FD = 4, FD_OFFSET = 8, DMAH = 16, BUF = 32, LATER = 64 };

static void registration_by_attributes(void) {
  reg_mr_ex_fn* reg_mr_ex = TYPED(reg_mr_ex_fn, ibv_reg_mr_ex);
  struct mr_init_attr attr = {.length = 4096, .access = IBV_ACCESS_LOCAL_WRITE, .comp_mask = ADDR, .addr = memory};
  struct ibv_mr* mr = reg_mr_ex(pd, &attr);
  CHECK(mr != NULL && mr->addr == memory && mr->length == 4096 && mr->lkey != 0 && ibv_dereg_mr(mr) == 0);
  attr.comp_mask = ADDR | IOVA;
  attr.iova = 1 << 20;
  CHECK((mr = reg_mr_ex(pd, &attr)) != NULL && ibv_dereg_mr(mr) == 0);
  attr.comp_mask = IOVA;
  CHECK(reg_mr_ex(pd, &attr) == NULL && errno == EINVAL);
  for (int bit = FD; bit <= LATER; bit *= 2) {
    attr.comp_mask = (uint64_t)(ADDR | bit);
    errno = 0;
    if (bit != BUF) REFUSED(reg_mr_ex(pd, &attr) == NULL);
  }
}

static void buffers(void) {
  void *buf = NULL, *at = TYPED(void*(struct ibv_pd*, size_t, void**), ibv_alloc_buf)(pd, 5000, &buf);
  CHECK(at != NULL && (uintptr_t)at % 4096 == 0 && buf != NULL);
  memset(at, 1, 5000);
  struct ibv_mr* (*reg_buf_mr)(struct ibv_pd*, void*, void*, size_t, int) =
      TYPED(struct ibv_mr * (struct ibv_pd*, void*, void*, size_t, int), ibv_reg_buf_mr);
  struct ibv_mr* mr = reg_buf_mr(pd, buf, (char*)at + 1000, 4000, IBV_ACCESS_LOCAL_WRITE);
  CHECK(mr != NULL && mr->length == 4000 && ibv_dereg_mr(mr) == 0);
  CHECK(reg_buf_mr(pd, buf, (char*)at + 1000, 4001, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EINVAL);
  CHECK(reg_buf_mr(pd, buf, (char*)at - 1, 2, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EINVAL);
  CHECK(reg_buf_mr(pd, memory, memory, 2, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EINVAL);
  struct ibv_pd* other = TYPED(struct ibv_pd * (struct ibv_context*), ibv_alloc_pd)(pd->context);
  CHECK(reg_buf_mr(other, buf, at, 100, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EINVAL);
  CHECK(TYPED(int(struct ibv_pd*), ibv_dealloc_pd)(other) == 0);
  CHECK(TYPED(int(void*), ibv_export_buf_dmabuf_fd)(buf) == -1 && errno == ENODATA);
  TYPED(void(void*), ibv_free_buf)(buf);
  CHECK(reg_buf_mr(pd, buf, at, 1, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EINVAL);
  void* none = NULL;
  CHECK(TYPED(void*(struct ibv_pd*, size_t, void**), ibv_alloc_buf)(pd, 0, &none) == NULL && errno == EINVAL);
}

static void speed_and_counters(struct ibv_qp* qp) {
  uint64_t speed = 0;
  int (*query)(struct ibv_context*, uint32_t, uint64_t*) =
      TYPED(int(struct ibv_context*, uint32_t, uint64_t*), ibv_query_port_speed);
  CHECK(query(ctx, 1, &speed) == 0 && speed > 0);
  CHECK(query(ctx, 2, &speed) == EINVAL);
  REFUSED(TYPED(int(struct ibv_context*, void*, size_t), _ibv_query_comp_cntr_caps)(ctx, memory, 16) == EOPNOTSUPP);
  REFUSED(TYPED(of_context_fn, ibv_create_comp_cntr)(ctx, memory) == NULL);
  struct of_context counter = {.context = ctx};
  REFUSED(TYPED(int(struct ibv_qp*, void*, void*), ibv_qp_attach_comp_cntr)(qp, &counter, memory) == EOPNOTSUPP);
  REFUSED(TYPED(counter_fn, ibv_set_comp_cntr)(&counter, 1) == EOPNOTSUPP);
  REFUSED(TYPED(counter_fn, ibv_set_err_comp_cntr)(&counter, 1) == EOPNOTSUPP);
  REFUSED(TYPED(counter_fn, ibv_inc_comp_cntr)(&counter, 1) == EOPNOTSUPP);
  REFUSED(TYPED(counter_fn, ibv_inc_err_comp_cntr)(&counter, 1) == EOPNOTSUPP);
  REFUSED(TYPED(counter_read_fn, ibv_read_comp_cntr)(&counter, &speed) == EOPNOTSUPP);
  REFUSED(TYPED(counter_read_fn, ibv_read_err_comp_cntr)(&counter, &speed) == EOPNOTSUPP);
  REFUSED(TYPED(of_object_fn, ibv_destroy_comp_cntr)(&counter) == EOPNOTSUPP);
}

static void queues(void) {
  struct ibv_comp_channel* channel = OUR(ibv_create_comp_channel)(ctx);
  cq = OUR(ibv_create_cq)(ctx, 16, NULL, channel, 0);
  CHECK(OUR(ibv_resize_cq)(cq, 32) == 0);
  struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 16, .max_sge = 1}};
  struct ibv_srq* srq = OUR(ibv_create_srq)(pd, &srq_init);
  struct ibv_srq_attr srq_attr = {.srq_limit = 0};
  CHECK(OUR(ibv_modify_srq)(srq, &srq_attr, IBV_SRQ_LIMIT) == 0);
  CHECK(OUR(ibv_query_srq)(srq, &srq_attr) == 0);
  struct ibv_qp_init_attr init = {
      .send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 4, .max_send_sge = 1}};
  struct ibv_qp* qp = OUR(ibv_create_qp)(pd, &init);
  CHECK(qp != NULL);
  OUR(ibv_qp_to_qp_ex)(qp);
  CHECK(OUR(ibv_query_qp_data_in_order)(qp, IBV_WR_RDMA_WRITE, 0) == 0);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  CHECK(OUR(ibv_modify_qp)(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  CHECK(OUR(ibv_query_qp)(qp, &attr, IBV_QP_STATE, &init) == 0 && attr.qp_state == IBV_QPS_INIT);
  struct ibv_ece ece = {0};
  REFUSED(OUR(ibv_set_ece)(qp, &ece) == EOPNOTSUPP);
  REFUSED(OUR(ibv_query_ece)(qp, &ece) == EOPNOTSUPP);
  union ibv_gid gid;
  ibv_query_gid(ctx, 1, 3, &gid);
  CHECK(OUR(ibv_attach_mcast)(qp, &gid, 0) == EINVAL);
  CHECK(OUR(ibv_detach_mcast)(qp, &gid, 0) == EINVAL);
  speed_and_counters(qp);

  /* An event of the completion queue: the queue pair fails, and what was posted completes. */
  CHECK(ibv_req_notify_cq(cq, 0) == 0);
  attr.qp_state = IBV_QPS_ERR;
  CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
  struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
  CHECK(ibv_post_send(qp, &wr, &bad) == 0);
  struct ibv_cq* of = NULL;
  void* of_context;
  CHECK(OUR(ibv_get_cq_event)(channel, &of, &of_context) == 0 && of == cq);
  OUR(ibv_ack_cq_events)(cq, 1);
  struct ibv_wc wc;
  CHECK(ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_WR_FLUSH_ERR);
  /* The failed queue pair on a shared receive queue raises an asynchronous event. */
  struct ibv_async_event event;
  CHECK(OUR(ibv_get_async_event)(ctx, &event) == 0);
  OUR(ibv_ack_async_event)(&event);
  CHECK(OUR(ibv_destroy_qp)(qp) == 0);
  CHECK(OUR(ibv_destroy_srq)(srq) == 0);

  struct ibv_ah_attr ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .sgid_index = 3}};
  struct ibv_ah* ah = OUR(ibv_create_ah)(pd, &ah_attr);
  CHECK(ah != NULL && OUR(ibv_destroy_ah)(ah) == 0);
  struct ibv_grh grh = {0};
  ah = OUR(ibv_create_ah_from_wc)(pd, &wc, &grh, 1);
  CHECK(ah == NULL || ibv_destroy_ah(ah) == 0);
  OUR(ibv_init_ah_from_wc)(ctx, 1, &wc, &grh, &ah_attr);
  CHECK(OUR(ibv_destroy_cq)(cq) == 0);
  CHECK(OUR(ibv_destroy_comp_channel)(channel) == 0);
}

int main(int argc, char** argv) {
  if (argc != 2) FAIL("usage: %s names.txt\n", argv[0]);
  read_names(argv[1]);
  device_and_context();
  memory_regions();
  inline_functions();
  registration_by_attributes();
  buffers();
  queues();
  CHECK(OUR(ibv_dealloc_pd)(pd) == 0);
  CHECK(OUR(ibv_close_device)(ctx) == 0);
  int called = 0;
  for (int i = 0; i < count; ++i) {
    if (names[i].object && !names[i].called) failures += fprintf(stderr, "%s was not called\n", names[i].name) > 0;
    if (!names[i].object) take(names[i].name);
    called += names[i].object;
  }
  if (failures == 0) printf("%d functions with objects, none reached libibverbs\n", called);
  return failures != 0;
}
