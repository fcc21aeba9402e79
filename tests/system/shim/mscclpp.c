/* Does with verbs what the host side of MSCCL++ does, which needs CUDA: two processes, one connection for each GID,
 * data from 1 KB to 64 MB by WRITE in both directions, and behind each message a signal: a FETCH_ADD on eight bytes of
 * the peer, or without atomics a WRITE WITH IMMEDIATE of no bytes, which a thread receives. Every byte is compared.
 *
 * Functions are looked up without a version, in a library opened by path: from LIBRARY, or, as MSCCL++ can be told for
 * MRC (VMRC_LIBIBVERBS_SO), some from LIBRARY and the others from OTHERS.
 *
 * usage: mscclpp atomics|immediates LARGEST LIBRARY [OTHERS] */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#undef ibv_get_device_list
#undef ibv_reg_mr
#undef ibv_query_port

#define CHECK(what)                                                                                \
  do {                                                                                             \
    if (!(what)) fprintf(stderr, "line %d: %s: %s\n", __LINE__, #what, strerror(errno)), _exit(1); \
  } while (0)

/* Of these the first are MSCCL++'s choice of what an MRC library serves. */
#define FROM_LIBRARY(TAKE)  \
  TAKE(ibv_get_device_list) \
  TAKE(ibv_get_device_name) \
  TAKE(ibv_open_device)     \
  TAKE(ibv_close_device)    \
  TAKE(ibv_query_qp)        \
  TAKE(ibv_create_cq)       \
  TAKE(ibv_destroy_cq)      \
  TAKE(ibv_create_qp)       \
  TAKE(ibv_modify_qp)       \
  TAKE(ibv_destroy_qp)
#define FROM_OTHERS(TAKE)    \
  TAKE(ibv_free_device_list) \
  TAKE(ibv_alloc_pd)         \
  TAKE(ibv_dealloc_pd)       \
  TAKE(ibv_query_device)     \
  TAKE(ibv_query_gid)        \
  TAKE(ibv_reg_mr_iova2)     \
  TAKE(ibv_reg_dmabuf_mr)    \
  TAKE(ibv_dereg_mr)         \
  TAKE(ibv_wc_status_str)
#define DECLARE(name) static __typeof__(name)* p_##name;
FROM_LIBRARY(DECLARE)
FROM_OTHERS(DECLARE)

static void* library;
static void* open_library(const char* path) {
  void* const opened = dlopen(path, RTLD_NOW);
  if (opened == NULL) fprintf(stderr, "%s\n", dlerror()), _exit(1);
  return opened;
}
#define TAKE(name) CHECK((p_##name = (__typeof__(p_##name))dlsym(library, #name)) != NULL);

enum { kSendCqSize = 1024, kPoll = 256, kSendWr = 8192, kReceives = 16, kSmallest = 1024, kOffset = 1000 };
#define ACCESS                                                                                               \
  (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_RELAXED_ORDERING | \
   IBV_ACCESS_REMOTE_ATOMIC)

static int atomics, rank, peer_socket; /* the socket is the way by which MSCCL++ bootstraps */
static size_t largest;
static struct ibv_context* ctx;
static struct ibv_pd* pd;
static struct ibv_port_attr port;

/* An end of a connection. */
struct info {
  uint32_t qpn, mtu;
  union ibv_gid gid;
  uint64_t data, signal;
  uint32_t data_rkey, signal_rkey;
};

static void exchange(const void* mine, void* other, size_t size) {
  CHECK(send(peer_socket, mine, size, 0) == (ssize_t)size);
  CHECK(recv(peer_socket, other, size, MSG_WAITALL) == (ssize_t)size);
}

static void barrier(void) {
  char other, mine = 0;
  exchange(&mine, &other, 1);
}

/* The other process has its turn, and has to be there. */
static void wait_on(void) {
  char next;
  sched_yield();
  CHECK(recv(peer_socket, &next, 1, MSG_PEEK | MSG_DONTWAIT) != 0);
}

/* Memory is registered in whole pages, so that regions of neighbours overlap. */
static struct ibv_mr* register_pages(void* at, size_t size) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)at & -page;
  const size_t pages = (size + ((uintptr_t)at - first) + page - 1) / page;
  struct ibv_mr* const mr = p_ibv_reg_mr_iova2(pd, (void*)first, pages * page, first, ACCESS);
  CHECK(mr != NULL);
  return mr;
}

