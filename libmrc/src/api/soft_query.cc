// Device, port and GID queries of mrc_soft.h: the attributes that verbs programs expect, see [API-DEV-2], [API-DEV-3].
#include <endian.h>

#include <cstdio>
#include <cstring>

#include "api/errors.h"
#include "api/limits.h"
#include "api/soft_context.h"

using mrc::api::errno_value;
using mrc::api::SoftContext;

namespace {

// Of no existing NIC: programs switch to special code for known ids.
constexpr uint32_t kVendorId = 0x4D5243;
constexpr uint32_t kVendorPartId = 0x5357;
constexpr uint8_t kWidth4x = 2;
constexpr uint8_t kPhysLinkUp = 5;
constexpr uint8_t kPhysDisabled = 3;

// The same for all processes on the device, different for different devices; never zero.
uint64_t guid_of(const mrc::device::DeviceConfig& config) {
  uint64_t hash = 0xCBF29CE484222325u;
  auto mix = [&](uint8_t byte) { hash = (hash ^ byte) * 0x100000001B3u; };
  for (char c : config.name) mix(static_cast<uint8_t>(c));
  for (const mrc::IpAddress& gid : config.gids)
    for (uint8_t byte : gid.bytes) mix(byte);
  return hash | 1u << 25;
}

// Speeds of verbs are per lane, roughly in powers of two of 2.5 Gb/s; four lanes.
uint8_t speed_of(double gbps) {
  if (gbps > 200) return 128;  // NDR, the maximum that eight bits hold
  if (gbps > 100) return 64;   // HDR
  if (gbps > 40) return 32;    // EDR
  if (gbps > 0) return 4;      // QDR
  return 32;                   // not known
}

}  // namespace

extern "C" {

int mrc_soft_query_device(ibv_context* context, ibv_device_attr* attr) {
  SoftContext* soft = SoftContext::of(context);
  if (soft == nullptr || attr == nullptr) return errno_value(EINVAL);
  const mrc::device::DeviceConfig& config = soft->device().config();
  std::memset(attr, 0, sizeof *attr);
  std::snprintf(attr->fw_ver, sizeof attr->fw_ver, "1.0.1");
  attr->node_guid = attr->sys_image_guid = htobe64(guid_of(config));
  attr->max_mr_size = UINT64_MAX;
  attr->page_size_cap = ~uint64_t{0xFFF};
  attr->vendor_id = kVendorId;
  attr->vendor_part_id = kVendorPartId;
  attr->hw_ver = 1;
  attr->max_qp = static_cast<int>(config.settings.max_qps * soft->shards().size());
  attr->max_qp_wr = mrc::api::kMaxQpWr;
  attr->max_sge = attr->max_sge_rd = mrc::api::kMaxSge;
  attr->max_cq = mrc::api::kMaxCq;
  attr->max_cqe = mrc::api::kMaxCqe;
  attr->max_mr = mrc::api::kMaxMr;
  attr->max_pd = mrc::api::kMaxPd;
  attr->atomic_cap = IBV_ATOMIC_NONE;
  attr->max_pkeys = mrc::api::kPkeys;
  attr->local_ca_ack_delay = 15;
  attr->phys_port_cnt = 1;
  mrc::device::Device& device = soft->device();
  const mrc::device::DeviceLock lock(device.mutex());
  attr->max_mcast_grp = static_cast<int>(device.max_groups_locked());
  attr->max_mcast_qp_attach = attr->max_mcast_grp > 0 ? mrc::core::MulticastGroups::kMaxMembers : 0;
  attr->max_total_mcast_qp_attach = attr->max_mcast_grp * attr->max_mcast_qp_attach;
  return 0;
}

int mrc_soft_query_port(ibv_context* context, uint8_t port_num, ibv_port_attr* attr) {
  SoftContext* soft = SoftContext::of(context);
  if (soft == nullptr || attr == nullptr || port_num < 1 || port_num > soft->device().planes())
    return errno_value(EINVAL);
  const mrc::device::DeviceConfig& config = soft->device().config();
  const bool works = soft->plane_works(port_num);
  std::memset(attr, 0, sizeof *attr);
  attr->state = works ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attr->phys_state = works ? kPhysLinkUp : kPhysDisabled;
  attr->max_mtu = IBV_MTU_4096;
  attr->active_mtu = IBV_MTU_256;
  const uint32_t carried = soft->shards().active_mtu();  // [MRC-MTU-5]
  for (int mtu = IBV_MTU_512; mtu <= IBV_MTU_4096; ++mtu)
    if (mrc::api::mtu_bytes(mtu) <= carried) attr->active_mtu = static_cast<ibv_mtu>(mtu);
  attr->gid_tbl_len = soft->limits().gids;
  attr->port_cap_flags = IBV_PORT_IP_BASED_GIDS;
  attr->max_msg_sz = mrc::api::kMaxMessage;
  attr->pkey_tbl_len = mrc::api::kPkeys;
  attr->max_vl_num = 1;
  attr->active_width = kWidth4x;
  attr->active_speed = speed_of(config.line_rate_gbps);
  attr->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}

int mrc_soft_query_gid(ibv_context* context, uint8_t port_num, int index, union ibv_gid* gid) {
  SoftContext* soft = SoftContext::of(context);
  if (soft == nullptr || gid == nullptr || port_num < 1 || port_num > soft->device().planes() || index < 0 ||
      index >= soft->limits().gids)
    return errno_value(EINVAL);
  const mrc::IpAddress& entry = soft->device().config().gids[static_cast<size_t>(index)];
  std::memcpy(gid->raw, entry.bytes.data(), sizeof gid->raw);
  return 0;
}

}  // extern "C"
