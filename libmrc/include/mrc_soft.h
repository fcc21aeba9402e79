/* mrc_soft.h: functions for hosts where libibverbs has no device: find and open a software MRC device, register
 * memory, read statistics. Every object returned is a standard libibverbs structure, so mrc.h takes it unchanged.
 *
 * Conventions: functions that return a pointer return NULL and set errno; functions that return int return 0, or a
 * positive errno value and set errno, unless their comment says otherwise. EINVAL stands for a NULL or foreign object
 * and for a value out of range, ENOMEM for memory that has run out, EPERM for a child of fork that changes or creates
 * something of its parent [API-FRK-1]; these are not repeated below. All functions may be called from any thread.
 * Structures belong to the caller and are used during the call only. Strings are UTF-8 and NUL terminated. spec/api.md
 * has the rules that the comments name by their ids.
 */
#ifndef MRC_SOFT_H
#define MRC_SOFT_H

#include <infiniband/verbs.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mrc_cq;
struct mrc_qp;
struct mrc_context;

/* NULL-terminated array of the configured software devices; *num_devices may be NULL. Free with
 * mrc_soft_free_device_list; the devices themselves stay valid as long as the process. Errors: EINVAL (configuration
 * refused: mrc_soft_config_error returns the reason, also on stderr unless MRC_LOG=off). */
struct ibv_device** mrc_soft_get_device_list(int* num_devices);
void mrc_soft_free_device_list(struct ibv_device** list);
/* Owned by the device. */
const char* mrc_soft_get_device_name(struct ibv_device* device);
/* The reason why the configuration was refused, as a sentence, or NULL. Owned by the library, and valid until it is
 * refused again. */
const char* mrc_soft_config_error(void);

/* Opens a device, by pointer or by name (NULL: the first one). The context has a full ops table: ibv_query_port_*,
 * ibv_post_send and the other inlines of verbs.h are safe to reach [API-DEV-5]. Errors: EINVAL (also a configuration
 * that is refused), ENODEV (no device of this library, or no such name), EADDRINUSE, and errors of the sockets. */
struct ibv_context* mrc_soft_open_device(struct ibv_device* device);
struct ibv_context* mrc_soft_open_device_by_name(const char* name);
int mrc_soft_close_device(struct ibv_context* context); /* EBUSY while objects or handles exist */
/* 1 when the context was opened by this library or is a handle of such a context, else 0. Never dereferences a foreign
 * context's private part. */
int mrc_soft_is_soft_context(const struct ibv_context* context);

/* As their namesakes in libibverbs [API-DEV-2]. port_num: 1..n are the planes, while verbs see one port [API-DEV-4];
 * all have the same GIDs. An empty entry of the GID table reads as 16 zero bytes [API-DEV-3]. */
int mrc_soft_query_device(struct ibv_context* context, struct ibv_device_attr* attr);
int mrc_soft_query_port(struct ibv_context* context, uint8_t port_num, struct ibv_port_attr* attr);
int mrc_soft_query_gid(struct ibv_context* context, uint8_t port_num, int index, union ibv_gid* gid);

struct ibv_pd* mrc_soft_alloc_pd(struct ibv_context* context);
int mrc_soft_dealloc_pd(struct ibv_pd* pd); /* EBUSY while memory regions or QPs use it, or handles stand for it */

/* access: IBV_ACCESS_*; remote write needs local write (EINVAL otherwise). Relaxed ordering is accepted. iova is the
 * address that peers use for the first byte. The memory stays the caller's; where it is unmapped while it is
 * registered, an access fails the queue pair and not the process [API-MEM-2]. EFAULT when it is not mapped now, or not
 * writable. */
struct ibv_mr* mrc_soft_reg_mr(struct ibv_pd* pd, void* addr, size_t length, int access);
struct ibv_mr* mrc_soft_reg_mr_iova(struct ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access);
/* Memory of another device by dma-buf: always NULL and EOPNOTSUPP, because data is copied by this host's
 * CPU. Programs probe with fd -1 and interpret any other errno as support. [API-MEM-1] */
