#include "peer_latency.h"

#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/ip.h"

namespace mrc::mrcd {

namespace {

void add(ctl::DelayReport* sum, const ctl::DelayReport& more) {
  if (more.counts.empty()) return;
  sum->sum_ns = sum_of(sum->sum_ns, more.sum_ns);
  sum->counts.resize(ctl::DelayReport::kCounts);
  for (size_t i = 0; i < sum->counts.size(); ++i) sum->counts[i] = sum_of(sum->counts[i], more.counts[i]);
}

void add(PeerLatency* sum, const PeerLatency& more) {
  add(&sum->completion, more.completion);
  add(&sum->retransmission, more.retransmission);
}

// After a fall the number is that of another peer, or of the same one made anew, with a count of its own.
PeerLatency grown(const PeerLatency& now, const PeerLatency& last) {
  return ctl::has_fallen(now, last) ? now : ctl::growth(now, last);
}

}  // namespace

uint64_t sum_of(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max() : a + b;
}

std::string address_of(const ctl::PeerReport& report) {
  for (const std::string& text : report.addresses)
    if (const std::optional<IpAddress> address = IpAddress::parse(text)) return address->to_string();
  return "unknown";
}

// The label under which the peer counts.
std::string LatencySeries::join(Device* device, const std::string& address) {
  auto& series = device->series;
  const auto named = [&] { return series.size() - series.count(kOther); };
  if (!series.contains(address) && named() >= kMaxNamed)
    std::erase_if(series, [](const auto& one) { return one.first != kOther && one.second.peers == 0; });
  std::string label = series.contains(address) || named() < kMaxNamed ? address : kOther;
  ++series[label].peers;
  return label;
}

void LatencySeries::leave(Device* device, const std::string& label) {
  --device->series.at(label).peers;
}

LatencySeries::Client* LatencySeries::client_on(ClientId id, const std::string& device) {
  if (const auto known = clients_.find(id); known != clients_.end() && known->second.device != device) end(id);
  Client& client = clients_[id];
  client.device = device;
  return &client;
}

void LatencySeries::count(Device* device, Reported* reported, const ctl::PeerReport& peer) {
  const PeerLatency now = {peer.completion, peer.retransmission};
  const std::string address = address_of(peer);
  if (reported->address != address) {
    if (!reported->label.empty()) leave(device, reported->label);
    reported->address = address;
    reported->label = join(device, address);
  }
  const PeerLatency more = grown(now, reported->last);
  add(&device->series.at(reported->label).sum, more);
  add(&device->all, more);
  reported->last = now;
}

void LatencySeries::report(ClientId id, const std::string& name, const std::vector<ctl::PeerReport>& peers) {
  Client& client = *client_on(id, name);
  if (peers.empty() && client.peers.empty()) return;
  Device& device = devices_[name];
  std::set<uint32_t> there;
  for (const ctl::PeerReport& peer : peers) there.insert(peer.peer);
  std::erase_if(client.peers, [&](const auto& peer) {  // first: their places are free for new ones
    if (there.contains(peer.first)) return false;
    leave(&device, peer.second.label);
    return true;
  });
  for (const ctl::PeerReport& peer : peers)
    if (there.erase(peer.peer) != 0) count(&device, &client.peers[peer.peer], peer);  // a number names one peer
  check();
}

void LatencySeries::last(ClientId id, const std::string& name, const std::vector<ctl::PeerReport>& peers) {
  Client& client = *client_on(id, name);
  if (peers.empty()) return;
  Device& device = devices_[name];
  for (const ctl::PeerReport& peer : peers) {
    Reported reported;
    if (auto known = client.peers.extract(peer.peer); !known.empty()) reported = std::move(known.mapped());
    count(&device, &reported, peer);
    leave(&device, reported.label);
  }
  check();
}

void LatencySeries::end(ClientId id) {
  const auto client = clients_.find(id);
  if (client == clients_.end()) return;
  if (const auto device = devices_.find(client->second.device); device != devices_.end())
    for (const auto& [number, peer] : client->second.peers) leave(&device->second, peer.label);
  clients_.erase(client);
  check();
}

void LatencySeries::drop(const std::string& device) {
  devices_.erase(device);
}

LatencyByDevice LatencySeries::by_peer() const {
  LatencyByDevice latency;
  for (const auto& [name, device] : devices_)
    for (const auto& [label, series] : device.series) latency[name][label] = series.sum;
  return latency;
}

LatencyByDevice LatencySeries::all_peers() const {
  LatencyByDevice latency;
  for (const auto& [name, device] : devices_) latency[name]["all"] = device.all;
  return latency;
}

// A series counts the peers that clients report in it now.
void LatencySeries::check() const {
  if constexpr (!kCheckInvariants) return;
  size_t peers = 0;
  for (const auto& [id, client] : clients_) peers += client.peers.size();
  if (!pace_.due(peers)) return;
  std::map<std::pair<std::string, std::string>, size_t> reported;
  for (const auto& [id, client] : clients_)
    for (const auto& [number, peer] : client.peers) ++reported[{client.device, peer.label}];
  for (const auto& [name, device] : devices_) {
    MRC_INVARIANT(device.series.size() - device.series.count(kOther) <= kMaxNamed);
    for (const auto& [label, series] : device.series) {
      const auto counted = reported.find({name, label});
      MRC_INVARIANT(series.peers == (counted != reported.end() ? counted->second : 0));
    }
  }
}

}  // namespace mrc::mrcd
