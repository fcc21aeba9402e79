// The operations of verbs on one of our contexts, as functions of the C interface: those behind symbols are called by
// interpose/, the rest is in the context's tables.
#pragma once

#include <infiniband/verbs.h>

namespace mrc::shim {

int poll_cq_op(ibv_cq* cq, int num_entries, ibv_wc* wc);

// Queries; errno values.
int query_device(ibv_context* context, ibv_device_attr* attr);
int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attr);
int query_port_speed(ibv_context* context, uint32_t port, uint64_t* speed);  // in units of 100 Mb/s
int query_gid(ibv_context* context, uint8_t port, int index, union ibv_gid* gid);
int query_gid_entry(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry);  // ENODATA: empty
uint32_t gid_table_length(ibv_context* context);
inline constexpr uint16_t kPkey = 0xFFFF;  // the only one, at index 0
inline constexpr int kMaxSrqWr = 16384;

// Objects. Null and errno.
ibv_cq* create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel, int comp_vector,
                  uint64_t wc_flags);
ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* init);
ibv_qp* create_qp(ibv_context* context, ibv_qp_init_attr_ex* init);
ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr);

}  // namespace mrc::shim
