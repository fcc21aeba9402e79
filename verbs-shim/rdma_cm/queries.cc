// What librdmacm asks about an id: addresses, paths, and the attributes of its queue pair. [CM-DEV-3]
#include <arpa/inet.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#include <algorithm>
#include <cerrno>

#include "objects/device.h"
#include "rdma_cm/addresses.h"
#include "rdma_cm/service.h"
#include "rdma_cm/user_memory.h"

namespace mrc::shim::rdma_cm {

namespace {

constexpr uint16_t kDefaultPkey = 0xFFFF;
constexpr uint8_t kEqual = 2;     // IB_SA_EQ
constexpr uint8_t kRate100 = 16;  // IBV_RATE_100_GBPS
constexpr uint8_t kHopLimit = 64;
constexpr uint8_t kMaxReads = 16;  // VRB-DEV-2

template <typename Address>
uint16_t put(const cm::Address& from, Address* to) {
  sockaddr_storage address;
  const socklen_t size = to_sockaddr(from, false, &address);
  std::memcpy(to, &address, std::min<size_t>(sizeof *to, size));
  return static_cast<uint16_t>(size);
}

// The peer's GID, or what it would be over InfiniBand's Ethernet before it is known. An address that is its own source
// is this host's, also one that is no GID.
const std::array<uint8_t, 16>& peer_gid(const Id& id) {
  if (id.qp.peer_known) return id.qp.peer.gid;
  return id.remote.ip == id.binding.address.ip ? id.port.gid : id.remote.ip;
}

bool has_route(const Id& id) {
  return id.state == Id::State::kRouteResolved || id.state == Id::State::kConnection;
}

ib_user_path_rec path_of(const Id& id) {
  ib_user_path_rec path{};
  std::copy_n(peer_gid(id).begin(), 16, path.dgid);
  std::copy_n(id.port.gid.begin(), 16, path.sgid);
  path.pkey = htons(kDefaultPkey);
  if (!has_route(id)) return path;
  path.reversible = 1;
  path.numb_path = 1;
  path.mtu = id.port.mtu;
  path.mtu_selector = path.rate_selector = path.packet_life_time_selector = kEqual;
  path.rate = kRate100;
  path.packet_life_time = kDefaultAckTimeout;
  path.hop_limit = kHopLimit;
  return path;
}

// The same as a path record of the subnet administrator: network order, fields of bits.
void put_record(const Id& id, ib_path_rec_data* out) {
  *out = {};
  out->flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
  auto* const record = reinterpret_cast<uint8_t*>(out->path_rec);
  std::copy_n(peer_gid(id).begin(), 16, record + 8);
  std::copy_n(id.port.gid.begin(), 16, record + 24);
  record[47] = kHopLimit;
  record[49] = 0x81;  // reversible, one path
  record[50] = record[51] = 0xFF;
  record[54] = static_cast<uint8_t>(kEqual << 6 | id.port.mtu);
  record[55] = kEqual << 6 | kRate100;
  record[56] = kEqual << 6 | kDefaultAckTimeout;
}

}  // namespace

void put_peer_address(const Id& id, ib_uverbs_ah_attr* out) {
  std::copy_n(id.qp.peer.gid.begin(), 16, out->grh.dgid);
  out->grh.sgid_index = id.port.gid_index;
  out->grh.hop_limit = kHopLimit;
  out->is_global = 1;
  out->port_num = 1;
}

int Service::query_route(const Call& call, const rdma_ucm_query& in) {
  int error;
  const Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  rdma_ucm_query_route_resp answer{};
  put(id->binding.address, &answer.src_addr);
  put(id->remote, &answer.dst_addr);
  answer.ibdev_index = UINT32_MAX;
  if (id->port.device != nullptr) {
    answer.node_guid = id->port.guid;
    answer.port_num = 1;
    answer.num_paths = has_route(*id) ? 1 : 0;
    answer.ib_route[0] = path_of(*id);
    answer.ibdev_index = static_cast<uint32_t>(device_index(id->port.device));
  }
  return respond_some(in.response, call.out_size, offsetof(rdma_ucm_query_route_resp, ibdev_index), answer);
}

int Service::query(const Call& call, const rdma_ucm_query& in) {
  int error;
  const Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  if (in.option == RDMA_USER_CM_QUERY_PATH) {
    struct {
      uint32_t num_paths, reserved;
      ib_path_rec_data record;
    } answer{};
    answer.num_paths = has_route(*id) ? 1 : 0;
    put_record(*id, &answer.record);
    return respond_some(in.response, call.out_size, 2 * sizeof(uint32_t), answer);
  }
  if (in.option != RDMA_USER_CM_QUERY_ADDR && in.option != RDMA_USER_CM_QUERY_GID) return ENOSYS;
  rdma_ucm_query_addr_resp answer{};
  answer.ibdev_index = UINT32_MAX;
  if (id->port.device != nullptr) {
    answer.node_guid = id->port.guid;
    answer.port_num = 1;
    answer.pkey = htons(kDefaultPkey);
    answer.ibdev_index = static_cast<uint32_t>(device_index(id->port.device));
  }
  if (in.option == RDMA_USER_CM_QUERY_ADDR) {
    answer.src_size = put(id->binding.address, &answer.src_addr);
    answer.dst_size = put(id->remote, &answer.dst_addr);
  } else {  // struct sockaddr_ib: family, P_Key, flow label, GID, service
    static constexpr uint16_t kFamily = 27, kSize = 48;
    const auto put_gid = [](const std::array<uint8_t, 16>& gid, __kernel_sockaddr_storage* out) {
      auto* const bytes = reinterpret_cast<uint8_t*>(out);
      std::memcpy(bytes, &kFamily, sizeof kFamily);
      bytes[2] = bytes[3] = 0xFF;
      std::copy_n(gid.begin(), 16, bytes + 8);
    };
    answer.src_size = answer.dst_size = kSize;
    put_gid(id->port.gid, &answer.src_addr);
    put_gid(peer_gid(*id), &answer.dst_addr);
  }
  return respond_some(in.response, call.out_size, offsetof(rdma_ucm_query_addr_resp, ibdev_index), answer);
}

void Service::fill_attributes(const Id& id, uint32_t state, ib_uverbs_qp_attr* out) {
  out->qp_state = state;
  out->port_num = 1;
  out->qp_attr_mask = IBV_QP_STATE;
  if (id.datagram) {  // the same for every state, as from the kernel
    out->qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
    out->qkey = id.qp.qkey;
  } else if (state == IBV_QPS_INIT) {
    out->qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (id.connection != 0) {
      out->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
      if (id.qp.responder_resources > 0) out->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    }
  } else if (state == IBV_QPS_RTR) {
    out->qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                         IBV_QP_MIN_RNR_TIMER;
    out->path_mtu = std::min(id.qp.peer.mtu, id.port.mtu);
    out->dest_qp_num = id.qp.peer.qpn;
    out->rq_psn = id.qp.peer.psn;
    out->max_dest_rd_atomic = std::min(id.qp.responder_resources, kMaxReads);
    put_peer_address(id, &out->ah_attr);
  } else {
    out->qp_attr_mask |= IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    out->sq_psn = id.qp.own.psn;
    out->timeout = id.qp.ack_timeout;
    out->retry_cnt = id.qp.retry_count;
    out->rnr_retry = id.qp.rnr_retry_count;
    out->max_rd_atomic = std::min(id.qp.initiator_depth, kMaxReads);
  }
}

int Service::init_qp_attr(const Call& call, const rdma_ucm_init_qp_attr& in) {
  int error;
  const Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  const bool known = in.qp_state == IBV_QPS_INIT || in.qp_state == IBV_QPS_RTR || in.qp_state == IBV_QPS_RTS;
  if (!known || id->port.device == nullptr || (in.qp_state != IBV_QPS_INIT && !id->qp.peer_known && !id->datagram))
    return EINVAL;
  ib_uverbs_qp_attr answer{};
  fill_attributes(*id, in.qp_state, &answer);
  return respond_some(in.response, call.out_size, sizeof answer, answer);
}

}  // namespace mrc::shim::rdma_cm