struct ibv_mr* mrc_soft_reg_dmabuf_mr(struct ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                                      int access);
/* The keys are void when it returns: nothing reads or writes the memory any more. */
int mrc_soft_dereg_mr(struct ibv_mr* mr);

/* A mailbox: memory of one QP that its peer may write to without an exchange of keys, for protocols between software
 * peers on top of MRC writes (the verbs shim). Writes with remote key MRC_SOFT_MAILBOX_RKEY, which no memory region
 * ever has, go to it at the remote address as offset; other than that they are ordinary writes. A write with immediate
 * to that key, of zero bytes too, consumes no receive request: it completes in the receive CQ, in its turn among the
 * QP's other completions, with opcode MRC_SOFT_WC_MAILBOX and the given wr_id. Access flags of the QP are not checked.
 * Set it before RTR (EINVAL later), and keep the memory until the QP is destroyed; addr NULL and length 0 take it away.
 * A QP without a mailbox refuses the key as a remote access error. */
#define MRC_SOFT_MAILBOX_RKEY 1u
#define MRC_SOFT_WC_MAILBOX IBV_WC_DRIVER1
/* vendor_err of a completion with status IBV_WC_RETRY_EXC_ERR: the packets are larger than any path to the peer
 * carries. A new queue pair with the path MTU of ibv_query_port's active_mtu, which has changed, gets through. */
#define MRC_SOFT_VENDOR_ERR_PATH_MTU 0x4D5455u
int mrc_soft_set_mailbox(struct mrc_qp* qp, void* addr, size_t length, uint64_t wr_id);
/* States that the answers to the first `count` messages that were completed since the QP was reset last (writes with
 * immediate to the mailbox) were posted and are complete. A request of the peer that is to be refused waits for this,
 * 500 ms at most, because the refusal ends the QP and with it the answers [MRC-MBX-2]. Any thread may call it, at any
 * time until the QP is destroyed; it takes no lock. */
void mrc_soft_mailbox_answered(struct mrc_qp* qp, uint32_t count);
/* For mrc_soft_reg_mr: peers that have the key may write to the region, regardless of the access flags of the QP.
 * For regions whose keys such a protocol hands out for one transfer. */
#define MRC_SOFT_ACCESS_ANY_QP (1 << 30)

/* Handles: a library that puts verbs objects of its own over software devices (the verbs shim) registers them here.
 * Every function of mrc.h, mrc_ctl.h and this header then takes the handle in place of the context or the protection
 * domain that it stands for, except that each library closes and frees its own objects only. A handle is identified by
 * its address. Of a context's handle async_fd is used: an eventfd in semaphore mode that counts the events of the MRC
 * contexts made through the handle, beside what its owner counts there; it must stay open. Errors: EINVAL (also when
 * the handle is registered already). Removing: EINVAL if it is no handle, EBUSY while MRC contexts made through it
 * exist (context), or regions or QPs (protection domain). [API-HND-1] */
int mrc_soft_add_context_handle(struct ibv_context* context, struct ibv_context* handle);
int mrc_soft_remove_context_handle(struct ibv_context* handle);
int mrc_soft_add_pd_handle(struct ibv_pd* pd, struct ibv_pd* handle);
int mrc_soft_remove_pd_handle(struct ibv_pd* handle);

