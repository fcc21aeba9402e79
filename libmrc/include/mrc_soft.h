/* mrc_soft.h: functions for hosts where libibverbs has no device: find and open a software MRC device, register
 * memory, read statistics. Every object returned is a standard libibverbs structure, so mrc.h takes it unchanged.
 *
 * Conventions: functions that return a pointer return NULL and set errno; functions that return int return 0, or a
 * positive errno value and set errno. All functions may be called from any thread. Strings are UTF-8 and NUL
 * terminated.
 */
#ifndef MRC_SOFT_H
#define MRC_SOFT_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mrc_cq;
struct mrc_qp;
struct mrc_context;

/* NULL-terminated array of the configured software devices; *num_devices may be NULL. Free with
 * mrc_soft_free_device_list; a device that was opened stays valid until it is closed. Errors: EINVAL (configuration
 * refused: mrc_soft_config_error returns the reason, also on stderr unless MRC_LOG=off), ENOMEM. */
struct ibv_device** mrc_soft_get_device_list(int* num_devices);
void mrc_soft_free_device_list(struct ibv_device** list);
const char* mrc_soft_get_device_name(struct ibv_device* device);
/* The reason why the configuration was refused, as a sentence, or NULL. Owned by the library. */
const char* mrc_soft_config_error(void);

/* Opens a device, by pointer or by name (NULL: the first one). The context has a full ops table: ibv_query_port_*,
 * ibv_post_send and the other inlines of verbs.h are safe to reach. Errors: EINVAL (NULL, or a configuration that is
 * refused), ENODEV (no device of this library, or no such name), ENOMEM, EADDRINUSE, and errors of the sockets. */
struct ibv_context* mrc_soft_open_device(struct ibv_device* device);
struct ibv_context* mrc_soft_open_device_by_name(const char* name);
int mrc_soft_close_device(struct ibv_context* context); /* EBUSY while objects or handles exist */
/* 1 when the context was opened by this library or is a handle of such a context, else 0. Never dereferences a foreign
 * context's private part. */
int mrc_soft_is_soft_context(const struct ibv_context* context);

int mrc_soft_query_device(struct ibv_context* context, struct ibv_device_attr* attr);
int mrc_soft_query_port(struct ibv_context* context, uint8_t port_num, struct ibv_port_attr* attr);
int mrc_soft_query_gid(struct ibv_context* context, uint8_t port_num, int index, union ibv_gid* gid);

struct ibv_pd* mrc_soft_alloc_pd(struct ibv_context* context);
int mrc_soft_dealloc_pd(struct ibv_pd* pd); /* EBUSY while memory regions or QPs use it, or handles stand for it */

/* access: IBV_ACCESS_*; remote write needs local write (EINVAL otherwise). Relaxed ordering is accepted. iova is the
 * address that peers use for the first byte. */
struct ibv_mr* mrc_soft_reg_mr(struct ibv_pd* pd, void* addr, size_t length, int access);
struct ibv_mr* mrc_soft_reg_mr_iova(struct ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access);
/* Memory of another device by dma-buf: always NULL and EOPNOTSUPP, because data is copied by this host's
 * CPU. Programs probe with fd -1 and interpret any other errno as support. */
struct ibv_mr* mrc_soft_reg_dmabuf_mr(struct ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                                      int access);
int mrc_soft_dereg_mr(struct ibv_mr* mr);

/* A mailbox: memory of one QP that its peer may write to without an exchange of keys, for protocols between software
 * peers on top of MRC writes (the verbs shim). Writes with remote key MRC_SOFT_MAILBOX_RKEY, which no memory region
 * ever has, go to it at the remote address as offset; other than that they are ordinary writes. A write with immediate
 * to that key, of zero bytes too, consumes no receive request: it completes in the receive CQ, in its turn among the
 * QP's other completions, with opcode MRC_SOFT_WC_MAILBOX and the given wr_id. Access flags of the QP are not checked.
 * Set it before RTR, and keep the memory until the QP is destroyed. A QP without a mailbox refuses the key as a remote
 * access error. */
