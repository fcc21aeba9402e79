// Set-up and end of a connection; its operation is in connection_run.cc.
#include "connection.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "log.h"
#include "memory.h"

namespace mrc::nccl {

namespace {

int last_error(int returned) {
  return returned > 0 ? returned : errno;
}

}  // namespace

Connection::Connection(std::shared_ptr<Context> context, int number, int traffic_class, std::string peer, Role role,
                       Depth depth)
    : api_(context->process->api),
      context_(std::move(context)),
      number_(number),
      traffic_class_(traffic_class),
      peer_(std::move(peer)),
      role_(role),
      depth_(depth) {}

// In this order nothing is destroyed while another object uses it. Destroying a QP sends its pending ACKs and
// retransmits lost writes, so a peer that still waits for them receives them although this side ends.
void Connection::disconnect() {
  for (const Lane& lane : lanes_)
    if (lane.qp != nullptr) api_.mrc_destroy_qp(lane.qp);
  for (mrc_cq* cq : cqs_)
    if (cq != nullptr) api_.mrc_destroy_cq(cq);
  for (mrc_qp_hint* hint : hints_)
    if (hint != nullptr) api_.mrc_destroy_qp_hint(hint);
}

ncclResult_t Connection::create(int lanes) {
  const Devices& devices = process().devices;
  const int members = static_cast<int>(devices.virtual_device(number_).members.size());
  control_ = Memory::add(api_, devices, number_, control_memory(), control_size(),
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (control_ == nullptr)
    return fail(ncclSystemError, std::string("registering control memory: ") + std::strerror(errno));
  const int lanes_per_member = (lanes + members - 1) / members;
  const int entries = static_cast<int>(lanes_per_member * (depth_.sends + depth_.receives));
  for (int m = 0; m < members; ++m) {
    cqs_.push_back(api_.mrc_create_cq(devices.member(number_, m).mrc, entries, nullptr, nullptr, 0));
    if (cqs_.back() == nullptr) return fail(ncclSystemError, std::string("mrc_create_cq: ") + std::strerror(errno));
  }
  make_hint(lanes_per_member);
  lanes_.resize(lanes);
  for (int i = 0; i < lanes; ++i) {
    lanes_[i].member = static_cast<uint8_t>(i % members);
    if (const ncclResult_t result = create_lane(lanes_[i], cqs_[i % members]); result != ncclSuccess) return result;
  }
  return ncclSuccess;
}

void Connection::make_hint(int lanes_per_member) {
  const Devices& devices = process().devices;
  const int flows = (role_ == Role::kSender ? context_->send_flows : context_->recv_flows).load();
  if (process().settings.hints == 0) return;
  mrc_qp_hint_init_attr init{};
  init.attr.num_qps_per_peer =
      static_cast<int>(std::min<int64_t>(int64_t{lanes_per_member} * std::max(flows, 1), INT_MAX));
  init.attr.num_send_peers = context_->send_peers.load();
  init.attr.num_remote_recv_peers = context_->recv_peers.load();
  if (init.attr.num_send_peers == 0 && init.attr.num_remote_recv_peers == 0 && flows == 0) return;
  for (size_t m = 0; m < cqs_.size(); ++m)  // a device without hints works without them
    hints_.push_back(api_.mrc_create_qp_hint(devices.member(number_, static_cast<int>(m)).mrc, &init));
}

ncclResult_t Connection::create_lane(Lane& lane, mrc_cq* cq) {
  const Device& device = process().devices.member(number_, lane.member);
  mrc_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.pd = device.pd;
  init.cap.max_send_wr = depth_.sends;
  init.cap.max_recv_wr = std::max<uint32_t>(depth_.receives, 1);
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  lane.qp = api_.mrc_create_qp(device.mrc, &init);
  if (lane.qp == nullptr) return fail(ncclSystemError, "mrc_create_qp on " + device.name + ": " + std::strerror(errno));
  api_.mrc_get_qpn(lane.qp, &lane.qpn);
  if (getrandom(&lane.psn, sizeof lane.psn, 0) != sizeof lane.psn) lane.psn = static_cast<uint32_t>(errno);
  lane.psn &= 0xFFFFFF;
  ibv_qp_attr verbs{};
  verbs.qp_state = IBV_QPS_INIT;
  verbs.port_num = 1;
  verbs.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  mrc_qp_attr attributes{};
  int mask = 0;
  if (lane.member < hints_.size() && hints_[lane.member] != nullptr) {
    attributes.qp_hint = hints_[lane.member];
    mask = MRC_QP_HINT;
  }
  const int error =
      api_.mrc_modify_qp(lane.qp, &verbs, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                         mask != 0 ? &attributes : nullptr, mask);
  if (error != 0)
    return fail(ncclSystemError, std::string("mrc_modify_qp to INIT: ") + std::strerror(last_error(error)));
  if (depth_.receives != 0) return post_receives(static_cast<int>(&lane - lanes_.data()), depth_.receives);
  return ncclSuccess;
}

void Connection::describe(Hello* hello) const {
  const Devices& devices = process().devices;
  *hello = {};
  hello->magic = kHelloMagic;
  hello->version = kSetupVersion;
  hello->role = role_;
  hello->members = static_cast<uint8_t>(cqs_.size());
  hello->lanes = static_cast<uint16_t>(lanes_.size());
  hello->traffic_class = static_cast<uint16_t>(traffic_class_);
  hello->control_addr = reinterpret_cast<uint64_t>(const_cast<Connection*>(this)->control_memory());
  for (size_t m = 0; m < cqs_.size(); ++m) {
    const Device& device = devices.member(number_, static_cast<int>(m));
    std::memcpy(hello->member[m].gid, device.gid.raw, sizeof hello->member[m].gid);
    hello->member[m].key = control_->rkey(static_cast<int>(m));
    hello->member[m].mtu = device.mtu;
  }
  for (size_t i = 0; i < lanes_.size(); ++i) {
    hello->lane[i] = {lanes_[i].qpn, lanes_[i].psn, lanes_[i].member, {}};
  }
}

ncclResult_t Connection::connect(const Hello& peer) {
  if (peer.lanes != lanes_.size()) return fail(ncclRemoteError, "the two sides made different numbers of queue pairs");
  control_addr_ = peer.control_addr;
  for (int m = 0; m < peer.members; ++m) control_keys_[m] = peer.member[m].key;
  for (size_t i = 0; i < lanes_.size(); ++i)
    if (const ncclResult_t result = connect_lane(lanes_[i], peer, peer.lane[i]); result != ncclSuccess) return result;
  started(peer);
  last_sign_ = Clock::now();
  return ncclSuccess;
}

ncclResult_t Connection::connect_lane(Lane& lane, const Hello& peer, const LaneInfo& remote) {
  const Settings& settings = process().settings;
  const Device& device = process().devices.member(number_, lane.member);
  const MemberInfo& member = peer.member[remote.member];
  lane.remote_member = remote.member;
  ibv_qp_attr verbs{};
  verbs.qp_state = IBV_QPS_RTR;
  verbs.path_mtu = static_cast<ibv_mtu>(std::min(device.mtu, member.mtu));
  verbs.dest_qp_num = remote.qpn;
  verbs.rq_psn = remote.psn;
  verbs.ah_attr.is_global = 1;
  verbs.ah_attr.port_num = 1;
  std::memcpy(verbs.ah_attr.grh.dgid.raw, member.gid, sizeof member.gid);
  verbs.ah_attr.grh.sgid_index = device.gid_index;
  verbs.ah_attr.grh.hop_limit = 255;
  verbs.ah_attr.grh.traffic_class = static_cast<uint8_t>(traffic_class_);
  int error = api_.mrc_modify_qp(
      lane.qp, &verbs, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, nullptr, 0);
  if (error != 0)
    return fail(ncclSystemError, "mrc_modify_qp to RTR on " + device.name + ": " + std::strerror(last_error(error)) +
                                     " (can the planes of this device reach the peer's, and may traffic class " +
                                     std::to_string(traffic_class_) + " be used?)");
  ibv_qp_attr rts{};
  rts.qp_state = IBV_QPS_RTS;
  rts.sq_psn = lane.psn;
  mrc_qp_attr attributes{};
  attributes.timeout = static_cast<uint8_t>(settings.timeout);
  attributes.retry.linear_cnt = static_cast<uint8_t>(settings.retry_linear);
  attributes.retry.exp_cnt = static_cast<uint8_t>(settings.retry_exp);
  error =
      api_.mrc_modify_qp(lane.qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN, &attributes, MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT);
  if (error != 0)
    return fail(ncclSystemError, std::string("mrc_modify_qp to RTS: ") + std::strerror(last_error(error)));
  return ncclSuccess;
}

}  // namespace mrc::nccl
