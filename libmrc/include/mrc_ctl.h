/* mrc_ctl.h: the controller side of Multipath Reliable Connection, source- and ABI-compatible with the OCP MRC
 * controller API 1.0.1. One controller per node sets up what all applications share: ports, path profiles (which
 * entropy values a QP may use, and how they are written into a packet), congestion control profiles. Where the daemon
 * mrcd runs, that state is the host's and outlives the process that made it, else it is the process's own [API-CTL-1].
 * Applications learn profile ids out of band. spec/controller.md and spec/api.md have the rules that these comments
 * name by their ids.
 *
 * Threads: every function may be called from any thread.
 *
 * Errors: functions returning int return 0 on success, else -1 with errno set; mrc_ctl_poll_ev_event returns a count or
 * a negative errno value. EPERM without the privilege (CAP_NET_ADMIN, or the group of the setting ctl_group)
 * [MRC-CTL-6], EINVAL for an inconsistent argument or an unknown mask bit, EIO when the device or mrcd does not answer,
 * ENOTSUP for a feature that the device lacks, ENOMEM for memory that has run out: these are not repeated below.
 *
 * Ownership: attribute structures and the arrays they point to belong to the caller, and are used only during the call.
 * Names of algorithms that a query returns are the library's for good.
 * Masks: a member is read or written only when its bit is set.
 */
#ifndef MRC_CTL_H
#define MRC_CTL_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "mrc.h"
#include "mrc_ctl_api_ver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Vendor-specific bytes. */
#define MRC_CTL_MAX_VENDOR_CFG_SIZE 128
/* Room for the widest entropy value (EV). */
#define MRC_CTL_EV_MAX_BYTES 32

/* ---- versions and device ------------------------------------------------------------------------------------------
 */

enum mrc_ctl_protocol_version {
  MRC_CTL_PROTOCOL_VERSION_0 = 0, /* the provider chooses */
  MRC_CTL_PROTOCOL_VERSION_1 = 1,
};

/* Versions of the library, encoded as in mrc_ctl_api_ver.h. Any pointer may be NULL. Cannot fail. */
void mrc_ctl_query_version(uint32_t* current_version, uint32_t* last_supported_version, uint32_t* vendor_version,
                           uint32_t* last_supported_vendor_version);

/* Optional features, bits of mrc_ctl_device_attr.opt_attr. */
enum mrc_ctl_attr_opt {
  MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE = 1 << 0, /* fields, entries and event mask of an ONLINE EV profile change */
  MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE = 1 << 1, /* the configuration of an ONLINE CC profile changes */
  MRC_CTL_OPT_CAP_EV_EVENT = 1 << 2,                 /* events when an EV changes state */
  MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE = 1 << 3,        /* explicit EVs only as one contiguous range */
  MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT = 1 << 4, /* drop counts are exact, not just 0 or 1 */
  MRC_CTL_OPT_CAP_EP_OP_EV_PROBE = 1 << 5,            /* EV probes on demand */
};

struct mrc_ctl_device_attr {
  uint32_t mrc_ctl_protocol_version; /* bit n - 1 set: version n is supported */
  struct {
    uint32_t ev_max_fmt_profiles;  /* EV format profiles; ids are any 64-bit numbers [MRC-CTL-2] */
    uint32_t ev_max_profiles;      /* EV profiles */
    uint32_t ev_max_count;         /* EVs in all profiles together */
    uint32_t ev_free_count;        /* number of them that is free */
    uint32_t ev_max_count_profile; /* EVs in one profile */
    uint32_t ev_count_align;       /* a profile's count is a multiple of it */
    uint32_t ev_max_width;         /* bits of an EV */
    uint32_t ev_fmt_mode_mask;     /* enum mrc_ctl_ev_fmt_mode */
    uint32_t ev_mode_mask;         /* enum mrc_ctl_ev_mode */
    uint32_t ev_op_max_entries;    /* entries of one EV operation; 0: any number */
  } ev;
  struct {
    uint32_t cc_max_profiles;
    const char** algorithms; /* names, NULL-terminated, owned by the library; the common one is "uet-1.0-nscc" */
  } cc;
  uint32_t phy_port_mask; /* bit N: port N exists; ports count from 1 */
  uint32_t opt_attr;      /* enum mrc_ctl_attr_opt */
};

