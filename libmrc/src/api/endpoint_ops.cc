#include "api/endpoint_ops.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "api/context.h"
#include "api/errors.h"
#include "api/qp_attr.h"

namespace mrc::api {

namespace {

constexpr uint16_t kIds = 0x8000;
constexpr auto kPause = std::chrono::microseconds(20);  // between looks at a device that had nothing

// The engine's EV of a request: network order, four bytes of structured EV or the two of a UDP source port.
bool ev_value(const mrc_ctl_ep_req& req, uint32_t* out) {
  const uint8_t* v = req.req_ev.val;
  switch (req.ev_fmt_mode) {
    case MRC_CTL_EV_FMT_MODE_STEV:
      *out = static_cast<uint32_t>(v[0]) << 24 | static_cast<uint32_t>(v[1]) << 16 | static_cast<uint32_t>(v[2]) << 8 |
             v[3];
      return true;
    case MRC_CTL_EV_FMT_MODE_UDP:
      *out = static_cast<uint32_t>(v[0]) << 8 | v[1];
      return true;
    default:
      return false;
  }
}

}  // namespace

// Device and own mutex held.
int EndpointOps::send(device::Device& device, mrc_ctl_ep_op_type type, const mrc_ctl_ep_req& req, Duration timeout,
                      Batch* batch, std::vector<core::PeerId>* peers, std::vector<uint16_t>* ids) {
  uint32_t value;
  if (!ev_value(req, &value)) return ENOTSUP;
  const std::vector<core::EvEntry>& evs = device.evs();
  auto ev = std::find_if(evs.begin(), evs.end(),
                         [&](const core::EvEntry& e) { return e.value == value && e.plane + 1 == req.req_ev.port; });
  if (ev == evs.end()) return EINVAL;
  IpAddress sgid, dgid;
  std::memcpy(sgid.bytes.data(), req.sgid.raw, sgid.bytes.size());
  if (!sgid.is_zero() && !device.config().is_own_gid(sgid)) return EINVAL;
  std::memcpy(dgid.bytes.data(), req.dgid.raw, dgid.bytes.size());
  std::string why;
  const bool port_status = type == MRC_CTL_EP_OP_PORT_STATUS_UPDATE;
  const uint32_t planes = port_status ? req.op.port_status_update.port_status >> 1 : 0;
  // A sender without a port could not send, and a port that does not exist cannot work [MRC-PORT-1].
  if (port_status && (planes == 0 || (uint64_t{planes} >> device.planes()) != 0)) return EINVAL;
  // Any process of the peer answers; the first slot's QP numbers stand for it.
  const core::PeerId peer = device.resolve_peer_locked(dgid, 0, &why);
  if (peer == core::kNoPeer) return EINVAL;
  peers->push_back(peer);
  for (int tries = 0; tries < kIds; ++tries) {
    const uint16_t id = next_id_;
    next_id_ = static_cast<uint16_t>((next_id_ + 1) % kIds);
    if (!device.endpoint().start_endpoint_op(device.now(), peer, static_cast<uint16_t>(ev - evs.begin()), id,
                                             port_status, planes, timeout, batch->traffic_class))
      continue;
    pending_[id] = {batch, req.req_id};
    ids->push_back(id);
    ++batch->outstanding;
    return 0;
  }
  return EAGAIN;
}

bool EndpointOps::finished(const Batch& batch) {
  std::lock_guard lock(mutex_);
  return batch.outstanding == 0;
}

int EndpointOps::run(device::Device& device, uint8_t traffic_class, mrc_ctl_ep_op_type type, const mrc_ctl_ep_req* req,
                     int n, Duration timeout, mrc_ctl_ep_rsp* rsp, int* n_rsp) {
  Batch batch{rsp, traffic_class};
  std::vector<core::PeerId> peers;
  std::vector<uint16_t> ids;
  int error = 0;
  {
    std::lock_guard device_lock(device.mutex());
    std::lock_guard lock(mutex_);
    for (int i = 0; i < n && error == 0; ++i) error = send(device, type, req[i], timeout, &batch, &peers, &ids);
    if (error == 0) device.transmit_locked();
  }
  const Instant deadline = device.now() + timeout;
  while (error == 0 && !finished(batch) && device.now() < deadline)
    if (device.progress() == 0) std::this_thread::sleep_for(kPause);
  {
    // Nothing may write into the caller's array after this.
    std::lock_guard device_lock(device.mutex());
    std::lock_guard lock(mutex_);
    for (uint16_t id : ids) {
      auto it = pending_.find(id);
      if (it != pending_.end() && it->second.batch == &batch) pending_.erase(it);
    }
    for (core::PeerId peer : peers) device.endpoint().release_peer(peer);
  }
  *n_rsp = batch.answered;
  if (error == 0 && batch.answered < n) error = ETIMEDOUT;
  return error;
}

void EndpointOps::on_response(uint16_t id, uint8_t plane, Duration rtt) {
  std::lock_guard lock(mutex_);
  auto it = pending_.find(id);
  if (it == pending_.end()) return;
  Batch& batch = *it->second.batch;
  if (rtt < Duration::infinite()) {
    mrc_ctl_ep_rsp& r = batch.rsp[batch.answered++];
    std::memset(&r, 0, sizeof r);
    r.req_id = it->second.req_id;
    r.port = static_cast<uint8_t>(plane + 1);
    r.rtt = static_cast<unsigned int>(std::clamp<int64_t>(rtt.ns(), 0, UINT32_MAX));
  }
  --batch.outstanding;
  pending_.erase(it);
}

}  // namespace mrc::api

using mrc::api::minus_one;

extern "C" {

int mrc_ctl_ep_batch_send_wait(mrc_context* mrc_ctx, uint8_t req_tc, mrc_ctl_ep_op_type op_type, mrc_ctl_ep_req* req,
                               int num_req, uint32_t rsp_timeout, mrc_ctl_ep_rsp* rsp, int* num_rsp) {
  if (mrc_ctx == nullptr || req == nullptr || rsp == nullptr || num_rsp == nullptr || num_req < 1)
    return minus_one(EINVAL);
  *num_rsp = 0;
  if (op_type != MRC_CTL_EP_OP_EV_PROBE && op_type != MRC_CTL_EP_OP_PORT_STATUS_UPDATE) return minus_one(EINVAL);
  if ((mrc::api::reserved_dscps(mrc_ctx->device().config().settings) >> (req_tc >> 2) & 1) != 0)
    return minus_one(EINVAL);
  return mrc::api::or_enomem<int>(-1, [&] {
    std::vector<bool> used(size_t{UINT16_MAX} + 1);
    for (int i = 0; i < num_req; ++i) {
      if (used[req[i].req_id]) return minus_one(EINVAL);
      used[req[i].req_id] = true;
    }
    const int error = mrc_ctx->soft().endpoint_ops.run(mrc_ctx->device(), req_tc, op_type, req, num_req,
                                                       mrc::Duration::nanoseconds(rsp_timeout), rsp, num_rsp);
    return error == 0 ? 0 : minus_one(error);
  });
}

}  // extern "C"
