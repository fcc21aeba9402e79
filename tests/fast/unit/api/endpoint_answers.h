// Passes what a device reports of endpoint operations to those that started them.
#pragma once

#include "api/endpoint_ops.h"

namespace mrc::api {

class EndpointAnswers final : public device::DeviceObserver {
 public:
  explicit EndpointAnswers(EndpointOps* ops) : ops_(*ops) {}
  void on_port_event(PlaneId, core::AsyncEvent) override {}
  void on_endpoint_response(uint16_t id, PlaneId plane, Duration rtt) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock) {
    ops_.on_response(id, plane, rtt);
  }

 private:
  EndpointOps& ops_;
};

}  // namespace mrc::api