/* Limits. Needs neither an MRC context nor a privilege. ENOTSUP, with attr zeroed, for a device without MRC. */
int mrc_ctl_query_device(struct ibv_context* context, struct mrc_ctl_device_attr* ctl_attr);

#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
/* The same; mcontext may be NULL, else it is of that device. *supported (may be NULL) becomes 1 when the device has a
 * controller side, else 0, and the call succeeds all the same. */
int mrc_ctl_query_device_ex(struct ibv_context* context, struct mrc_context* mcontext,
                            struct mrc_ctl_device_attr* ctl_attr, int* supported);
#endif

/* ---- ports --------------------------------------------------------------------------------------------------------
 */

enum mrc_ctl_port_admin_state {
  MRC_CTL_PORT_ADMIN_DISABLED = 0, /* carries no traffic and reads as DOWN in ibv_query_port */
  MRC_CTL_PORT_ADMIN_ENABLED = 1,
};

enum mrc_ctl_port_attr_mask {
  MRC_CTL_PORT_ADMIN_STATE = 1 << 0,
};

struct mrc_ctl_port_attr {
  enum mrc_ctl_port_admin_state port_admin_state;
};

/* port_num is a physical port, 1-based, of mrc_ctl_device_attr.phy_port_mask. */
int mrc_ctl_query_port(struct mrc_context* context, uint8_t port_num, struct mrc_ctl_port_attr* attr, int attr_mask);
int mrc_ctl_modify_port(struct mrc_context* context, uint8_t port_num, struct mrc_ctl_port_attr* attr, int attr_mask);

/* ---- profiles: life cycle -----------------------------------------------------------------------------------------
 */

/* All three kinds of profile go INIT -> OFFLINE -> ONLINE -> OFFLINE -> INIT, which discards everything. An id that was
 * never used is in INIT, where only the state can be queried. A call that fails changes nothing, batches excepted.
 * Errors of all: EINVAL for a step that does not exist, or another current state than asserted; E2BIG for more profiles
 * than the device has, and in a query for an array that is too short. [MRC-CTL-1..3] */
enum mrc_ctl_profile_state {
  MRC_CTL_PROFILE_INIT = 0,
  MRC_CTL_PROFILE_OFFLINE = 1,
  MRC_CTL_PROFILE_ONLINE = 2,
};

/* ---- EV format profile: where the bits of an EV go in a packet -----------------------------------------------------
 */

enum mrc_ctl_ev_fmt_mode {
  MRC_CTL_EV_FMT_MODE_STEV = 1 << 0, /* flow label and UDP source port: first 4 bytes of the value */
  MRC_CTL_EV_FMT_MODE_SRV6 = 1 << 1, /* outer IPv6 destination (16 bytes), one SRH segment may follow (16 more) */
  MRC_CTL_EV_FMT_MODE_UDP = 1 << 2,  /* UDP source port alone */
};

enum mrc_ctl_ev_fmt_op {
  MRC_CTL_EV_FMT_OP_MODIFY_FIELDS = 0,
  MRC_CTL_EV_FMT_OP_QUERY_FIELDS = 1,
};

struct mrc_ctl_ev_fmt_field {
  uint8_t width; /* bits */
};

enum mrc_ctl_ev_fmt_profile_attr_mask {
  MRC_CTL_EV_FMT_PROFILE_STATE = 1 << 0,
  MRC_CTL_EV_FMT_PROFILE_CUR_STATE = 1 << 1,
  MRC_CTL_EV_FMT_PROFILE_MODE = 1 << 2,
  MRC_CTL_EV_FMT_PROFILE_OP = 1 << 3,
  MRC_CTL_EV_FMT_VENDOR_CFG = -2147483647 - 1, /* bit 31 */
};