/* One after another, and none at the start of a page. */
static struct {
  uint8_t *out, *in;
  _Atomic uint64_t* signal; /* the peer adds here, or the thread stores what it receives */
  uint64_t* before;         /* where FETCH_ADD returns the value from before */
  struct ibv_mr *out_mr, *in_mr, *signal_mr, *before_mr;
} memory;

static void make_memory(void) {
  const size_t all = 2 * largest + 2 * kOffset + 64;
  uint8_t* const start = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(start != MAP_FAILED);
  memory.out = start + kOffset;
  memory.in = memory.out + largest + kOffset;
  memory.signal = (_Atomic uint64_t*)(((uintptr_t)memory.in + largest + 7) & -(uintptr_t)8);
  memory.before = (uint64_t*)memory.signal + 1;
  memory.out_mr = register_pages(memory.out, largest);
  memory.in_mr = register_pages(memory.in, largest);
  memory.signal_mr = register_pages((void*)memory.signal, 8);
  memory.before_mr = register_pages(memory.before, 8);
}

static void open_device(void) {
  int n = 0;
  struct ibv_device** const list = p_ibv_get_device_list(&n);
  CHECK(list != NULL);
  for (int i = 0; i < n && ctx == NULL; ++i)
    if (strcmp(p_ibv_get_device_name(list[i]), "mrc0") == 0) CHECK((ctx = p_ibv_open_device(list[i])) != NULL);
  p_ibv_free_device_list(list);
  CHECK(ctx != NULL);
  errno = 0;
  pd = p_ibv_alloc_pd(ctx);
  if (pd == NULL) printf("ibv_alloc_pd: errno %d\n", errno), fflush(stdout), _exit(3);
  struct ibv_device_attr device;
  memset(&device, 0, sizeof device);
  CHECK(p_ibv_query_device(ctx, &device) == 0 && device.atomic_cap == IBV_ATOMIC_HCA && device.phys_port_cnt == 1);
  CHECK(device.max_qp_wr >= kSendWr);
  struct verbs_context* const extended = verbs_get_ctx_op(ctx, query_port);
  CHECK(extended != NULL && extended->query_port(ctx, 1, &port, sizeof port) == 0);
  CHECK(port.state == IBV_PORT_ACTIVE && port.link_layer == IBV_LINK_LAYER_ETHERNET);
  /* GPU memory is not for us, and this errno is what MSCCL++ and others understand as that. */
  errno = 0;
  CHECK(p_ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, ACCESS) == NULL && errno == EOPNOTSUPP);
}

static struct ibv_cq *send_cq, *recv_cq;
static struct ibv_qp* qp;
static struct info peer;
static int pending; /* completions */

static void post_receive(void) {
  struct ibv_recv_wr wr = {.num_sge = 0}, *bad;
  CHECK(ctx->ops.post_recv(qp, &wr, &bad) == 0);
}

static void make_qp(void) {
  CHECK((send_cq = p_ibv_create_cq(ctx, kSendCqSize, NULL, NULL, 0)) != NULL);
  if (!atomics) CHECK((recv_cq = p_ibv_create_cq(ctx, kReceives, NULL, NULL, 0)) != NULL);
  struct ibv_qp_init_attr init = {
      .send_cq = send_cq,
      .recv_cq = atomics ? send_cq : recv_cq,
      .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = kSendWr, .max_recv_wr = atomics ? 0 : kReceives, .max_send_sge = 1, .max_recv_sge = 1}};
  CHECK((qp = p_ibv_create_qp(pd, &init)) != NULL);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
  if (atomics) attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  CHECK(p_ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
}

