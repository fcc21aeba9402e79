// The engine of a device, and what it stands on.
#pragma once

#include <memory>

#include "core/endpoint.h"
#include "datapath/datapath.h"
#include "device/device_lock.h"
#include "device/trace_file.h"

namespace mrc::device {

struct Engine {
  const std::unique_ptr<datapath::Datapath> datapath ABSL_PT_GUARDED_BY(device_lock);
  core::EndpointConfig config;                                    // from when `endpoint` is made
  std::unique_ptr<TraceFile> trace ABSL_GUARDED_BY(device_lock);  // absent: the engine writes no events
  std::unique_ptr<core::Endpoint> endpoint ABSL_GUARDED_BY(device_lock);
};

}  // namespace mrc::device