struct mrc_ctl_ev_fmt_profile_attr {
  enum mrc_ctl_profile_state profile_state;     /* target state, or current state */
  enum mrc_ctl_profile_state cur_profile_state; /* state asserted before the change */
  enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
  struct {
    enum mrc_ctl_ev_fmt_op op;
    struct mrc_ctl_ev_fmt_field* fmt_fields; /* the caller's array */
    int fmt_field_count;                     /* its length; on E2BIG the length that is needed */
  } ev_fmt_op;
  uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* To OFFLINE needs the mode, to ONLINE the fields; both may come earlier. EBUSY while an EV profile that uses it is
 * ONLINE or, for INIT, names it; E2BIG for unsupported fields. [MRC-FMT-1..2] [MRC-EVX-2] */
int mrc_ctl_modify_ev_fmt_profile(struct mrc_context* mrc_ctx, uint64_t ev_fmt_profile_id,
                                  struct mrc_ctl_ev_fmt_profile_attr* attr, int attr_mask);
int mrc_ctl_query_ev_fmt_profile(struct mrc_context* mrc_ctx, uint64_t ev_fmt_profile_id,
                                 struct mrc_ctl_ev_fmt_profile_attr* attr, int attr_mask);

/* ---- EV profile: which EVs a QP may use ----------------------------------------------------------------------------
 */

/* State of a path. SKIP, the short avoidance by one QP, is not visible here. */
enum mrc_ctl_ev_state {
  MRC_CTL_EV_GOOD = 1 << 0,
  MRC_CTL_EV_ASSUMED_BAD = 1 << 1,      /* too much loss; probed until it is good again */
  MRC_CTL_EV_DENIED = 1 << 2,           /* retired by the controller, and restored only by it */
  MRC_CTL_EV_UNKNOWN = -2147483647 - 1, /* bit 31: not determined */
};

enum mrc_ctl_ev_mode {
  MRC_CTL_EV_MODE_AUTO = 1 << 0, /* the device chooses */
  MRC_CTL_EV_MODE_EXP = 1 << 1,  /* every EV is given */
  MRC_CTL_EV_MODE_GEN = 1 << 2,  /* expanded from field descriptions */
};

typedef uint8_t mrc_ctl_ev_t[MRC_CTL_EV_MAX_BYTES];

struct mrc_ctl_ev {
  mrc_ctl_ev_t val; /* network order; bytes beyond the format's width are zero */
  uint8_t port;     /* 1-based */
};

/* An entry of an explicit profile before it is replaced: every byte zero. An EV of value 0 on port 1 differs.
 */
#ifdef __cplusplus
#define MRC_CTL_EV_UNPOPULATED (mrc_ctl_ev{})
#else
#define MRC_CTL_EV_UNPOPULATED ((struct mrc_ctl_ev){{0}, 0})
#endif

/* One field of a generated EV: values init_val, then on through min_val..max_val, under the mask. [MRC-EVX-1..5] */
struct mrc_ctl_ev_field {
  uint32_t width; /* bits, at most 32 */
  uint32_t init_val;
  uint32_t min_val;
  uint32_t max_val; /* min = max = 0 with a mask set: no restriction */
  uint32_t mask;
};

enum mrc_ctl_ev_op {
  MRC_CTL_EV_OP_REPLACE_EV = 0,      /* ev becomes ev_new in the given state */
  MRC_CTL_EV_OP_MODIFY_EV_STATE = 1, /* ev gets the given state */
  MRC_CTL_EV_OP_QUERY_EV_STATE = 2,  /* state of ev is filled in */
  MRC_CTL_EV_OP_QUERY_EV_ARRAY = 3,  /* all EVs and their states are filled in */
};

enum mrc_ctl_ev_op_flags {
  MRC_CTL_EV_OP_F_ALL_COPIES = 1 << 0, /* every occurrence of ev, not just one */
};

struct mrc_ctl_ev_op_entry {
  struct mrc_ctl_ev ev;
  struct mrc_ctl_ev ev_new;
  enum mrc_ctl_ev_state state;
  uint32_t flags; /* enum mrc_ctl_ev_op_flags */
};

enum mrc_ctl_ev_fields_op {
  MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS = 0,
  MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS = 1,
};

enum mrc_ctl_ev_profile_attr_mask {
  MRC_CTL_EV_PROFILE_STATE = 1 << 0,
  MRC_CTL_EV_PROFILE_CUR_STATE = 1 << 1,
  MRC_CTL_EV_PROFILE_MODE = 1 << 2,
  MRC_CTL_EV_PROFILE_FMT_ID = 1 << 3,
  MRC_CTL_EV_PROFILE_COUNT = 1 << 4,
  MRC_CTL_EV_PROFILE_MIN_ACTIVE = 1 << 5,
  MRC_CTL_EV_PROFILE_EVENT_MASK = 1 << 6,
  MRC_CTL_EV_PROFILE_EV_OP = 1 << 7,
  MRC_CTL_EV_PROFILE_EV_FIELDS_OP = 1 << 8,
  MRC_CTL_EV_PROFILE_VENDOR_CFG = -2147483647 - 1, /* bit 31 */
};

struct mrc_ctl_ev_profile_attr {
  enum mrc_ctl_profile_state profile_state;     /* target state, or current state */
  enum mrc_ctl_profile_state cur_profile_state; /* state asserted before the change */
  enum mrc_ctl_ev_mode ev_mode;
  uint64_t ev_fmt_profile_id;
  uint32_t ev_count;      /* EVs of the profile */
  uint32_t ev_min_active; /* with fewer good EVs than this, bad ones are used again */
  int ev_event_mask;      /* GOOD and ASSUMED_BAD: transitions that raise an event */
  struct {
    enum mrc_ctl_ev_op op;
    struct mrc_ctl_ev_op_entry* entries; /* the caller's array */
    int entry_count;                     /* its length; on E2BIG the length that is needed */
  } ev_op;
  struct {
    enum mrc_ctl_ev_fields_op op;
    struct mrc_ctl_ev_field* fields; /* the caller's array */
    int field_count;                 /* its length; on E2BIG the length that is needed */
  } ev_fields_op;
  uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* To OFFLINE needs mode, format, count and fields (an automatic one the mode alone), to ONLINE minimum, event mask, its
 * format ONLINE and, if explicit, every EV. At most one of EV_OP and EV_FIELDS_OP per call. A batch stops at the first
 * entry that fails; the entries before it stay in force. ENOENT for an EV that is not there, EBUSY while QPs use the
 * profile. [MRC-PROF-1..8] */
int mrc_ctl_modify_ev_profile(struct mrc_context* mrc_ctx, uint64_t ev_profile_id, struct mrc_ctl_ev_profile_attr* attr,
                              int attr_mask);
int mrc_ctl_query_ev_profile(struct mrc_context* mrc_ctx, uint64_t ev_profile_id, struct mrc_ctl_ev_profile_attr* attr,
                             int attr_mask);

/* ---- congestion control profile ------------------------------------------------------------------------------------
 */

/* Settings of "uet-1.0-nscc". Zero or a negative number: derived, as without a profile. spec/nscc.md has the defaults
 * and what each does. [MRC-CCP-3] */
struct mrc_ctl_cc_nscc_cfg {
  uint8_t disable_qa;               /* 1: no quick adapt */
  uint32_t adjust_bytes_threshold;  /* bytes acknowledged after which the window is adjusted */
  uint32_t adjust_period_threshold; /* ns after which it is */
  uint32_t base_rtt;                /* ns, of an unloaded path */
  float eta;                        /* bytes added at each adjustment by time */
  float fi;                         /* bytes: gain of the fair increase */
  float fi_scale;                   /* gain of the fast increase */
  float gamma;                      /* gain of the decrease, at most 1 */
  float max_md_jump;                /* share of the window that a decrease leaves at least, at most 1 */
  uint32_t max_cwnd;                /* bytes */
  uint8_t qa_gate;                  /* right shift of max_cwnd: with less achieved, quick adapt sets in; at most 62 */
  uint32_t qa_threshold;            /* ns of queueing delay above which it does */
  uint32_t target_delay;            /* ns of queueing delay */
};

enum mrc_ctl_cc_profile_attr_mask {
  MRC_CTL_CC_PROFILE_STATE = 1 << 0,
  MRC_CTL_CC_PROFILE_CUR_STATE = 1 << 1,
  MRC_CTL_CC_PROFILE_ALGORITHM = 1 << 2,
  MRC_CTL_CC_PROFILE_CONFIG = 1 << 3,
  MRC_CTL_CC_PROFILE_VENDOR_CFG = -2147483647 - 1, /* bit 31 */
};

struct mrc_ctl_cc_profile_attr {
  enum mrc_ctl_profile_state profile_state;     /* target state, or current state */
  enum mrc_ctl_profile_state cur_profile_state; /* state asserted before the change */
  const char* algorithm; /* one of mrc_ctl_device_attr.cc.algorithms; NULL: no congestion control */
  const void* cc_config; /* mrc_ctl_cc_nscc_cfg, or NULL: other algorithms have none */
  uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* To OFFLINE needs the algorithm, to ONLINE its configuration, if it has one. EBUSY while QPs use the profile
 * [MRC-CCP-1..2]. A query points cc_config to a copy that is the calling thread's until its next query [MRC-CCP-3]. */
int mrc_ctl_modify_cc_profile(struct mrc_context* mrc_ctx, uint64_t cc_profile_id, struct mrc_ctl_cc_profile_attr* attr,
                              int attr_mask);
int mrc_ctl_query_cc_profile(struct mrc_context* mrc_ctx, uint64_t cc_profile_id, struct mrc_ctl_cc_profile_attr* attr,
                             int attr_mask);

/* ---- EV events ------------------------------------------------------------------------------------------------------
 */

/* 56 bytes, or 48 for a caller that uses API 1.0.0: the library uses the version given at mrc_create_context.
 * [API-CTL-3] */
struct mrc_ctl_ev_event {
  uint64_t profile_id;
  struct mrc_ctl_ev ev;
  uint32_t drop_count; /* packets lost on it since its last event; 0 or 1 unless the device counts exactly */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
  enum mrc_ctl_ev_state state; /* the new state */
#endif
};

/* A CQ for EV events alone, of all profiles of the device; it never overruns: events of one EV are merged. Arguments
 * and events of the channel as for any CQ, and mrc_destroy_cq destroys it. [MRC-EVT-1..3] */
struct mrc_cq* mrc_ctl_create_ev_event_cq(struct mrc_context* mrc_ctx, int cqe, void* cq_context,
                                          struct mrc_comp_channel* channel, int comp_vector);
/* Takes up to num_entries events, oldest first. The count, or a negative errno value. Needs no privilege. */
int mrc_ctl_poll_ev_event(struct mrc_cq* ev_cq, int num_entries, struct mrc_ctl_ev_event* ev_event);

/* ---- endpoint operations --------------------------------------------------------------------------------------------
 */

enum mrc_ctl_ep_op_type {
  MRC_CTL_EP_OP_EV_PROBE = 0,           /* tests whether a path reaches the peer, and measures its round trip */
  MRC_CTL_EP_OP_PORT_STATUS_UPDATE = 1, /* notifies the peer of the local ports that work */
};

struct mrc_ctl_ep_req {
  uint16_t req_id;    /* unique in the batch */
  union ibv_gid sgid; /* of the device; zero: any */
  union ibv_gid dgid; /* RoCE v2 */
  enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
  struct mrc_ctl_ev req_ev; /* path and port of the request, one of the device's EVs */
  union {
    struct {
      uint32_t port_status; /* bit N: port N works */
    } port_status_update;
  } op;
};

struct mrc_ctl_ep_rsp {
  uint16_t req_id;
  uint8_t port;         /* on which the answer arrived */
  unsigned int rtt;     /* nanoseconds */
  uint8_t adj_svc_time; /* 1: the peer's service time is already subtracted from rtt */
};

/* Sends num_req requests of one kind and waits until all are answered or rsp_timeout nanoseconds have passed. rsp has
 * room for num_req answers, *num_rsp is set to their number, in order of arrival; none is kept for a later call. req_tc
 * is the traffic class, 0 the device's own; EINVAL for one whose DSCP is that of trimmed or control packets [API-QP-3].
 * A peer whose planes are learned is asked for them first, over plane 1, in the same time. Errors: EAGAIN (too many
 * under way), ETIMEDOUT (with the answers that did arrive). [API-CTL-2] */
int mrc_ctl_ep_batch_send_wait(struct mrc_context* mrc_ctx, uint8_t req_tc, enum mrc_ctl_ep_op_type op_type,
                               struct mrc_ctl_ep_req* req, int num_req, uint32_t rsp_timeout,
                               struct mrc_ctl_ep_rsp* rsp, int* num_rsp);

#ifdef __cplusplus
}
#endif
#endif /* MRC_CTL_H */