static void connect_qp(int gid_index, const union ibv_gid* gid) {
  const struct info mine = {.qpn = qp->qp_num,
                            .mtu = port.active_mtu,
                            .gid = *gid,
                            .data = (uintptr_t)memory.in,
                            .signal = (uintptr_t)memory.signal,
                            .data_rkey = memory.in_mr->rkey,
                            .signal_rkey = memory.signal_mr->rkey};
  exchange(&mine, &peer, sizeof mine);
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
                            .path_mtu = (enum ibv_mtu)peer.mtu,
                            .dest_qp_num = peer.qpn,
                            .max_dest_rd_atomic = (uint8_t)atomics,
                            .min_rnr_timer = 0x12,
                            .ah_attr = {.is_global = 1,
                                        .port_num = 1,
                                        .dlid = port.lid,
                                        .grh = {.dgid = peer.gid, .sgid_index = (uint8_t)gid_index, .hop_limit = 255}}};
  CHECK(p_ibv_modify_qp(qp, &rtr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  struct ibv_qp_attr rts = {
      .qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = (uint8_t)atomics};
  CHECK(p_ibv_modify_qp(qp, &rts,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                            IBV_QP_MAX_QP_RD_ATOMIC) == 0);
  if (!atomics)
    for (int i = 0; i < kReceives; ++i) post_receive();
}

static atomic_int receiving;

/* Stores the signals as they come, and never sleeps. MSCCL++ does not yield either; here both processes and their
 * threads share what processors the test has. */
static void* receive_signals(void* unused) {
  struct ibv_wc wcs[kReceives];
  while (atomic_load(&receiving)) {
    const int n = ctx->ops.poll_cq(recv_cq, kReceives, wcs);
    CHECK(n >= 0);
    if (n == 0) sched_yield();
    for (int i = 0; i < n; ++i) {
      if (wcs[i].status != IBV_WC_SUCCESS)
        fprintf(stderr, "receive: %s\n", p_ibv_wc_status_str(wcs[i].status)), _exit(1);
      CHECK(wcs[i].opcode == IBV_WC_RECV_RDMA_WITH_IMM && (wcs[i].wc_flags & IBV_WC_WITH_IMM) && wcs[i].byte_len == 0);
      atomic_store(memory.signal, ntohl(wcs[i].imm_data));
      post_receive();
    }
  }
  return unused;
}

static void post(struct ibv_send_wr* wr, struct ibv_sge* sge) {
  struct ibv_send_wr* bad;
  wr->sg_list = sge;
  wr->num_sge = 1;
  wr->send_flags = IBV_SEND_SIGNALED;
  CHECK(ctx->ops.post_send(qp, wr, &bad) == 0);
  ++pending;
}

static void send_data(uint32_t size) {
  struct ibv_sge sge = {(uintptr_t)memory.out, size, memory.out_mr->lkey};
  struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {peer.data, peer.data_rkey}};
  post(&wr, &sge);
}

/* The peer's word becomes `token`. */
static void send_signal(uint64_t token) {
  if (atomics) {
    struct ibv_sge sge = {(uintptr_t)memory.before, 8, memory.before_mr->lkey};
    struct ibv_send_wr wr = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                             .wr.atomic = {.remote_addr = peer.signal, .compare_add = 1, .rkey = peer.signal_rkey}};
    post(&wr, &sge);
  } else {
    struct ibv_sge sge = {0, 0, 0};
    struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                             .imm_data = htonl((uint32_t)token),
                             .wr.rdma = {peer.data, peer.data_rkey}};
    post(&wr, &sge);
  }
}

static void flush(void) {
  static struct ibv_wc wcs[kPoll];
  while (pending > 0) {
    const int n = ctx->ops.poll_cq(send_cq, kPoll, wcs);
    CHECK(n >= 0);
    if (n == 0) wait_on();
    for (int i = 0; i < n; ++i)
      if (wcs[i].status != IBV_WC_SUCCESS) fprintf(stderr, "send: %s\n", p_ibv_wc_status_str(wcs[i].status)), _exit(1);
    pending -= n;
  }
}

/* Eight bytes of what `from` sends with `token`, at this place. */
static uint64_t pattern(int from, uint64_t token, size_t i) {
  return ((uint64_t)from << 56 | token << 40 | i) * 0x9E3779B97F4A7C15u;
}

