// DeviceChanges: changes of a device's state: profiles, denied paths, ports. A change that is valid reaches every
// process on the device, becomes an event and, unless it is the monitor's, is saved; a refused one has no effect. The
// caller has checked the privilege. Not thread-safe. [MRC-MRCD-3] [MRC-MRCD-6]
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "clients.h"
#include "ctl/call.h"
#include "ctl/deny.h"
#include "ctl/messages.h"
#include "devices.h"
#include "event_log.h"
#include "result.h"
#include "shared_device.h"

namespace mrc::mrcd {

class DeviceChanges {
 public:
  // These outlive this.
  DeviceChanges(Devices* devices, Clients* clients, EventLog* events)
      : devices_(*devices), clients_(*clients), events_(*events) {}

  // By the user with the name `by`; an error has an errno value, and a sentence where there is more to say. What is not
  // of the form of `rule` or `call` throws nlohmann::json::exception.
  Status change_rule(SharedDevice* device, bool denies, const nlohmann::json& rule, const std::string& by);
  Status change_port(SharedDevice* device, const ctl::PortChange& change, const std::string& by);
  Status change_profile(SharedDevice* device, const nlohmann::json& call, const std::string& by);
  Status allow_all(SharedDevice* device, const std::string& by);
  // By the user that the rule names; 0 or an errno value: EEXIST, ENOENT.
  int deny(SharedDevice* device, const ctl::DenyRule& rule);
  int allow(SharedDevice* device, const ctl::DenyRule& rule);

 private:
  int set_port(SharedDevice* device, uint32_t port, bool up, const std::string& by);
  void notify_denies(const SharedDevice* device);

  Devices& devices_;
  Clients& clients_;
  EventLog& events_;
};

}  // namespace mrc::mrcd
