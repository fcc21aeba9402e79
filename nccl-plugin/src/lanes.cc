#include "lanes.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "invariant.h"

namespace mrc::nccl {

namespace {

constexpr uint32_t kReceivesAtOnce = 64;

// A function of the API returns an errno value, or -1 and sets errno.
int last_error(int returned) {
  return returned > 0 ? returned : errno;
}

}  // namespace

// In this order nothing is destroyed while another object uses it. Destroying a QP sends its pending ACKs and
// retransmits lost writes, so a peer that still waits for them receives them although this side ends.
void Lanes::destroy() {
  for (const Lane& lane : lanes_)
    if (lane.qp != nullptr) api_.mrc_destroy_qp(lane.qp);
  for (mrc_cq* cq : cqs_)
    if (cq != nullptr) api_.mrc_destroy_cq(cq);
  for (mrc_qp_hint* hint : hints_)
    if (hint != nullptr) api_.mrc_destroy_qp_hint(hint);
  lanes_.clear();
  cqs_.clear();
  hints_.clear();
}

Status Lanes::create(int count, const Expected& expected) {
  const int members = static_cast<int>(devices_.virtual_device(number_).members.size());
  const int lanes_per_member = (count + members - 1) / members;
  const int entries = static_cast<int>(lanes_per_member * (depth_.sends + depth_.receives));
  for (int m = 0; m < members; ++m) {
    cqs_.push_back(api_.mrc_create_cq(devices_.member(number_, m).mrc, entries, nullptr, nullptr, 0));
    if (cqs_.back() == nullptr) return failed_call("mrc_create_cq");
  }
  create_hints(expected, lanes_per_member);
  lanes_.resize(static_cast<size_t>(count));
  for (size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i].member = static_cast<uint8_t>(i % cqs_.size());
    if (Status created = create_lane(i); !created) return created;
  }
  return {};
}

void Lanes::create_hints(const Expected& expected, int lanes_per_member) {
  if (expected.send_peers == 0 && expected.recv_peers == 0 && expected.flows == 0) return;
  mrc_qp_hint_init_attr init{};
  init.attr.num_qps_per_peer =
      static_cast<int>(std::min<int64_t>(int64_t{lanes_per_member} * std::max(expected.flows, 1), INT_MAX));
  init.attr.num_send_peers = expected.send_peers;
  init.attr.num_remote_recv_peers = expected.recv_peers;
  for (size_t m = 0; m < cqs_.size(); ++m)  // a device without hints works without them
    hints_.push_back(api_.mrc_create_qp_hint(devices_.member(number_, static_cast<int>(m)).mrc, &init));
}

Status Lanes::create_lane(size_t index) {
  Lane& lane = lanes_[index];
  const Device& device = devices_.member(number_, lane.member);
  mrc_qp_init_attr init{};
  init.send_cq = init.recv_cq = cqs_[lane.member];
  init.pd = device.pd;
  init.cap.max_send_wr = depth_.sends;
  init.cap.max_recv_wr = std::max<uint32_t>(depth_.receives, 1);
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  lane.qp = api_.mrc_create_qp(device.mrc, &init);
  if (lane.qp == nullptr) return failed_call("mrc_create_qp on " + device.name);
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
  if (error != 0) return failed_call("mrc_modify_qp to INIT", last_error(error));
  if (depth_.receives == 0) return {};
  if (const int refused = post_receives(index, depth_.receives); refused != 0)
    return failed_call("mrc_post_recv", refused);
  return {};
}

void Lanes::describe(SetupMessage* message) const {
  message->members = static_cast<uint8_t>(cqs_.size());
  message->lanes = static_cast<uint16_t>(lanes_.size());
  for (size_t m = 0; m < cqs_.size(); ++m) {
    const Device& device = devices_.member(number_, static_cast<int>(m));
    std::memcpy(message->member[m].gid, device.gid.raw, sizeof message->member[m].gid);
    message->member[m].mtu = device.mtu;
  }
  for (size_t i = 0; i < lanes_.size(); ++i) {
    message->lane[i] = {lanes_[i].qpn, lanes_[i].psn, lanes_[i].member, {}};
  }
}

Status Lanes::connect(const SetupMessage& peer, int traffic_class, const Settings& settings) {
  for (size_t i = 0; i < lanes_.size(); ++i)
    if (Status done = connect_lane(lanes_[i], peer, peer.lane[i], traffic_class, settings); !done) return done;
  return {};
}

