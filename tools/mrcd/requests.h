// Requests: answers the requests of clients: shows state and events, gathers reports, follows events, makes changes for
// privileged clients. The requests are those of spec/mrcd.md. Not thread-safe. [MRC-MRCD-2]
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/time.h"
#include "clients.h"
#include "device_changes.h"
#include "devices.h"
#include "event_log.h"
#include "report_gathering.h"
#include "result.h"
#include "shared_device.h"

namespace mrc::mrcd {

class Requests {
 public:
  using Json = nlohmann::json;

  // They outlive this.
  struct Parts {
    Clients* clients;
    Devices* devices;
    EventLog* events;
    DeviceChanges* changes;
    ReportGathering* reports;
  };
  explicit Requests(const Parts& parts) : parts_(parts) {}

  // The answer to the request `what`, for state that others have. A request has one source of answers; a later one
  // replaces it.
  void answer_with(const std::string& what, std::function<Json()> data) { more_[what] = std::move(data); }
  // Of a client that is connected. The answer is sent from here, that of the request `reports` when they have been
  // gathered. What is not of the protocol throws nlohmann::json::exception, without any other effect.
  void answer(ClientId client, const Json& message, Instant now);

 private:
  void answer_reports(ClientId client, const Json& answer, Instant now);
  // What was asked for; null after a change. The text of an error may be empty.
  Result<Json> run(const std::string& what, const Clients::Entry& entry, const Json& message);
  Status change(const std::string& what, SharedDevice* on, const Clients::Entry& entry, const Json& message);
  Json show() const;

  const Parts parts_;
  std::map<std::string, std::function<Json()>> more_;
};

}  // namespace mrc::mrcd
