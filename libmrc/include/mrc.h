/* mrc.h: the application side of Multipath Reliable Connection, source- and ABI-compatible with the OCP MRC API 1.0.1.
 *
 * An MRC queue pair is a reliable connection that carries RDMA WRITE and RDMA WRITE WITH IMMEDIATE and spreads its
 * packets over many network paths. The objects stand beside those of libibverbs: devices, protection domains and memory
 * regions are ordinary verbs objects (mrc_soft.h makes them where there is no RDMA hardware), the objects below are
 * MRC's own.
 *
 * spec/api.md has the rules that these comments name by their ids, as [API-CQ-1].
 *
 * Threads: every function may be called from any thread, on any object, at any time before the object is destroyed.
 * Destroying an object while another thread is inside a call on it is the caller's mistake. Only the calls that wait
 * for events are cancellation points [API-THR-1]. In a child of fork, what posts, changes, creates or waits on an
 * object of the parent fails with EPERM, and polling and destroying do nothing [API-FRK-1].
 *
 * Errors: functions returning a pointer return NULL and set errno. Functions returning int return 0 on success. On
 * failure those that mirror a verbs call (making and destroying channels, destroying CQs and QPs, QP query and modify,
 * posting, notification) return the positive errno value, mrc_get_cq_event and mrc_get_async_event return -1, and the
 * rest return -1; errno is set in every case [API-ERR-1]. EINVAL stands for a NULL or inconsistent argument everywhere,
 * ENOMEM for memory that has run out, EPERM for a child of fork; these are not repeated below.
 *
 * Ownership: attribute structures belong to the caller and are only read or filled during the call. Objects are freed
 * by their destroy function only. Objects that work together (channel, CQ, QP) are of one MRC context. The MRC context
 * may be destroyed before or after the protection domains its QPs used [API-CTX-1].
 */
#ifndef MRC_H
#define MRC_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "mrc_api_ver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Vendor-specific bytes; the software device stores and returns them, and acts on none. */
#define MRC_MAX_VENDOR_CFG_SIZE 128

/* Opaque objects. */
struct mrc_context;      /* everything below belongs to one */
struct mrc_comp_channel; /* file descriptor that signals completions */
struct mrc_cq;           /* completion queue */
struct mrc_qp_hint;      /* expected traffic of a group of QPs */
struct mrc_qp;           /* queue pair, always of the MRC service */

/* ---- versions -----------------------------------------------------------------------------------------------------
 */

/* Wire protocol version. VERSION_0 leaves the choice to the provider. */
enum mrc_protocol_version {
  MRC_PROTOCOL_VERSION_0 = 0,
  MRC_PROTOCOL_VERSION_1 = 1,
};

/* Versions of the library, encoded as in mrc_api_ver.h. Any pointer may be NULL. Needs no context and cannot fail.
 * [API-VER-1] */
void mrc_query_version(uint32_t* current_version, uint32_t* last_supported_version, uint32_t* vendor_version,
                       uint32_t* last_supported_vendor_version);

/* ---- device -------------------------------------------------------------------------------------------------------
 */

/* Bits of mrc_device_attr.cap. */
enum mrc_device_cap {
  MRC_DEVICE_CAP_TRIM_NACK = 1 << 0,   /* answers a trimmed packet with a NACK */
  MRC_DEVICE_CAP_DYNAMIC_MPR = 1 << 1, /* the responder's window may change while the QP runs */
  MRC_DEVICE_CAP_SVC_TIME = 1 << 2,    /* reports its own service time, so that RTTs can be corrected by it */
};

struct mrc_device_attr {
  uint32_t mrc_protocol_version; /* bit n - 1 set: wire protocol version n is supported */
  struct {
    uint16_t max_wimm;      /* maximum writes with immediate in flight on a QP, as requester */
    uint16_t max_wimm_dest; /* and as responder */
  } wimm_attr;
  struct {
    uint8_t max_mpr;        /* largest PSN window of a QP, unit 128 PSNs */
    uint8_t mpr_resolution; /* step in which it can be chosen, unit 128 PSNs */
  } mpr_attr;
  struct {
    uint32_t max_qp_hint; /* maximum number of QP hints at a time */
  } qp_attr;
  uint32_t cap; /* enum mrc_device_cap */
};

/* Limits of a device. May be called before any MRC context exists. *supported becomes 1 if the device supports MRC and
 * 0 otherwise, in which case attr is zeroed and the call still succeeds. attr or supported may be NULL, not both.
 * [API-DEV-1] */
int mrc_query_device(struct ibv_context* context, struct mrc_device_attr* attr, int* supported);

