// The function table of an ibv_context. libibverbs' inline functions call through it without a check, so no entry that
// they use is null; a program that calls these has mixed verbs objects of another library with our device, and gets
// EOPNOTSUPP. Functions without other objects (device and port queries) work. [API-DEV-5]
#include <cerrno>
#include <cstring>

#include "api/errors.h"
#include "api/soft_context.h"

namespace mrc::api {

namespace {

ibv_mw* no_alloc_mw(ibv_pd*, ibv_mw_type) {
  return null_with(EOPNOTSUPP);
}
int no_bind_mw(ibv_qp*, ibv_mw*, ibv_mw_bind*) {
  return errno_value(EOPNOTSUPP);
}
int no_dealloc_mw(ibv_mw*) {
  return errno_value(EOPNOTSUPP);
}
int no_poll_cq(ibv_cq*, int, ibv_wc*) {
  return minus_one(EOPNOTSUPP);
}
int no_req_notify_cq(ibv_cq*, int) {
  return errno_value(EOPNOTSUPP);
}
int no_post_send(ibv_qp*, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  if (bad_wr != nullptr) *bad_wr = wr;
  return errno_value(EOPNOTSUPP);
}
int no_post_recv(ibv_qp*, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  if (bad_wr != nullptr) *bad_wr = wr;
  return errno_value(EOPNOTSUPP);
}
int no_post_srq_recv(ibv_srq*, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  if (bad_wr != nullptr) *bad_wr = wr;
  return errno_value(EOPNOTSUPP);
}
ibv_cq_ex* no_create_cq_ex(ibv_context*, ibv_cq_init_attr_ex*) {
  return null_with(EOPNOTSUPP);
}
ibv_qp* no_create_qp_ex(ibv_context*, ibv_qp_init_attr_ex*) {
  return null_with(EOPNOTSUPP);
}

// The callers of these two pass the size of their version of the structure.
int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attr, size_t size) {
  ibv_port_attr full;
  if (const int error = mrc_soft_query_port(context, port, &full)) return error;
  std::memset(attr, 0, size);
  std::memcpy(attr, &full, size < sizeof full ? size : sizeof full);
  return 0;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input*, ibv_device_attr_ex* attr, size_t size) {
  ibv_device_attr_ex full;
  std::memset(&full, 0, sizeof full);
  if (const int error = mrc_soft_query_device(context, &full.orig_attr)) return error;
  full.phys_port_cnt_ex = full.orig_attr.phys_port_cnt;
  std::memset(attr, 0, size);
  std::memcpy(attr, &full, size < sizeof full ? size : sizeof full);
  return 0;
}

}  // namespace

void fill_ops(verbs_context* verbs) {
  ibv_context_ops& ops = verbs->context.ops;
  ops.alloc_mw = no_alloc_mw;
  ops.bind_mw = no_bind_mw;
  ops.dealloc_mw = no_dealloc_mw;
  ops.poll_cq = no_poll_cq;
  ops.req_notify_cq = no_req_notify_cq;
  ops.post_srq_recv = no_post_srq_recv;
  ops.post_send = no_post_send;
  ops.post_recv = no_post_recv;
  verbs->query_port = query_port;
  verbs->query_device_ex = query_device_ex;
  verbs->create_cq_ex = no_create_cq_ex;
  verbs->create_qp_ex = no_create_qp_ex;
}

}  // namespace mrc::api
