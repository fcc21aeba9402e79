// Device attributes: the software device's own, with the additions of the message protocol. [VRB-DEV-2]
#include <cerrno>
#include <cmath>
#include <cstring>

#include "objects/completion_queue.h"
#include "objects/queue_pair.h"
#include "objects/verbs_ops.h"
#include "sysfs/links.h"

namespace mrc::shim {

int query_device(ibv_context* verbs, ibv_device_attr* attr) {
  Context* const context = Context::of(verbs);
  if (const int error = context->api().mrc_soft_query_device(context->soft(), attr)) return error;
  attr->max_qp_wr = BaseQp::kMaxWr;
  attr->max_sge = attr->max_sge_rd = BaseQp::kMaxSge;
  attr->max_cqe = Cq::kMaxCqe;
  attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = Qp::kMaxReads;
  attr->max_res_rd_atom = attr->max_qp * static_cast<int>(Qp::kMaxReads);
  attr->atomic_cap = IBV_ATOMIC_HCA;  // GLOB would be correct, too, but UCX requires this value
  attr->max_srq = 65536;
  attr->max_srq_wr = kMaxSrqWr;
  attr->max_srq_sge = BaseQp::kMaxSge;
  attr->max_ah = 1 << 20;
  attr->device_cap_flags |= IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_RC_RNR_NAK_GEN |
                            IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SRQ_RESIZE;
  return 0;
}

int query_port(ibv_context* verbs, uint8_t port, ibv_port_attr* attr) {
  Context* const context = Context::of(verbs);
  if (port != 1 || attr == nullptr) return EINVAL;
  if (const int error = context->api().mrc_soft_query_port(context->soft(), port, attr)) return error;
  // All planes are one port to verbs. [VRB-DEV-1]
  const bool up = context->port_active();
  attr->state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attr->phys_state = up ? 5 : 3;
  return 0;
}

int query_port_speed(ibv_context* verbs, uint32_t port, uint64_t* speed) {
  if (port != 1 || speed == nullptr) return EINVAL;
  *speed = static_cast<uint64_t>(std::lround(port_gbps(links_of(Context::of(verbs)->soft())) * 10));
  return 0;
}

int query_gid(ibv_context* verbs, uint8_t port, int index, union ibv_gid* gid) {
  Context* const context = Context::of(verbs);
  if (port != 1) return EINVAL;
  return context->api().mrc_soft_query_gid(context->soft(), port, index, gid);
}

uint32_t gid_table_length(ibv_context* verbs) {
  ibv_port_attr attr;
  return query_port(verbs, 1, &attr) == 0 ? static_cast<uint32_t>(attr.gid_tbl_len) : 0;
}

int query_gid_entry(ibv_context* verbs, uint32_t port, uint32_t index, ibv_gid_entry* entry) {
  static constexpr uint8_t kZero[16] = {};
  if (port != 1 || index >= gid_table_length(verbs)) return EINVAL;
  std::memset(entry, 0, sizeof *entry);
  if (const int error = query_gid(verbs, 1, static_cast<int>(index), &entry->gid)) return error;
  if (std::memcmp(entry->gid.raw, kZero, sizeof kZero) == 0) return ENODATA;
  entry->gid_index = index;
  entry->port_num = port;
  entry->gid_type = IBV_GID_TYPE_ROCE_V2;
  return 0;
}

}  // namespace mrc::shim
