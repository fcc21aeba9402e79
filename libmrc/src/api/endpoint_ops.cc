#include "api/endpoint_ops.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "api/context.h"
#include "api/errors.h"
#include "api/privilege.h"
#include "api/qp_attr.h"

namespace mrc::api {

namespace {

constexpr uint16_t kIds = 0x8000;
// Between polls of an idle device: 20 us, or a sixteenth of the time that it has been idle. A wait for a lost answer
// would else keep a processor busy for its whole timeout, and a round trip is measured to that share all the same.
constexpr Duration kPause = Duration::microseconds(20);
constexpr int64_t kIdleShare = 16;
constexpr size_t kAtOnce = 16;  // requests that wait in the engine, as many as leave in one call

// The engine's EV of a request: network order, four bytes of structured EV or the two of a UDP source port.
// [API-CTL-2]
std::optional<uint32_t> ev_value(const mrc_ctl_ep_req& req) {
  const uint8_t* v = req.req_ev.val;
  switch (req.ev_fmt_mode) {
    case MRC_CTL_EV_FMT_MODE_STEV:
      return static_cast<uint32_t>(v[0]) << 24 | static_cast<uint32_t>(v[1]) << 16 | static_cast<uint32_t>(v[2]) << 8 |
             v[3];
    case MRC_CTL_EV_FMT_MODE_UDP:
      return static_cast<uint32_t>(v[0]) << 8 | v[1];
    default:
      return std::nullopt;
  }
}

// The device's EV of that value; none: it has no such.
std::optional<EvIndex> find_ev(const device::Device& device, uint32_t value, uint32_t port) {
  const PerEv<core::EvEntry>& evs = device.evs();
  // A flow label without a port names the path, as the entries of profiles do with SRv6 paths.
  const bool label_alone = value >> 16 != 0 && (value & 0xFFFF) == 0;
  const auto ev = std::find_if(evs.begin(), evs.end(), [&](const core::EvEntry& e) {
    return (label_alone ? e.value & 0xFFFF0000 : e.value) == value && port_of(e.plane) == port;
  });
  if (ev == evs.end()) return std::nullopt;
  return evs.id_of(ev);
}

// The shard that has the EV of the request; the first one refuses an EV of none.
uint32_t shard_of(const device::Shards& shards, const mrc_ctl_ep_req& req) {
  const std::optional<uint32_t> value = ev_value(req);
  if (!value || shards.size() == 1) return 0;
  for (uint32_t shard = 0; shard < shards.size(); ++shard)
    if (find_ev(shards[shard], *value, req.req_ev.port)) return shard;
  return 0;
}

// Mostly all requests are of one shard, as the EVs of one queue pair are.
int run_by_shard(SoftContext& soft, uint8_t traffic_class, mrc_ctl_ep_op_type type, const mrc_ctl_ep_req* req, int n,
                 Duration timeout, mrc_ctl_ep_rsp* rsp, int* n_rsp) {
  device::Shards& shards = soft.shards();
  std::vector<std::vector<mrc_ctl_ep_req>> by_shard(shards.size());
  for (int i = 0; i < n; ++i) by_shard[shard_of(shards, req[i])].push_back(req[i]);
  const Instant deadline = shards.first().now() + timeout;
  int error = 0;
  for (uint32_t shard = 0; shard < shards.size() && error == 0; ++shard) {
    const std::vector<mrc_ctl_ep_req>& own = by_shard[shard];
    if (own.empty()) continue;
    int answered = 0;
    error = soft.endpoint_ops(shard).run(shards[shard], traffic_class, type, own.data(), static_cast<int>(own.size()),
                                         deadline - shards.first().now(), rsp + *n_rsp, &answered);
    *n_rsp += answered;
  }
  return error;
}

}  // namespace

// After the end of a batch, in any case, no code may write into the caller's array.
class EndpointOps::Cleanup {
 public:
  Cleanup(EndpointOps* ops, device::Device* device, const Batch* batch, const std::vector<Job>* jobs)
      : ops_(ops), device_(device), batch_(batch), jobs_(jobs) {}
  ~Cleanup() {
    const device::DeviceLock device_lock(device_->mutex());
    const MutexLock lock(ops_->mutex_);
    std::erase_if(ops_->pending_, [&](const auto& entry) { return entry.second.batch == batch_; });
    for (const Job& job : *jobs_) device_->release_peer_locked(job.peer);
  }
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;