Status Lanes::connect_lane(Lane& lane, const SetupMessage& peer, const LaneInfo& remote, int traffic_class,
                           const Settings& settings) {
  const Device& device = devices_.member(number_, lane.member);
  const MemberInfo& member = peer.member[remote.member];
  lane.remote_member = remote.member;
  ibv_qp_attr verbs{};
  verbs.qp_state = IBV_QPS_RTR;
  verbs.path_mtu = static_cast<ibv_mtu>(std::min(device.mtu, member.mtu));
  lane.mtu = 128u << verbs.path_mtu;
  verbs.dest_qp_num = remote.qpn;
  verbs.rq_psn = remote.psn;
  verbs.ah_attr.is_global = 1;
  verbs.ah_attr.port_num = 1;
  std::memcpy(verbs.ah_attr.grh.dgid.raw, member.gid, sizeof member.gid);
  verbs.ah_attr.grh.sgid_index = device.gid_index;
  verbs.ah_attr.grh.hop_limit = 255;
  verbs.ah_attr.grh.traffic_class = static_cast<uint8_t>(traffic_class);
  int error = api_.mrc_modify_qp(
      lane.qp, &verbs, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, nullptr, 0);
  if (error != 0) {
    Error failed = failed_call("mrc_modify_qp to RTR on " + device.name, last_error(error));
    failed.text += " (can the planes of this device reach the peer's, and may traffic class " +
                   std::to_string(traffic_class) + " be used?)";
    return failed;
  }
  ibv_qp_attr rts{};
  rts.qp_state = IBV_QPS_RTS;
  rts.sq_psn = lane.psn;
  mrc_qp_attr attributes{};
  attributes.timeout = static_cast<uint8_t>(settings.timeout);
  attributes.retry.linear_cnt = static_cast<uint8_t>(settings.retry_linear);
  attributes.retry.exp_cnt = static_cast<uint8_t>(settings.retry_exp);
  error =
      api_.mrc_modify_qp(lane.qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN, &attributes, MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT);
  if (error != 0) return failed_call("mrc_modify_qp to RTS", last_error(error));
  return {};
}

int Lanes::post(const Lane& lane, ibv_send_wr* list) {
  const Checked checked(this);
  ibv_send_wr* bad = nullptr;
  const int error = api_.mrc_post_send(lane.qp, list, &bad);
  return error == 0 ? 0 : last_error(error);
}

int Lanes::post_receives(size_t lane, uint32_t count) {
  ibv_recv_wr list[kReceivesAtOnce];
  while (count > 0) {
    const uint32_t n = count < kReceivesAtOnce ? count : kReceivesAtOnce;
    for (uint32_t i = 0; i < n; ++i) {
      list[i] = {};
      list[i].wr_id = WorkId{Work::kReceive, static_cast<int>(lane), 0}.pack();
      list[i].next = i + 1 < n ? &list[i + 1] : nullptr;
    }
    ibv_recv_wr* bad = nullptr;
    if (const int error = api_.mrc_post_recv(lanes_[lane].qp, list, &bad); error != 0) return last_error(error);
    count -= n;
  }
  return 0;
}

// Every queue pair has a completion queue, and no more under way than its send queue holds.
void Lanes::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(lanes_.size() <= size_t{kMaxLanes} && cqs_.size() <= size_t{kMaxMembers});
  for (const Lane& lane : lanes_) {
    MRC_INVARIANT(lane.qp == nullptr || lane.member < cqs_.size());
    MRC_INVARIANT(lane.in_flight <= depth_.sends);
  }
}

QpSample Lanes::sample() const {
  if (lanes_.empty()) return {};
  const auto busiest = std::max_element(lanes_.begin(), lanes_.end(),
                                        [](const Lane& a, const Lane& b) { return a.in_flight < b.in_flight; });
  return sample_of(*busiest);
}

QpSample Lanes::sample_of(const Lane& lane) const {
  if (!have_statistics() || lane.qp == nullptr) return {};
  std::string text(8192, '\0');
  for (;;) {
    const int size = api_.query_qp_stats(lane.qp, text.data(), text.size());
    if (size < 0) return {};
    const bool whole = static_cast<size_t>(size) < text.size();
    text.resize(static_cast<size_t>(size) + (whole ? 0 : 1024));  // between two calls a line may grow
    if (whole) return parse_qp_stats(text);
  }
}

}  // namespace mrc::nccl