#define MRC_SOFT_MAILBOX_RKEY 1u
#define MRC_SOFT_WC_MAILBOX IBV_WC_DRIVER1
/* vendor_err of a completion with status IBV_WC_RETRY_EXC_ERR: the packets are larger than any path to the peer
 * carries. A new queue pair with the path MTU of ibv_query_port's active_mtu, which has changed, gets through. */
#define MRC_SOFT_VENDOR_ERR_PATH_MTU 0x4D5455u
int mrc_soft_set_mailbox(struct mrc_qp* qp, void* addr, size_t length, uint64_t wr_id);
/* For mrc_soft_reg_mr: peers that have the key may write to the region, regardless of the access flags of the QP.
 * For regions whose keys such a protocol hands out for one transfer. */
#define MRC_SOFT_ACCESS_ANY_QP (1 << 30)

/* Handles: a library that puts verbs objects of its own over software devices (the verbs shim) registers them here.
 * Every function of mrc.h, mrc_ctl.h and this header then takes the handle in place of the context or the protection
 * domain that it stands for, except that each library closes and frees its own objects only. A handle is identified by
 * its address. Of a context's handle async_fd is used: an eventfd in semaphore mode that counts the events of the MRC
 * contexts made through the handle, beside what its owner counts there; it must stay open. Errors: EINVAL (not an
 * object of this library, or the handle is registered already), ENOMEM. Removing: EINVAL if it is no handle, EBUSY
 * while MRC contexts made through it exist (context), or regions or QPs (protection domain). */
int mrc_soft_add_context_handle(struct ibv_context* context, struct ibv_context* handle);
int mrc_soft_remove_context_handle(struct ibv_context* handle);
int mrc_soft_add_pd_handle(struct ibv_pd* pd, struct ibv_pd* handle);
int mrc_soft_remove_pd_handle(struct ibv_pd* handle);

/* Makes room for at least cqe completions; those already queued stay. EINVAL when more are queued. Errors: ENOMEM. */
int mrc_soft_resize_cq(struct mrc_cq* cq, int cqe);

/* Statistics. `text` receives one "name value" line per counter of the device (mrc-info --stats shows the sentences),
 * then "plane.<n>.<name> value" lines; the needed size is returned, as snprintf does. -1 and errno on error. */
int mrc_soft_query_stats(struct ibv_context* context, char* text, size_t size);
/* Same for one QP: cwnd, inflight, srtt_ns, retransmits..., then one line per EV towards its peer:
 * "ev.<value> plane <p> state <GOOD|SKIP|ASSUMED_BAD|DENIED> active <0|1> tx <n> loss <n> ecn <n>". */
int mrc_soft_query_qp_stats(struct mrc_qp* qp, char* text, size_t size);

/* Deny or allow one EV of the peer of a QP (DENIED is never left without a call). ENOENT for an unknown EV. */
int mrc_soft_deny_ev(struct mrc_qp* qp, uint32_t ev, int denied);
/* Take a local plane (1-based port number) out of service or back; peers are notified by a port status update. */
int mrc_soft_set_port_admin(struct ibv_context* context, uint8_t port_num, int enabled);

/* Receiver penalty, 0..127: carried in every SACK that the device sends until it is changed, and makes the senders
 * narrow their windows. restore: the senders return at once to their former windows. EINVAL for a foreign context or a
 * larger penalty. */
int mrc_soft_set_receiver_penalty(struct ibv_context* context, uint8_t penalty, int restore);

/* All parameters with default, range, unit and sentence, as JSON. Needed size as snprintf. */
int mrc_soft_describe_params(char* text, size_t size);
/* The resolved configuration of a device as JSON: planes (address, port), EVs, limits, rates, NSCC. */
int mrc_soft_describe_device(struct ibv_context* context, char* text, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* MRC_SOFT_H */
