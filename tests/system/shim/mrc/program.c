/* A program for MRC NICs, written for mrc.h and libibverbs alone: it takes devices, protection domains and memory from
 * libibverbs and connections from the MRC library. Two of them, a server and a client, do what benchmarks and plugins
 * for MRC do. Compiled as C and as C++, linked with the MRC library and opening it by name.
 *
 * usage: program LIBRARY -p PORT [HOST]    LIBRARY: "linked", or what dlopen is given; HOST: of the server */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "functions_of.h"

#define CHECK(what)                                                                                               \
  do {                                                                                                            \
    if (!(what)) {                                                                                                \
      fprintf(stderr, "%s, line %d: not so: %s (errno %d, %s)\n", role, __LINE__, #what, errno, strerror(errno)); \
      exit(1);                                                                                                    \
    }                                                                                                             \
  } while (0)

enum { kQps = 4, kBurst = 128, kSignal = 64, kSlot = 64, kRounds = 20, kImmediates = 3, kBytes = 1 << 20 };

struct end_point { /* the data that the two exchange, per queue pair and for memory */
  uint32_t qpn[kQps], psn[kQps], rkey;
  uint64_t address;
  union ibv_gid gid;
};

static const char* role = "server";
static struct ibv_context* verbs;
static struct mrc_context* context;
static struct ibv_pd* pd;
static struct ibv_mr *mr, *source_mr;
static uint8_t memory[kBytes] __attribute__((aligned(4096))), source[kBytes] __attribute__((aligned(4096)));
static struct mrc_comp_channel* channel;
static struct mrc_cq *send_cq, *recv_cq;
static struct mrc_qp_hint* hint;
static struct mrc_qp* qps[kQps];
static struct end_point mine, theirs;
static int gid_index = -1, gid_count;
static int received; /* immediates, all queue pairs together */

static int connect_peer(const char* port, const char* host) {
  struct addrinfo hints, *found;
  memset(&hints, 0, sizeof hints);
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  if (host == NULL) hints.ai_flags = AI_PASSIVE;
  CHECK(getaddrinfo(host, port, &hints, &found) == 0);
  int s = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  CHECK(s >= 0);
  if (host != NULL) {
    CHECK(connect(s, found->ai_addr, found->ai_addrlen) == 0);
  } else {
    CHECK(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0);
    CHECK(bind(s, found->ai_addr, found->ai_addrlen) == 0 && listen(s, 1) == 0);
    int accepted = accept(s, NULL, NULL);
    CHECK(accepted >= 0);
    close(s);
    s = accepted;
  }
  freeaddrinfo(found);
  return s;
}

static void exchange(int s, const void* out, void* in, size_t n) {
  CHECK(write(s, out, n) == (ssize_t)n);
  for (size_t got = 0; got < n;) {
    ssize_t now = read(s, (char*)in + got, n - got);
    CHECK(now > 0);
    got += (size_t)now;
  }
}

/* Everything before it happened on both sides. */
static void barrier(int s) {
  char a = 'x', b;
  exchange(s, &a, &b, 1);
}

/* The first device whose MRC attributes report support: queried before any MRC context exists. */
static void find_device(void) {
  int n = 0;
  struct ibv_device** list = ibv_get_device_list(&n);
  if (list == NULL || n == 0) {
    fprintf(stderr, "no RDMA device; software devices are there with LD_PRELOAD=libmrc-verbs.so\n");
    exit(2);
  }
  for (int i = 0; i < n && verbs == NULL; ++i) {
    struct mrc_device_attr attr;
    int supported = 0;
    struct ibv_context* candidate = ibv_open_device(list[i]);
    CHECK(candidate != NULL);
    CHECK(api.p_mrc_query_device(candidate, &attr, &supported) == 0);
    if (supported) {
      CHECK((attr.mrc_protocol_version & 1) != 0 && attr.wimm_attr.max_wimm > 0 && attr.mpr_attr.max_mpr > 0);
      verbs = candidate;
    } else {
      CHECK(ibv_close_device(candidate) == 0);
    }
  }
  if (verbs == NULL) {
    fprintf(stderr, "no device does MRC\n");
    exit(2);
  }
  ibv_free_device_list(list);
}

/* Plugins find the place of the device in the machine, and a RoCE v2 GID, in sysfs. */
static void look_into_sysfs(void) {
  char path[PATH_MAX], real[PATH_MAX], text[64];
  const char* name = ibv_get_device_name(verbs->device);
  snprintf(path, sizeof path, "/sys/class/infiniband/%s/device", name);
  CHECK(realpath(path, real) != NULL);
  for (int i = 0; i < gid_count; ++i) {
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/gid_attrs/types/%d", name, i);
    FILE* file = fopen(path, "r");
    if (file == NULL) continue; /* an empty entry of the table */
    const int read_it = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    if (!read_it || strncmp(text, "RoCE v2", 7) != 0) continue;
    CHECK(ibv_query_gid(verbs, 1, i, &mine.gid) == 0);
    if (mine.gid.raw[10] == 0xff && mine.gid.raw[11] == 0xff) gid_index = i; /* IPv4-mapped */
  }
  CHECK(gid_index >= 0);
  CHECK(ibv_query_gid(verbs, 1, gid_index, &mine.gid) == 0);
}

static void query_device(void) {
  struct ibv_device_attr device;
  struct ibv_port_attr port;
  CHECK(ibv_query_device(verbs, &device) == 0 && device.max_qp > 1000 && device.max_qp_wr >= 8192);
  CHECK(ibv_query_port(verbs, 1, &port) == 0 && port.state == IBV_PORT_ACTIVE && port.max_mtu == IBV_MTU_4096);
  CHECK(port.link_layer == IBV_LINK_LAYER_ETHERNET);
  gid_count = port.gid_tbl_len;
}

/* Programs give their own version, an older one, the protocol's number, none; the device is asked with and without. */
static void make_contexts(void) {
  uint32_t current = 0, last = 1, vendor = 0, last_vendor = 1;
  api.p_mrc_query_version(&current, &last, &vendor, &last_vendor);
  CHECK(current >= MRC_API_VER_USED && last <= MRC_API_VER_USED);
  const uint32_t versions[] = {MRC_API_VER_USED, MRC_API_VER(1, 0, 0), 1, 0};
  struct mrc_device_attr attr;
  int supported = 0;
  for (size_t i = 0; i < sizeof versions / sizeof versions[0]; ++i) {
    struct mrc_context_attr with;
    with.mrc_api_version_used = versions[i];
    with.mrc_vendor_api_version_used = i == 0 ? vendor : 0;
    struct mrc_context* made = api.p_mrc_create_context(verbs, &with);
    CHECK(made != NULL);
    memset(&attr, 0xff, sizeof attr);
    CHECK(api.p_mrc_query_device_ex(verbs, made, &attr, &supported) == 0 && supported == 1);
    CHECK(attr.qp_attr.max_qp_hint >= 1 && attr.qp_attr.max_qp_hint < 0xffffffffu);
    CHECK(api.p_mrc_destroy_context(made) == 0);
  }
  context = api.p_mrc_create_context(verbs, NULL);
  CHECK(context != NULL);
  struct mrc_ctl_device_attr control;
  CHECK(api.p_mrc_ctl_query_device(verbs, &control) == 0);
  CHECK(api.p_mrc_ctl_query_device_ex(verbs, context, &control, &supported) == 0 && supported == 1);
  struct mrc_ctl_port_attr port;
  CHECK(api.p_mrc_ctl_query_port(context, 1, &port, 0) == 0 || errno == EPERM);
}

static void make_memory(void) {
  pd = ibv_alloc_pd(verbs);
  CHECK(pd != NULL && pd->context == verbs);
  errno = 0;
  CHECK(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, 0) == NULL && errno == EOPNOTSUPP); /* how programs ask for it */
  mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  CHECK(mr != NULL && mr->pd == pd && mr->context == verbs);
  source_mr = ibv_reg_mr_iova2(pd, source, sizeof source, (uintptr_t)source,
                               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
  CHECK(source_mr != NULL);
  mine.rkey = mr->rkey;
  mine.address = (uintptr_t)memory;
}

static void make_queue_pairs(void) {
  int fd = -1;
  CHECK(api.p_mrc_create_comp_channel(context, &channel) == 0);
  CHECK(api.p_mrc_get_comp_channel_fd(channel, &fd) == 0 && fd >= 0);
  send_cq = api.p_mrc_create_cq(context, kQps * kBurst, NULL, NULL, 0);
  recv_cq = api.p_mrc_create_cq(context, kQps * kImmediates * kRounds, &recv_cq, channel, 0);
  CHECK(send_cq != NULL && recv_cq != NULL);
  struct mrc_qp_hint_init_attr expect;
  memset(&expect, 0, sizeof expect);
  expect.attr.num_qps_per_peer = kQps;
  expect.attr.num_send_peers = 1;
  hint = api.p_mrc_create_qp_hint(context, &expect);
  CHECK(hint != NULL);
  for (int i = 0; i < kQps; ++i) {
    struct mrc_qp_init_attr init;
    memset(&init, 0, sizeof init);
    init.send_cq = send_cq;
    init.recv_cq = recv_cq;
    init.cap.max_send_wr = kBurst;
    init.cap.max_recv_wr = kImmediates * kRounds;
    init.cap.max_send_sge = init.cap.max_recv_sge = 1;
    init.pd = pd;
    init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    qps[i] = api.p_mrc_create_qp(context, &init);
    CHECK(qps[i] != NULL && api.p_mrc_get_qpn(qps[i], &mine.qpn[i]) == 0);
    mine.psn[i] = 1000u * (uint32_t)i;
    struct ibv_qp_attr attr;
    struct mrc_qp_attr more;
    memset(&attr, 0, sizeof attr);
    memset(&more, 0xee, sizeof more); /* members outside the mask are not looked at */
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    more.qp_hint = hint;
    CHECK(api.p_mrc_modify_qp(qps[i], &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                              &more, MRC_QP_HINT) == 0);
  }
}

static void post_receive(struct mrc_qp* qp) {
  struct ibv_recv_wr wr, *bad;
  memset(&wr, 0, sizeof wr);
  CHECK(api.p_mrc_post_recv(qp, &wr, &bad) == 0);
}

static void connect_queue_pairs(void) {
  for (int i = 0; i < kQps; ++i) {
    struct ibv_qp_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_4096;
    attr.dest_qp_num = theirs.qpn[i];
    attr.rq_psn = theirs.psn[i];
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.dgid = theirs.gid;
    attr.ah_attr.grh.sgid_index = (uint8_t)gid_index; /* hop_limit stays 0, as many leave it */
    CHECK(api.p_mrc_modify_qp(qps[i], &attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                              NULL, 0) == 0);
    struct mrc_qp_attr more;
    memset(&more, 0xee, sizeof more);
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = mine.psn[i];
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    more.timeout = 20;
    CHECK(api.p_mrc_modify_qp(qps[i], &attr,
                              IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                  IBV_QP_MAX_QP_RD_ATOMIC,
                              &more, MRC_QP_TIMEOUT) == 0);
    for (int k = 0; k < kImmediates * kRounds; ++k) post_receive(qps[i]);
    struct mrc_qp_init_attr init;
    CHECK(api.p_mrc_query_qp(qps[i], &attr, IBV_QP_STATE, NULL, 0, &init) == 0);
    CHECK(attr.qp_state == IBV_QPS_RTS && init.pd == pd && init.send_cq == send_cq);
  }
}

static void post_write(int qp, size_t offset, uint32_t length, int opcode, unsigned flags, uint32_t imm) {
  struct ibv_sge sge;
  struct ibv_send_wr wr, *bad;
  memset(&wr, 0, sizeof wr);
  sge.addr = (uintptr_t)source + offset;
  sge.length = length;
  sge.lkey = source_mr->lkey;
  if (length > 0) {
    wr.sg_list = &sge;
    wr.num_sge = 1;
  }
  wr.opcode = opcode == IBV_WR_RDMA_WRITE ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.send_flags = flags;
  wr.imm_data = imm;
  wr.wr.rdma.remote_addr = theirs.address + offset;
  wr.wr.rdma.rkey = theirs.rkey;
  CHECK(api.p_mrc_post_send(qps[qp], &wr, &bad) == 0);
}

static void wait_sent(int n) {
  while (n > 0) {
    struct ibv_wc wc[16];
    const int got = api.p_mrc_poll_cq(send_cq, n < 16 ? n : 16, wc);
    CHECK(got >= 0);
    for (int i = 0; i < got; ++i) CHECK(wc[i].status == IBV_WC_SUCCESS && wc[i].opcode == IBV_WC_RDMA_WRITE);
    n -= got;
  }
}

/* Arm, look, sleep; returns when `n` immediates have come since the start. */
static void wait_received(int n) {
  while (received < n) {
    CHECK(api.p_mrc_req_notify_cq(recv_cq, 0) == 0);
    struct ibv_wc wc;
    int got;
    while ((got = api.p_mrc_poll_cq(recv_cq, 1, &wc)) == 1) {
      CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
      CHECK((wc.wc_flags & IBV_WC_WITH_IMM) != 0 && (wc.imm_data & 0xffff0000u) == 0xabcd0000u);
      ++received;
    }
    CHECK(got == 0);
    if (received >= n) break;
    struct mrc_cq* of;
    void* with;
    CHECK(api.p_mrc_get_cq_event(channel, &of, &with) == 0 && of == recv_cq && with == &recv_cq);
    api.p_mrc_ack_cq_events(of, 1);
  }
}

/* Writes of 8 bytes, one after the other, and the answer is awaited in memory. */
static void ping_pong(int client) {
  volatile uint64_t* at = (volatile uint64_t*)memory;
  for (uint64_t round = 1; round <= kRounds; ++round) {
    if (!client)
      while (*at != round) api.p_mrc_poll_cq(send_cq, 0, NULL);
    memcpy(source, &round, sizeof round);
    post_write(0, 0, 8, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 0);
    wait_sent(1);
    if (client)
      while (*at != round) api.p_mrc_poll_cq(send_cq, 0, NULL);
  }
}

/* On every queue pair a burst of slots, every 64th signalled, then immediates: with data, and two kinds without. */
static void bursts(void) {
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = kSlot; i < kSlot * (1u + kQps * kBurst); ++i) source[i] = (uint8_t)(i * 7u + (size_t)round);
    for (int q = 0; q < kQps; ++q) {
      const size_t base = kSlot * (1u + (size_t)q * kBurst);
      for (int i = 0; i < kBurst; ++i)
        post_write(q, base + kSlot * (size_t)i, kSlot, IBV_WR_RDMA_WRITE,
                   (i + 1) % kSignal == 0 ? IBV_SEND_SIGNALED : 0, 0);
      wait_sent(kBurst / kSignal);
      post_write(q, base, kSlot, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SIGNALED, 0xabcd0000u + (uint32_t)round);
      for (int i = 1; i < kImmediates; ++i)
        post_write(q, base, 0, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SIGNALED, 0xabcd0000u + (uint32_t)round);
      wait_sent(kImmediates);
    }
  }
  wait_received(kQps * kImmediates * kRounds);
  for (size_t i = kSlot; i < kSlot * (1u + kQps * kBurst); ++i)
    CHECK(memory[i] == (uint8_t)(i * 7u + (size_t)(kRounds - 1)));
}

