#include "clients.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace mrc::mrcd {

ClientId Clients::add(Client* client, const Peer& peer) {
  const Checked checked(this);
  Entry entry;
  entry.client = client;
  entry.peer = peer;
  entries_[next_id_] = std::move(entry);
  return next_id_++;
}

Clients::Entry* Clients::find(ClientId id) {
  const auto found = entries_.find(id);
  return found != entries_.end() ? &found->second : nullptr;
}

const Clients::Entry* Clients::find(ClientId id) const {
  const auto found = entries_.find(id);
  return found != entries_.end() ? &found->second : nullptr;
}

std::optional<Clients::Entry> Clients::remove(ClientId id) {
  const Checked checked(this);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return std::nullopt;
  Entry entry = std::move(found->second);
  entries_.erase(found);
  return entry;
}

size_t Clients::processes() const {
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(),
                                           [](const auto& entry) { return entry.second.device != nullptr; }));
}

bool Clients::has_process_on(const SharedDevice* device) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [device](const auto& entry) { return entry.second.device == device; });
}

std::vector<nlohmann::json> Clients::processes_on(const SharedDevice* device) const {
  std::vector<nlohmann::json> processes;
  for (const auto& [id, entry] : entries_)
    if (entry.device == device)
      processes.push_back({{"pid", entry.peer.pid}, {"user", entry.peer.user}, {"program", entry.program}});
  return processes;
}

void Clients::notify_processes(const SharedDevice* device, const nlohmann::json& message) {
  for (auto& [id, entry] : entries_)
    if (entry.device == device) entry.client->send(message);
}

void Clients::notify_of_observation(ClientId from, const nlohmann::json& message) {
  const Entry& observer = entries_.at(from);
  for (auto& [id, entry] : entries_)
    if (entry.device == observer.device && id != from &&
        (observer.peer.privileged || entry.peer.uid == observer.peer.uid))
      entry.client->send(message);
}

void Clients::notify_followers(const nlohmann::json& message) {
  for (auto& [id, entry] : entries_)
    if (entry.follows) entry.client->send(message);
}

std::vector<ClientId> Clients::request_reports(uint64_t token) {
  std::vector<ClientId> processes;
  for (auto& [id, entry] : entries_) {
    if (entry.device == nullptr) continue;
    processes.push_back(id);
    entry.client->send({{"want", token}});
  }
  return processes;
}

void Clients::check() const {
  if constexpr (!kCheckInvariants) return;
  if (!pace_.due(entries_.size())) return;
  for (const auto& [id, entry] : entries_) MRC_INVARIANT(id < next_id_ && entry.client != nullptr);
}

}  // namespace mrc::mrcd
