// Clients: the connections of mrcd: processes that have a device open, tools that query or change state, and followers
// of events. Selects the clients that a message is for. No sockets, no clock. Not thread-safe. [MRC-MRCD-4]
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "invariant.h"
#include "peer.h"
#include "shared_device.h"

namespace mrc::mrcd {

// A connection, for messages to its peer. Its owner removes it from Clients before it ends.
class Client {
 public:
  virtual void send(const nlohmann::json& message) = 0;

 protected:
  ~Client() = default;
};

class Clients {
 public:
  struct Entry {
    Client* client = nullptr;
    Peer peer;
    SharedDevice* device = nullptr;  // of a process that has it open
    std::string program;
    bool follows = false;
  };

  // Ids are never used again.
  ClientId add(Client* client, const Peer& peer);
  // Null: it has gone. Valid until it is removed. The device that the caller sets is one of Devices until then.
  Entry* find(ClientId id);
  const Entry* find(ClientId id) const;
  // None: it has gone.
  std::optional<Entry> remove(ClientId id);
  const std::map<ClientId, Entry>& entries() const { return entries_; }

  // Clients with a device open.
  size_t processes() const;
  bool has_process_on(const SharedDevice* device) const;
  // With pid, user and program of each, in the form of the request `show`.
  std::vector<nlohmann::json> processes_on(const SharedDevice* device) const;

  // To every process with that device open.
  void notify_processes(const SharedDevice* device, const nlohmann::json& message);
  // To the other processes with the same device open for which an observation of this process holds: all if it is
  // privileged, else those of the same user.
  void notify_of_observation(ClientId from, const nlohmann::json& message);
  void notify_followers(const nlohmann::json& message);
  // Requests the report of every process, with that token; returns the processes.
  std::vector<ClientId> request_reports(uint64_t token);
  void check() const;

 private:
  std::map<ClientId, Entry> entries_;
  ClientId next_id_ = 1;
  mutable InvariantPace pace_;
};

}  // namespace mrc::mrcd