/* Parents are in use while they have children. The MRC context goes before the protection domain on one side and after
 * it on the other. */
static void take_down(int context_first) {
  CHECK(ibv_dealloc_pd(pd) == EBUSY);
  for (int i = 0; i < kQps; ++i) CHECK(api.p_mrc_destroy_qp(qps[i]) == 0);
  CHECK(ibv_close_device(verbs) == EBUSY);
  CHECK(ibv_dereg_mr(mr) == 0 && ibv_dereg_mr(source_mr) == 0);
  CHECK(api.p_mrc_destroy_cq(recv_cq) == 0 && api.p_mrc_destroy_cq(send_cq) == 0);
  CHECK(api.p_mrc_destroy_comp_channel(channel) == 0);
  if (!context_first) CHECK(ibv_dealloc_pd(pd) == 0);
  CHECK(api.p_mrc_destroy_qp_hint(hint) == 0);
  CHECK(api.p_mrc_destroy_context(context) == 0);
  if (context_first) CHECK(ibv_dealloc_pd(pd) == 0);
  CHECK(ibv_close_device(verbs) == 0);
}

int main(int argc, char** argv) {
  const char* host = argc == 5 ? argv[4] : NULL;
  if (argc < 4) return fprintf(stderr, "usage: program LIBRARY -p PORT [HOST]\n"), 2;
  if (host != NULL) role = "client";
  const char* const scale = getenv("TEST_SCALE");  // tests/harness/limits.h
  alarm(50 * (scale == NULL ? 1 : (unsigned)atoi(scale)));
  if (find_functions(argv[1]) != 0) return 2;
  find_device();
  query_device();
  look_into_sysfs();
  make_contexts();
  make_memory();
  make_queue_pairs();
  const int s = connect_peer(argv[3], host);
  exchange(s, &mine, &theirs, sizeof mine);
  connect_queue_pairs();
  ping_pong(host != NULL);
  barrier(s);
  bursts();
  barrier(s);
  take_down(host != NULL);
  printf("%s: %d immediates over %s\n", role, received, argv[1]);
  return 0;
}