/* Datagram queue pairs: UD of RoCEv2 beside MRC. A datagram is one packet of at most the path MTU (active_mtu of
 * ibv_query_port when the queue pair is created); it may be lost, duplicated or overtaken by another one. Datagrams
 * are spread evenly over the healthy planes. Completions arrive in the completion queues of mrc.h. [API-UD-1..4]
 *
 * States are those of verbs, set by mrc_soft_modify_ud_qp: INIT requires pkey_index, port_num and qkey, RTS sq_psn; SQD
 * and SQE do not exist. Requests are posted as ibv_post_send takes them: IBV_WR_SEND or IBV_WR_SEND_WITH_IMM with
 * wr.ud.ah of mrc_soft_create_ah, from a domain of the same context or handle as that of the queue pair. A remote_qkey
 * with its highest bit set means the Q_Key of the queue pair. A request completes when its datagram has left this host.
 *
 * Receive buffers begin with 40 bytes for an IP header with the GIDs of both ends (IPv4 in the last 20 bytes). A
 * datagram with another Q_Key, without a receive request or longer than it is dropped and counted. A completion has
 * src_qp, IBV_WC_GRH, imm_data with IBV_WC_WITH_IMM, and vendor_err MRC_SOFT_UD_SOLICITED if the sender set
 * IBV_SEND_SOLICITED. Memory that is not valid completes with IBV_WC_LOC_PROT_ERR, and the queue pair goes to ERR.
 *
 * Errors: as the functions of mrc.h; EINVAL for a foreign object, ENETUNREACH when no rule of the configuration leads
 * to the destination, EBUSY while queue pairs use a shared receive queue. */
struct mrc_soft_ud_qp;
struct mrc_soft_ud_srq;
struct mrc_soft_ud_init_attr {
  struct ibv_pd* pd;
  struct mrc_cq* send_cq;
  struct mrc_cq* recv_cq;
  struct mrc_soft_ud_srq* srq; /* or NULL: a receive queue of its own, of cap.max_recv_wr and max_recv_sge */
  struct ibv_qp_cap cap;       /* replaced by what the queue pair has */
  int sq_sig_all;
};
#define MRC_SOFT_UD_SOLICITED 0x534Fu
/* sl of a received datagram's completion: the form of its header, in the numbers of NICs, which UCX compares. */
#define MRC_SOFT_UD_IPV6 1
#define MRC_SOFT_UD_IPV4 2
/* In state RESET; its queues, domain and shared receive queue outlive it. */
struct mrc_soft_ud_qp* mrc_soft_create_ud_qp(struct mrc_context* context, struct mrc_soft_ud_init_attr* attr);
int mrc_soft_destroy_ud_qp(struct mrc_soft_ud_qp* qp);
/* The 24-bit number by which peers address it. */
uint32_t mrc_soft_ud_qpn(struct mrc_soft_ud_qp* qp);
int mrc_soft_modify_ud_qp(struct mrc_soft_ud_qp* qp, const struct ibv_qp_attr* attr, int attr_mask);
int mrc_soft_post_ud_send(struct mrc_soft_ud_qp* qp, struct ibv_send_wr* wr, struct ibv_send_wr** bad_wr);
int mrc_soft_post_ud_recv(struct mrc_soft_ud_qp* qp, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr);
struct mrc_soft_ud_srq* mrc_soft_create_ud_srq(struct ibv_pd* pd, uint32_t max_wr, uint32_t max_sge);
int mrc_soft_destroy_ud_srq(struct mrc_soft_ud_srq* srq);
int mrc_soft_post_ud_srq_recv(struct mrc_soft_ud_srq* srq, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr);
/* The address vector must be global. An address handle may be destroyed while requests to it are posted. */
struct ibv_ah* mrc_soft_create_ah(struct ibv_pd* pd, struct ibv_ah_attr* attr);
int mrc_soft_destroy_ah(struct ibv_ah* ah);
/* Multicast: the queue pair receives the datagrams to a group, whose GID is ff00::/8 or an IPv4 group as
 * ::ffff:a.b.c.d; those of its own process too. Sent with an address handle of the group's GID to QPN 0xFFFFFF, at the
 * hop limit of the address vector, at least 1. Attaching a second time has no effect. A queue pair that is attached
 * cannot be destroyed (EBUSY). Errors: EINVAL (no multicast GID; detaching what is not attached), ENOMEM (limits of
 * ibv_query_device), EOPNOTSUPP (the datapath carries no multicast), EADDRNOTAVAIL (a group of one link or interface),
 * errors of the sockets. [API-UD-5] */