 private:
  EndpointOps* const ops_;
  device::Device* const device_;
  const Batch* const batch_;
  const std::vector<Job>* const jobs_;
};

// Device mutex held. 0, or an errno value and no peer interned.
int EndpointOps::prepare(device::Device& device, mrc_ctl_ep_op_type type, const mrc_ctl_ep_req& req, Job* job) {
  const std::optional<uint32_t> value = ev_value(req);
  if (!value) return ENOTSUP;
  const std::optional<EvIndex> ev = find_ev(device, *value, req.req_ev.port);
  if (!ev) return EINVAL;
  IpAddress sgid, dgid;
  std::memcpy(sgid.bytes.data(), req.sgid.raw, sgid.bytes.size());
  if (!sgid.is_zero() && !device.config().is_own_gid(sgid)) return EINVAL;
  std::memcpy(dgid.bytes.data(), req.dgid.raw, dgid.bytes.size());
  job->req_id = req.req_id;
  job->ev_index = *ev;
  job->port_status = type == MRC_CTL_EP_OP_PORT_STATUS_UPDATE;
  job->planes = PlaneSet::from_mask(job->port_status ? req.op.port_status_update.port_status >> 1 : 0);
  // A sender without a port could not send, and a port that does not exist cannot be up [MRC-PORT-1].
  if (job->port_status && (job->planes.empty() || !PlaneSet::all(device.planes()).contains_all(job->planes)))
    return EINVAL;
  // Any process of the peer answers; the first slot's QP numbers represent it.
  const Result<core::PeerId> peer = device.resolve_peer_locked(dgid, Qpn());
  if (!peer) return EINVAL;
  job->peer = *peer;
  return 0;
}

// Device and own mutex held. False: the engine accepts no more.
bool EndpointOps::start(device::Device& device, const Job& job, Duration timeout, Batch* batch) {
  for (int tries = 0; tries < kIds; ++tries) {
    const uint16_t id = next_id_;
    next_id_ = static_cast<uint16_t>((next_id_ + 1) % kIds);
    const auto [pending, fresh] = pending_.try_emplace(id, Pending{batch, job.req_id});
    if (!fresh) continue;
    ++batch->outstanding;  // as long as it is pending
    if (device.endpoint().start_endpoint_op(device.now(), job.peer, job.ev_index, id, job.port_status, job.planes,
                                            timeout, batch->traffic_class)) {
      check(*batch);
      return true;
    }
    --batch->outstanding;
    pending_.erase(pending);  // another context's
  }
  return false;
}

bool EndpointOps::outstanding(const Batch& batch) {
  const MutexLock lock(mutex_);
  return batch.outstanding > 0;
}

int EndpointOps::run(device::Device& device, uint8_t traffic_class, mrc_ctl_ep_op_type type, const mrc_ctl_ep_req* req,
                     int n, Duration timeout, mrc_ctl_ep_rsp* rsp, int* n_rsp) {
  Batch batch{rsp, traffic_class};
  std::vector<Job> jobs;
  jobs.reserve(static_cast<size_t>(n));
  int error = 0;
  {
    const Cleanup cleanup(this, &device, &batch, &jobs);
    {
      const device::DeviceLock device_lock(device.mutex());
      for (int i = 0; i < n && error == 0; ++i) {
        Job job{};
        error = prepare(device, type, req[i], &job);
        if (error == 0) jobs.push_back(job);
      }
    }
    const Instant deadline = device.now() + timeout;
    size_t next = 0;
    std::deque<const Job*> held;  // the peer has yet to say its address: these hold up no others
    Instant moved = device.now();
    while (error == 0) {
      if (next < jobs.size() || !held.empty()) {
        const device::DeviceLock device_lock(device.mutex());
        const MutexLock lock(mutex_);
        const auto room = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock) {
          return error == 0 && device.endpoint().control_waiting() < kAtOnce;
        };
        const auto start_or_hold = [&](const Job* job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock, mutex_) {
          const Instant now = device.now();
          if (device.endpoint().awaits_address(now, job->peer, job->ev_index))
            held.push_back(job);
          else if (!start(device, *job, deadline - now, &batch))
            error = EAGAIN;
        };
        for (size_t left = std::min(held.size(), kAtOnce); left > 0 && room(); --left) {
          const Job* const job = held.front();
          held.pop_front();
          start_or_hold(job);
        }
        for (; next < jobs.size() && room(); ++next) start_or_hold(&jobs[next]);
        device.transmit_locked();
      }
      const bool busy = next < jobs.size() || !held.empty() || outstanding(batch);
      const Instant now = device.now();
      if (!busy || now >= deadline) break;
      if (device.progress() != 0) {
        moved = now;
        continue;
      }
      const Duration pause = std::min(std::max(kPause, (now - moved) / kIdleShare), deadline - now);
      device.pause(pause);
    }
  }
  *n_rsp = batch.answered;
  if (error == 0 && batch.answered < n) error = ETIMEDOUT;
  return error;
}

void EndpointOps::on_response(uint16_t id, PlaneId plane, Duration rtt) {
  const MutexLock lock(mutex_);
  auto it = pending_.find(id);
  if (it == pending_.end()) return;
  Batch& batch = *it->second.batch;
  if (rtt < Duration::infinite()) {
    mrc_ctl_ep_rsp& r = batch.rsp[batch.answered++];
    std::memset(&r, 0, sizeof r);
    r.req_id = it->second.req_id;
    r.port = static_cast<uint8_t>(port_of(plane));
    r.rtt = static_cast<unsigned int>(std::clamp<int64_t>(rtt.ns(), 0, UINT32_MAX));
  }
  --batch.outstanding;
  pending_.erase(it);
  check(batch);
}

// A batch waits for exactly the answers that would find it.
void EndpointOps::check(const Batch& batch) {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(next_id_ < kIds && batch.outstanding >= 0 && batch.answered >= 0);
  if (!pace_.due(pending_.size())) return;
  const auto own = [&](const auto& entry) { return entry.second.batch == &batch; };
  MRC_INVARIANT(std::count_if(pending_.begin(), pending_.end(), own) == batch.outstanding);
}

}  // namespace mrc::api

using mrc::api::minus_one;

extern "C" {

int mrc_ctl_ep_batch_send_wait(mrc_context* mrc_ctx, uint8_t req_tc, mrc_ctl_ep_op_type op_type, mrc_ctl_ep_req* req,
                               int num_req, uint32_t rsp_timeout, mrc_ctl_ep_rsp* rsp, int* num_rsp) {
  if (mrc_ctx == nullptr || req == nullptr || rsp == nullptr || num_rsp == nullptr || num_req < 1)
    return minus_one(EINVAL);
  if (!mrc::api::may_control(mrc_ctx)) return minus_one(EPERM);
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
    const int error = mrc::api::run_by_shard(mrc_ctx->soft(), req_tc, op_type, req, num_req,
                                             mrc::Duration::nanoseconds(rsp_timeout), rsp, num_rsp);
    return error == 0 ? 0 : minus_one(error);
  });
}

}  // extern "C"