static void one_message(uint32_t size, uint64_t token) {
  for (size_t i = 0; i < size; i += 8) {
    const uint64_t word = pattern(rank, token, i);
    memcpy(memory.out + i, &word, 8);
  }
  send_data(size);
  send_signal(token);
  while (atomic_load(memory.signal) != token) wait_on();
  for (size_t i = 0; i < size; i += 8) {
    const uint64_t word = pattern(!rank, token, i);
    if (memcmp(memory.in + i, &word, 8) != 0) fprintf(stderr, "%u bytes: wrong at %zu\n", size, i), _exit(1);
  }
  flush();
  if (atomics) CHECK(*memory.before == token - 1);
  barrier(); /* the peer has compared: its memory may be written again */
}

static void one_connection(int gid_index, const union ibv_gid* gid, size_t to) {
  pthread_t thread;
  atomic_store(memory.signal, 0);
  make_qp();
  connect_qp(gid_index, gid);
  barrier();
  atomic_store(&receiving, 1);
  if (!atomics) CHECK(pthread_create(&thread, NULL, receive_signals, NULL) == 0);
  uint64_t token = 0;
  for (size_t size = kSmallest; size <= to; size *= 4) one_message((uint32_t)size, ++token);
  /* Signals alone, more than there are receives. */
  for (int i = 0; i < 4 * kReceives; ++i) one_message(0, ++token);
  barrier();
  atomic_store(&receiving, 0);
  if (!atomics) CHECK(pthread_join(thread, NULL) == 0);
  struct ibv_qp_attr attr;
  struct ibv_qp_init_attr init;
  CHECK(p_ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0 && attr.qp_state == IBV_QPS_RTS);
  CHECK(p_ibv_destroy_qp(qp) == 0 && p_ibv_destroy_cq(send_cq) == 0);
  if (!atomics) CHECK(p_ibv_destroy_cq(recv_cq) == 0);
}

/* A connection for each GID of the table; the last one carries the large messages. */
static int every_gid(void) {
  const union ibv_gid none = {{0}};
  union ibv_gid gid;
  int used = 0, last = -1;
  for (int i = 0; i < port.gid_tbl_len; ++i) {
    CHECK(p_ibv_query_gid(ctx, 1, i, &gid) == 0);
    if (memcmp(&gid, &none, sizeof gid) == 0) continue;
    one_connection(i, &gid, kSmallest);
    last = i;
    ++used;
  }
  CHECK(p_ibv_query_gid(ctx, 1, port.gid_tbl_len, &gid) == -1);
  CHECK(used > 1 && p_ibv_query_gid(ctx, 1, last, &gid) == 0);
  one_connection(last, &gid, largest);
  return used;
}

static void run(const char* first, const char* others) {
  library = open_library(first);
  FROM_LIBRARY(TAKE)
  if (others != NULL) library = open_library(others);
  FROM_OTHERS(TAKE)
  open_device();
  make_memory();
  const int used = every_gid();
  struct ibv_mr* const all[] = {memory.out_mr, memory.in_mr, memory.signal_mr, memory.before_mr};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) CHECK(p_ibv_dereg_mr(all[i]) == 0);
  CHECK(p_ibv_dealloc_pd(pd) == 0 && p_ibv_close_device(ctx) == 0);
  if (rank == 0) printf("passed with %d GIDs\n", used);
}

int main(int argc, char** argv) {
  if (argc < 4 || argc > 5) return fprintf(stderr, "usage: mscclpp atomics|immediates LARGEST LIBRARY [OTHERS]\n"), 2;
  atomics = strcmp(argv[1], "atomics") == 0;
  largest = strtoul(argv[2], NULL, 10);
  int ends[2], status = 0;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const pid_t child = fork(); /* before any library is opened */
  CHECK(child >= 0);
  rank = child == 0;
  peer_socket = ends[rank];
  close(ends[!rank]);
  run(argv[3], argc > 4 ? argv[4] : NULL);
  if (rank == 1) return 0;
  CHECK(waitpid(child, &status, 0) == child);
  return status != 0;
}
