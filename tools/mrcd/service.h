// Service: mrcd without its sockets and clock: connections are Client objects, time is an argument, and so is the clock
// that stamps events. It passes the messages of spec/mrcd.md to the parts that handle them: Clients, Devices,
// DeviceChanges, EventLog, ReportGathering and Requests. Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/time.h"
#include "clients.h"
#include "ctl/deny.h"
#include "ctl/messages.h"
#include "device_changes.h"
#include "devices.h"
#include "event.h"
#include "event_log.h"
#include "invariant.h"
#include "peer.h"
#include "peer_latency.h"
#include "report_gathering.h"
#include "requests.h"
#include "result.h"
#include "shared_device.h"

namespace mrc::mrcd {

class Service {
 public:
  using Json = nlohmann::json;
  using WallClock = EventLog::WallClock;
  using Reports = ReportGathering::Reports;

  // `changed`: state that is kept in the file has changed. `wall_clock`: the times of events, which are for people;
  // nothing is decided by them.
  Service(std::function<void()> changed, WallClock wall_clock);
  Service(const Service&) = delete;  // its parts refer to each other
  Service& operator=(const Service&) = delete;

  // A device of the configuration; messages without a device mean the first of them. Others are made by the
  // processes that use them.
  void add_device(std::unique_ptr<SharedDevice> device);
  SharedDevice* device(const std::string& name) { return devices_.find(name); }  // null; empty: the first
  const std::map<std::string, std::unique_ptr<SharedDevice>>& devices() const { return devices_.by_name(); }

  // `client` outlives its connection, which disconnect() ends.
  ClientId connect(Client* client, const Peer& peer);
  void message(ClientId client, const Json& message, Instant now);
  void disconnect(ClientId client);
  // Its report is outstanding, which may be longer than any other message of it.
  bool awaits_report(ClientId client, Instant now) const { return reports_.awaits(client, now); }
  // A client waits for the reports of processes.
  bool is_gathering() const { return reports_.is_under_way(); }
  // Answers the clients that wait for missing reports.
  void tick(Instant now);

  // Changes by the web page, for a user with the privilege, and by mrcd itself; see DeviceChanges.
  Status change_rule(SharedDevice* device, bool denies, const Json& rule, const std::string& by);
  Status change_port(SharedDevice* device, const ctl::PortChange& change, const std::string& by);
  int deny(SharedDevice* device, const ctl::DenyRule& rule) { return changes_.deny(device, rule); }
  int allow(SharedDevice* device, const ctl::DenyRule& rule) { return changes_.allow(device, rule); }
  // Requests every process's report; `done` gets those that arrived, with the process's data. See ReportGathering.
  void gather(Instant now, ReportGathering::Done done);
  // "monitor": its observations; other state of mrcd itself.
  void answer_with(const std::string& what, std::function<Json()> data) {
    requests_.answer_with(what, std::move(data));
  }
  void event(Event event) { events_.add(std::move(event)); }  // with the time of the call
  const std::deque<Event>& events() const { return events_.events(); }
  size_t processes() const { return clients_.processes(); }
  const LatencySeries& latencies() const { return latencies_; }  // of all reports that have arrived

  Json file_state() const { return devices_.file_state(); }
  // False: that is no state of file_state(), and nothing is restored.
  [[nodiscard]] bool restore(const Json& state) { return devices_.restore(state); }
  void check() const;

 private:
  void register_client(ClientId id, ctl::Registration registration);
  void take_path(ClientId from, const ctl::PathChange& path);
  void take_report(ClientId from, const Json& report, Instant now);

  Clients clients_;
  LatencySeries latencies_;
  EventLog events_;
  Devices devices_;
  DeviceChanges changes_;
  ReportGathering reports_;
  Requests requests_;
  mutable InvariantPace pace_;
};

}  // namespace mrc::mrcd
