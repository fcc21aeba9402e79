// Service: answers and notifications of mrcd: for processes that have a device open, tools that query or change
// state, and followers of events. The messages are those of spec/mrcd.md. No sockets, no clock: connections are Client
// objects, time is an argument, and so is the clock that stamps events.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "ctl/messages.h"
#include "event.h"
#include "event_history.h"
#include "invariant.h"
#include "peer.h"
#include "peer_latency.h"
#include "shared_device.h"

namespace mrc::mrcd {

class Client {
 public:
  virtual void send(const nlohmann::json& message) = 0;

 protected:
  ~Client() = default;
};

class Service {
 public:
  using Json = nlohmann::json;

  using WallClock = std::function<double()>;  // seconds since 1970

  // `changed`: state that is kept in the file has changed. `wall_clock`: the times of events, which are for people;
  // nothing is decided by them.
  Service(std::function<void()> changed, WallClock wall_clock)
      : changed_(std::move(changed)), wall_clock_(std::move(wall_clock)) {}

  // A device of the configuration; messages without a device mean the first of them. Others are made by the
  // processes that use them.
  void add_device(std::unique_ptr<SharedDevice> device);
  SharedDevice* device(const std::string& name);  // null; empty: the first
  const std::map<std::string, std::unique_ptr<SharedDevice>>& devices() const { return devices_; }

  ClientId connect(Client* client, const Peer& peer);
  void message(ClientId client, const Json& message, Instant now);
  void disconnect(ClientId client);
  // Its report is outstanding, which may be longer than any other message of it.
  bool awaits_report(ClientId client, Instant now) const;
  // A client waits for the reports of processes.
  bool is_gathering() const { return gathering_.has_value(); }
  // Answers the clients that wait for missing reports.
  void tick(Instant now);

  // A client's request: deny, allow and port, with a sentence on a refusal. 0 or an errno value.
  Status change_rule(SharedDevice* device, bool denies, const Json& rule, const std::string& by);
  Status change_port(SharedDevice* device, const ctl::PortChange& change, const std::string& by);
  // A change made by mrcd itself. 0 or an errno value.
  int deny(SharedDevice* device, const ctl::DenyRule& rule);
  int allow(SharedDevice* device, const ctl::DenyRule& rule);
  int set_port(SharedDevice* device, uint32_t port, bool up, const std::string& by);
  // Requests every process's report; `done` gets those that arrived, with the process's data. A call while reports are
  // being gathered shares the next gathering, so that many clients cause no more requests.
  using Reports = std::vector<ctl::DeviceReport>;
  void gather(Instant now, std::function<void(Reports)> done);
  // "monitor": its observations; other state of mrcd itself.
  void answer_with(const std::string& what, std::function<Json()> data) { more_[what] = std::move(data); }
  void event(Event event);  // with the time of the call
  const std::deque<Event>& events() const { return history_.events(); }
  size_t processes() const;
  const LatencySeries& latencies() const { return latencies_; }  // of all reports that have arrived

  Json file_state() const;
  // False: that is no state of file_state(), and nothing is restored.
  [[nodiscard]] bool restore(const Json& state);
  void check() const;

 private:
  static constexpr Duration kReportTimeout = Duration::milliseconds(1000);
  // For the report of a process that is slower: it is ignored, but no violation of the protocol.
  static constexpr Duration kReportUnderWay = Duration::milliseconds(10000);
  static constexpr size_t kMaxMadeDevices = 16;

  struct Entry {
    Client* client = nullptr;
    Peer peer;
    SharedDevice* device = nullptr;  // of a process that has it open
    std::string program;
    bool follows = false;
    Instant reports_until = kLongAgo;
  };
  struct Gathering {
    uint64_t token;  // no initialiser: clang would refuse optional::emplace() in this class
    Instant until;
    std::vector<ClientId> missing;
    Reports reports;
    std::vector<std::function<void(Reports)>> done;
  };
  void register_client(ClientId id, Entry* entry, ctl::Registration registration);
  SharedDevice* make_device(const ctl::Registration& registration);
  void restore_kept(SharedDevice* device);
  void drop_if_unused(SharedDevice* device);
  void changed(const SharedDevice* device);
  void request(ClientId id, Entry* entry, const Json& message, Instant now);
  // What was asked for; null after a change. The text of an error may be empty.
  Result<Json> run(const std::string& what, const Entry& entry, const Json& message);
  Status change(const std::string& what, SharedDevice* on, const Entry& entry, const Json& message);
  void modify(SharedDevice* device, const Json& call, const ctl::ProfileCall& parsed, const std::string& by);
  void path(ClientId from, Entry* entry, const ctl::PathChange& path);
  void event_of(const Entry& entry, Event event);
  void begin_gathering(Instant now);
  void take_report(ClientId from, const Json& report, Instant now);
  void notify_all(const SharedDevice* device, const Json& message);
  Json show() const;

  std::function<void()> changed_;
  WallClock wall_clock_;
  std::vector<std::string> order_;
  std::map<std::string, std::unique_ptr<SharedDevice>> devices_;
  std::set<std::string> made_;  // of them: those that the configuration does not name
  std::map<ClientId, Entry> clients_;
  std::optional<Gathering> gathering_;
  std::vector<std::function<void(Reports)>> next_gathering_;  // callers waiting for it
  std::map<std::string, std::function<Json()>> more_;
  EventHistory history_;
  LatencySeries latencies_;
  // Of the file: devices not used yet, or only with another shape.
  std::map<std::string, ctl::DeviceState> kept_;
  ClientId next_client_ = 1;
  uint64_t next_token_ = 1;
  mutable InvariantPace pace_;
};

}  // namespace mrc::mrcd
