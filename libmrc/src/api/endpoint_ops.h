// Endpoint operations of the controller API (EV probe, port status update) in batches. Requests go through the engine;
// answers return through the device's observer and are matched with their batch here.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "api/public.h"
#include "base/ids.h"
#include "device/device.h"
#include "invariant.h"
#include "mutex.h"

namespace mrc::api {

class EndpointOps {
 public:
  // Sends few at a time, so that round trips count from the sending of a probe, and drives the device's progress until
  // every request is answered or the time is over. 0, or an errno value; `rsp` has the received answers in any case.
  [[nodiscard]] int run(device::Device& device, uint8_t traffic_class, mrc_ctl_ep_op_type type,
                        const mrc_ctl_ep_req* req, int n, Duration timeout, mrc_ctl_ep_rsp* rsp, int* n_rsp)
      ABSL_LOCKS_EXCLUDED(device::device_lock, mutex_);

  // From the device, with its lock held: an answer, or an infinite rtt for none.
  void on_response(uint16_t id, PlaneId plane, Duration rtt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Batch {
    mrc_ctl_ep_rsp* rsp;
    uint8_t traffic_class;
    int answered = 0;
    int outstanding = 0;
  };
  // A request in the engine's representation.
  struct Job {
    uint16_t req_id;
    EvIndex ev_index;
    core::PeerId peer;  // interned
    bool port_status;
    PlaneSet planes;
  };
  class Cleanup;
  struct Pending {
    Batch* batch;
    uint16_t req_id;
  };
  static int prepare(device::Device& device, mrc_ctl_ep_op_type type, const mrc_ctl_ep_req& req, Job* job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock);
  bool start(device::Device& device, const Job& job, Duration timeout, Batch* batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock, mutex_);
  bool outstanding(const Batch& batch) ABSL_LOCKS_EXCLUDED(mutex_);
  void check(const Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;  // guards the batches, too; taken after the device's lock
  std::unordered_map<uint16_t, Pending> pending_ ABSL_GUARDED_BY(mutex_);
  uint16_t next_id_ ABSL_GUARDED_BY(mutex_) = 0;  // the engine uses the upper half for its own requests
  InvariantPace pace_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mrc::api