#if MRC_API_VER_USED >= MRC_API_VER(1, 0, 1)
/* The same for a caller that has an MRC context, whose API version then decides which members are filled in. mcontext
 * may be NULL; EINVAL when it was made from another device than context. [API-VER-2] */
int mrc_query_device_ex(struct ibv_context* context, struct mrc_context* mcontext, struct mrc_device_attr* attr,
                        int* supported);
#endif

/* ---- context ------------------------------------------------------------------------------------------------------
 */

struct mrc_context_attr {
  uint32_t mrc_api_version_used;        /* MRC_API_VER_USED of the caller; below 1.0.0: unspecified, 1.0.1 is assumed */
  uint32_t mrc_vendor_api_version_used; /* same for the vendor twin */
};

/* Parent of all other objects. context_attr may be NULL; versions above the current one count as the current one.
 * Several contexts may exist for one device, whose verbs context outlives them. Errors: EOPNOTSUPP (device without
 * MRC), EMFILE, ENFILE. [API-VER-3] */
struct mrc_context* mrc_create_context(struct ibv_context* vcontext, struct mrc_context_attr* context_attr);
/* EBUSY while a channel, CQ or QP of it exists; hints may outlive it. [API-CTX-1] [API-CTX-2] */
int mrc_destroy_context(struct mrc_context* mrc_ctx);

/* ---- completion channel and completion queue ----------------------------------------------------------------------
 */

/* Makes a channel in *channel. Errors: EMFILE, ENFILE. [API-CQ-4] */
int mrc_create_comp_channel(struct mrc_context* mrc_ctx, struct mrc_comp_channel** channel);
/* The descriptor becomes readable when an event waits: for poll, select, epoll and O_NONBLOCK. It stays the channel's:
 * the caller must not close or read it. */
int mrc_get_comp_channel_fd(struct mrc_comp_channel* channel, int* fd);
/* EBUSY while a CQ uses it. */
int mrc_destroy_comp_channel(struct mrc_comp_channel* channel);

/* A queue that holds at least cqe (1..max_cqe of ibv_query_device) completions [API-CQ-1]. cq_context is returned with
 * its events. channel, of the same context, may be NULL: then the CQ has no events. comp_vector is in
 * 0..num_comp_vectors - 1 of the verbs context. Overrunning the queue is fatal for the QPs concerned and raises
 * IBV_EVENT_CQ_ERR [API-CQ-2]. */
struct mrc_cq* mrc_create_cq(struct mrc_context* mrc_ctx, int cqe, void* cq_context, struct mrc_comp_channel* channel,
                             int comp_vector);
/* Takes up to num_entries completions, oldest first, and drives the device's progress when there are none. Returns the
 * number taken, fewer than num_entries only when the queue was emptied, or -1; never sleeps. A completion of a send
 * frees its slot in the send queue, together with the slots of the unsignalled sends before it [API-POST-3]. imm_data
 * is unchanged [API-CQ-6]. */
int mrc_poll_cq(struct mrc_cq* cq, int num_entries, struct ibv_wc* wc);
/* Arms the CQ: one event at the next completion or, with solicited_only, at the next receive completion whose sender
 * set IBV_SEND_SOLICITED (MRC does not carry it, so the software device counts every one) or at the next error.
 * Completions that are in the queue already raise none: arm, then poll once more, then sleep. EINVAL for a CQ without
 * channel. [API-CQ-3] */
int mrc_req_notify_cq(struct mrc_cq* cq, int solicited_only);
/* Waits for an event and returns its CQ and the CQ's cq_context. Blocks unless the descriptor is O_NONBLOCK, then
 * EAGAIN. EINTR as from the system call. Every event must be acknowledged. A cancellation point. */
int mrc_get_cq_event(struct mrc_comp_channel* channel, struct mrc_cq** cq, void** cq_context);
/* Acknowledges nevents events of a CQ. Costs a lock: acknowledge several at once. */
void mrc_ack_cq_events(struct mrc_cq* cq, unsigned int nevents);
/* EBUSY while a QP uses it. Waits until every event that was handed out is acknowledged [API-CQ-4]. */
int mrc_destroy_cq(struct mrc_cq* cq);

/* ---- QP hint ------------------------------------------------------------------------------------------------------
 */

enum mrc_qp_hint_attr_mask {
  MRC_QP_HINT_NUM_QPS_PER_PEER = 1 << 0,
  MRC_QP_HINT_NUM_SEND_PEERS = 1 << 1,
  MRC_QP_HINT_NUM_REMOTE_RECV_PEERS = 1 << 2,
  MRC_QP_HINT_VENDOR_CFG = -2147483647 - 1, /* bit 31 */
};