int mrc_soft_attach_mcast(struct mrc_soft_ud_qp* qp, const union ibv_gid* gid);
int mrc_soft_detach_mcast(struct mrc_soft_ud_qp* qp, const union ibv_gid* gid);

/* Calls access(argument), which reads or writes the memory of the list, registered or not: 0. EFAULT when a part of it
 * is not mapped or protected; `fault` (may be null) is the address, and what access did before remains. It must not
 * leave by other ways, or hold anything when it touches the memory. A handler of SIGSEGV and SIGBUS does this, which
 * the device installs in front of the program's with each registration of memory and change of a queue pair. */
int mrc_soft_guarded_access(void (*access)(void* argument), void* argument, const struct iovec* memory, int count,
                            void** fault);

/* Sleeps as ppoll(fds, count, timeout, NULL) does, and returns what it returns: for threads that wait for something
 * which the device's packets bring, as those do that mrc_get_cq_event blocks. Where no other thread waits for a CQ of
 * the device, this thread receives and sends in place of the library's own: a packet costs one wake-up and not two.
 * Then it returns 0 as soon as there was any work. (Not with several shards, nor for more than 4 descriptors.) The call
 * must be left by returning or by cancellation, not by siglongjmp. `armed`: CQs of the context that are armed and that
 * only this thread waits for. A cancellation point [API-THR-1]. Returns -1 and errno on error: as ppoll. */
int mrc_soft_wait(struct mrc_context* context, struct pollfd* fds, unsigned int count, const struct timespec* timeout,
                  int armed);

/* Makes room for at least cqe (from 1 on) completions; those already queued stay. EINVAL when more are queued. */
int mrc_soft_resize_cq(struct mrc_cq* cq, int cqe);

/* Statistics. `text`, of `size` bytes, receives one "name value" line per counter of the device (mrc-info --stats shows
 * the sentences), then "plane.<n>.<name> value" lines, as far as it fits, NUL-terminated; the needed length without NUL
 * is returned, as snprintf does. `text` may be NULL with size 0. -1 and errno on error. */
int mrc_soft_query_stats(struct ibv_context* context, char* text, size_t size);
/* Same for one QP: cwnd, inflight, srtt_ns, retransmits... Where a packet that was sent again has arrived, then
 * "retransmission_delay.count", "retransmission_delay.max_ns" and "retransmission_delay.le_<ns> <packets>": packets
 * whose first transmission was acknowledged after at most that time, and after more than the next smaller one, for
 * those times that occurred. Then one line per EV towards its peer: "ev.<value> plane <p> state
 * <GOOD|SKIP|ASSUMED_BAD|DENIED> active <0|1> tx <n> loss <n> ecn <n>". */
int mrc_soft_query_qp_stats(struct mrc_qp* qp, char* text, size_t size);

/* Deny or allow one EV, by its value in the statistics, of the peer of a QP (DENIED is never left without a call).
 * ENOENT for an unknown EV, EINVAL for a QP before RTR. */
int mrc_soft_deny_ev(struct mrc_qp* qp, uint32_t ev, int denied);
/* Take a local plane (1-based port number) out of service or back; peers are notified by a port status update. */
int mrc_soft_set_port_admin(struct ibv_context* context, uint8_t port_num, int enabled);

/* Receiver penalty, 0..127: carried in every SACK that the device sends until it is changed, and makes the senders
 * narrow their windows. restore: the senders return at once to their former windows. EINVAL for a foreign context or a
 * larger penalty. */
int mrc_soft_set_receiver_penalty(struct ibv_context* context, uint8_t penalty, int restore);

/* All parameters with value, default, range, unit and sentence, as JSON. The result as of mrc_soft_query_stats. */
int mrc_soft_describe_params(char* text, size_t size);
/* The resolved configuration of a device as JSON: planes (address, port), EVs, limits, rates, NSCC. The result as of
 * mrc_soft_query_stats. */
int mrc_soft_describe_device(struct ibv_context* context, char* text, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* MRC_SOFT_H */
