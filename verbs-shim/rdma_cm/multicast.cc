// JOIN_MCAST and LEAVE_MCAST. The kernel joins the group and reports its address; librdmacm then attaches its queue
// pair by verbs, which does the rest here, so that joining itself only reports. [CM-MC-1]
#include <cerrno>

#include "cm/ip_bytes.h"
#include "rdma_cm/addresses.h"
#include "rdma_cm/service.h"
#include "rdma_cm/user_memory.h"

namespace mrc::shim::rdma_cm {

namespace {

constexpr uint32_t kMulticastQpn = 0xFF'FFFF;
constexpr uint8_t kGroupHopLimit = 1;
constexpr size_t kMaxMulticasts = 65536;

}  // namespace

int Service::join(const Call& call, uint32_t handle, uint64_t uid, const cm::Address& group, uint64_t response) {
  int error;
  const Id* const id = find(handle, call.channel, &error);
  if (id == nullptr) return error;
  const bool ready = id->state == Id::State::kBound || id->state == Id::State::kAddressResolved;
  if (!ready || !id->datagram || id->port.device == nullptr || !is_multicast(group.ip.data())) return EINVAL;
  if (multicasts_.size() >= kMaxMulticasts || call.channel->full()) return ENOMEM;
  const uint32_t multicast = multicasts_.new_handle();
  if ((error = respond(response, call.out_size, rdma_ucm_create_id_resp{multicast})) != 0) return error;
  multicasts_.emplace(multicast, {handle, uid, 0});

  QueuedEvent event;
  event.of = handle;
  event.multicast = multicast;
  event.answer.uid = uid;
  event.answer.id = multicast;
  event.answer.event = kMulticastJoin;
  rdma_ucm_ud_param& to = event.answer.param.ud;
  to.qp_num = kMulticastQpn;
  to.qkey = id->qp.qkey;
  std::copy_n(group.ip.begin(), group.ip.size(), to.ah_attr.grh.dgid);  // of IPv4 the mapped address, as in RoCE v2
  to.ah_attr.grh.sgid_index = id->port.gid_index;
  to.ah_attr.grh.hop_limit = kGroupHopLimit;
  to.ah_attr.is_global = 1;
  to.ah_attr.port_num = 1;
  call.channel->push(event);
  return 0;
}

int Service::join_ip_mcast(const Call& call, const rdma_ucm_join_ip_mcast& in) {
  const auto group = from_sockaddr(&in.addr, sizeof in.addr);
  return group ? join(call, in.id, in.uid, *group, in.response) : EINVAL;
}

int Service::join_mcast(const Call& call, const rdma_ucm_join_mcast& in) {
  if (in.join_flags != RDMA_MC_JOIN_FLAG_FULLMEMBER && in.join_flags != RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
    return EINVAL;
  const auto group = from_sockaddr(&in.addr, std::min<size_t>(in.addr_size, sizeof in.addr));
  return group ? join(call, in.id, in.uid, *group, in.response) : EINVAL;
}

int Service::leave_mcast(const Call& call, const rdma_ucm_destroy_id& in) {
  const auto joined = multicasts_.find(in.id);
  if (joined == multicasts_.end()) return ENOENT;
  int error;
  if (find(joined->second.of, call.channel, &error) == nullptr) return error;
  auto& events = call.channel->events;
  for (auto it = events.begin(); it != events.end();) {
    if (it->multicast != in.id) {
      ++it;
      continue;
    }
    it = events.erase(it);
    ++call.channel->stale;
  }
  const rdma_ucm_destroy_id_resp answer = {joined->second.events_reported};
  multicasts_.erase(joined);
  drop_stale(call.fd, call.channel);
  return respond(in.response, call.out_size, answer);
}

}  // namespace mrc::shim::rdma_cm