/* The application's expectation of its traffic: none is negative, 0 is unknown. */
struct mrc_qp_hint_attr {
  int num_qps_per_peer;      /* QPs towards each peer */
  int num_send_peers;        /* peers that this side sends to at the same time */
  int num_remote_recv_peers; /* senders that a target of this side serves at the same time: the degree of incast */
  uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

struct mrc_qp_hint_init_attr {
  struct mrc_qp_hint_attr attr;
};

/* init_attr is copied. Errors: ENOMEM (also when mrc_device_attr.qp_attr.max_qp_hint is reached). */
struct mrc_qp_hint* mrc_create_qp_hint(struct mrc_context* mrc_ctx, struct mrc_qp_hint_init_attr* init_attr);
/* EBUSY while a QP that was given the hint exists. [API-CTX-2] */
int mrc_destroy_qp_hint(struct mrc_qp_hint* qp_hint);
/* qp_hint_attr_mask chooses what is filled or changed. */
int mrc_query_qp_hint(struct mrc_qp_hint* qp_hint, struct mrc_qp_hint_attr* qp_hint_attr, int qp_hint_attr_mask);
int mrc_modify_qp_hint(struct mrc_qp_hint* qp_hint, struct mrc_qp_hint_attr* qp_hint_attr, int qp_hint_attr_mask);

/* ---- queue pair ---------------------------------------------------------------------------------------------------
 */

struct mrc_qp_init_attr {
  void* qp_context;       /* the caller's, returned by mrc_query_qp */
  struct mrc_cq* send_cq; /* may be the same queue; both of the QP's MRC context */
  struct mrc_cq* recv_cq;
  struct ibv_qp_cap cap;   /* minimum sizes; mrc_create_qp writes the actual ones */
  int sq_sig_all;          /* every send has a completion, signalled or not */
  struct ibv_pd* pd;       /* keys of local and remote accesses must belong to it */
  uint64_t send_ops_flags; /* IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM; 0: both */
  enum mrc_protocol_version protocol_version;
};

/* Selects the members of mrc_qp_attr that a call sets or queries. By transition: to INIT the profile ids and the hint,
 * to RTR MAX_WIMM_DEST, MPR_DEST and CAP, to RTS MAX_WIMM, MPR, RETRY_CNT and TIMEOUT. Values for a later state are
 * accepted early, and all of them may be left out: the device's defaults apply. [API-QP-5] */
enum mrc_qp_attr_mask {
  MRC_QP_MAX_WIMM = 1 << 0,
  MRC_QP_MAX_WIMM_DEST = 1 << 1,
  MRC_QP_MPR = 1 << 2,
  MRC_QP_MPR_DEST = 1 << 3,
  MRC_QP_TIMEOUT = 1 << 4,
  MRC_QP_EV_PROFILE_ID = 1 << 5,
  MRC_QP_CC_PROFILE_ID = 1 << 6,
  MRC_QP_HINT = 1 << 7,
  MRC_QP_RETRY_CNT = 1 << 8,
  MRC_QP_CAP = 1 << 9,
  MRC_QP_VENDOR_CFG = -2147483647 - 1, /* bit 31 */
};

/* Bits of mrc_qp_attr.cap. */
enum mrc_qp_cap {
  MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED = 1 << 0, /* the peer does not answer trimmed packets */
  MRC_QP_CAP_DYNAMIC_MPR = 1 << 1,                /* the window may change; both ends must set it */
  MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED = 1 << 2,  /* the peer reports no service time */
};

struct mrc_qp_attr {
  struct {
    uint8_t mpr;      /* window of PSNs in flight as requester, unit 128 PSNs, 1..max_mpr of the device */
    uint8_t mpr_dest; /* window accepted as responder, the same */
  } mpr;
  struct {
    uint16_t max_wimm;      /* writes with immediate in flight as requester, from 1 to the device's; more wait */
    uint16_t max_wimm_dest; /* and as responder */
  } wimm;
  uint8_t timeout; /* n: a packet is retransmitted after 1.024 us * 2^n, n <= 24; losses are detected long before */
  struct {
    uint64_t ev_profile_id; /* path profile, distributed out of band by the controller */
    uint64_t cc_profile_id; /* congestion control profile */
  } profile;
  struct {
    uint8_t linear_cnt; /* retransmissions at a fixed interval, at most 7 */
    uint8_t exp_cnt;    /* then at doubling intervals, at most 25; 25: for ever */
  } retry;
  struct mrc_qp_hint* qp_hint;
  uint32_t cap; /* enum mrc_qp_cap */
  uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

/* A QP in state RESET. mrc_qp_attr->cap is filled with the sizes the QP has, none below the requested one. The queues
 * and the protection domain outlive it. Errors: ENOMEM (also when the device has no more QPs), EOPNOTSUPP (an operation
 * or protocol version that the device does not have). */
struct mrc_qp* mrc_create_qp(struct mrc_context* mrc_ctx, struct mrc_qp_init_attr* mrc_qp_attr);
/* Sends the QP's pending acknowledgements, then frees it [API-QP-8]; outstanding work is discarded without completions,
 * and those not polled yet leave the CQ [API-CQ-5]. Waits until every asynchronous event of the QP is acknowledged. */
int mrc_destroy_qp(struct mrc_qp* qp);
/* Any of vattr, mrc_attr and init_attr may be NULL. init_attr is filled regardless of the masks [API-QP-6], and so is
 * vattr, as verbs providers do; of mrc_attr only what its mask names is [API-ERR-2]. */
int mrc_query_qp(struct mrc_qp* qp, struct ibv_qp_attr* vattr, int vattr_mask, struct mrc_qp_attr* mrc_attr,
                 int mrc_attr_mask, struct mrc_qp_init_attr* init_attr);
/* Changes attributes and, with IBV_QP_STATE, the state: RESET -> INIT -> RTR -> RTS, and from any state to ERR or
 * RESET [API-QP-1]. IBV_QP_CUR_STATE asserts the present state. At the latest then, RTR needs IBV_QP_AV (a global one:
 * the peer is known by its GID), IBV_QP_PATH_MTU, IBV_QP_DEST_QPN and IBV_QP_RQ_PSN, and RTS IBV_QP_SQ_PSN [API-QP-2].
 * Verbs attributes that MRC has no use for (port, timeouts, retry counts, RDMA READ depths, alternate path) are
 * accepted and ignored [API-QP-4]. Members outside the masks are not read. EINVAL, with nothing changed, for an unknown
 * mask bit, a value out of range or a transition that does not exist; ENETUNREACH when the configuration has no route
 * to the peer's GID (the reason is on stderr). */
int mrc_modify_qp(struct mrc_qp* qp, struct ibv_qp_attr* vattr, int vattr_mask, struct mrc_qp_attr* mrc_attr,
                  int mrc_attr_mask);
/* The 24-bit number by which the peer addresses this QP. */
int mrc_get_qpn(struct mrc_qp* qp, uint32_t* qpn);

/* Post work requests, a list linked by next, which may be reused after the call. On failure *bad_wr is the first
 * request that was not posted; those before it were. Errors: EINVAL (state, opcode, flags, too many SGEs, message or
 * inline data too long), ENOMEM (queue full), EFAULT (inline data that cannot be read) [API-POST-1]. Receives serve
 * writes with immediate only, from state INIT on; their SGEs, if any, are not used. Sends are IBV_WR_RDMA_WRITE and
 * IBV_WR_RDMA_WRITE_WITH_IMM of at most 1 GiB, in state RTS; in state ERR they are accepted and flushed [API-POST-2].
 * Their memory must not change until the completion; where it is unmapped before, the QP fails and the process goes on
 * [API-MEM-2]. Flags: IBV_SEND_SIGNALED, IBV_SEND_SOLICITED, IBV_SEND_INLINE (the data is copied at once, lkeys
 * are not checked), IBV_SEND_FENCE (nothing to wait for). */
int mrc_post_recv(struct mrc_qp* qp, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr);
int mrc_post_send(struct mrc_qp* qp, struct ibv_send_wr* wr, struct ibv_send_wr** bad_wr);

/* ---- asynchronous events ------------------------------------------------------------------------------------------
 */

struct mrc_async_event {
  union {
    struct mrc_cq* cq; /* IBV_EVENT_CQ_ERR */
    struct mrc_qp* qp; /* IBV_EVENT_QP_*, COMM_EST, SQ_DRAINED */
    int port_num;      /* IBV_EVENT_PORT_*: 1-based; for every context of the device, not to be acknowledged */
  } element;
  enum ibv_event_type event_type;
};

/* Waits for the next event of the context. Blocks unless the async descriptor of the verbs context is O_NONBLOCK, then
 * EAGAIN; EINTR as from the system call. Every event must be acknowledged, or destroying its object waits for ever. A
 * cancellation point. [API-ASY-1] [API-ASY-2] */
int mrc_get_async_event(struct mrc_context* mrc_ctx, struct mrc_async_event* event);
void mrc_ack_async_event(struct mrc_async_event* event);

#ifdef __cplusplus
}
#endif
#endif /* MRC_H */
