// Exchange between monitors of different hosts: one datagram of JSON with the observations of its sender, some
// times a second, to every address of every peer, so that a failed plane does not stop it. Accepted from addresses
// of peers only, from each about one host, for some seconds. [MRC-MON-7]
#include <absl/strings/str_split.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "ctl/peer_json.h"
#include "datapath/holder.h"
#include "device/peers.h"
#include "log.h"
#include "monitor.h"
#include "socket_address.h"

namespace mrc::mrcd {

namespace {

constexpr int kVersion = 1;
constexpr size_t kMaxBytes = 60000;
constexpr size_t kMaxObservations = 4096;
constexpr int kMaxReportsAtOnce = 256;

}  // namespace

Status Monitor::open_peers() {
  size_t entries = 0;
  for (const absl::string_view given : absl::StrSplit(settings_.peers, absl::ByAnyChar(", "), absl::SkipEmpty())) {
    const std::string text(given);
    const std::optional<IpAddress> gid = IpAddress::parse(text);
    if (!gid) return invalid(settings_.origin_of("peers") + ": '" + text + "' is no address");
    const size_t entry = entries++;
    peers_.push_back({*gid, entry});
    const Result<core::PeerDescription> peer = device::resolve_peer(config_, 0, *gid, Qpn());
    if (!peer) continue;
    for (const core::PlaneAddress& plane : peer->planes)
      if (!plane.addr.is_zero() && plane.addr != *gid) peers_.push_back({plane.addr, entry});
  }
  if (peers_.empty()) return {};
  peer_socket_ = Fd(::socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const sockaddr_in6 at = socket_address(IpAddress(), static_cast<uint16_t>(settings_.peer_port));
  if (!peer_socket_ || ::bind(peer_socket_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    Error error =
        failed_call("port " + std::to_string(settings_.peer_port)).under(settings_.origin_of("peer_port") + ": ");
    if (error.code == EADDRINUSE)
      error.text += datapath::taken_by(datapath::holder_of_udp_port(IpAddress(), ntohs(at.sin6_port)));
    return error;
  }
  loop_.watch(peer_socket_.get(), [this] { read_peers(steady_now()); });
  return {};
}

void Monitor::send_to_peers() {
  Observed report{kVersion, host_, {}};
  for (const Observation& o : observations()) report.observations.emplace_back(o.plane, o.t0, o.t1, o.bad, o.loss);
  const std::string text = nlohmann::json(report).dump();
  if (text.size() > kMaxBytes) {
    if (!too_long_)
      log_warning(std::to_string(paths_.size()) +
                  " paths do not fit into one datagram to peers: lower probe_share to probe fewer");
    too_long_ = true;
    return;
  }
  for (const Peer& peer : peers_) {
    const sockaddr_in6 to = socket_address(peer.at, static_cast<uint16_t>(settings_.peer_port));
    [[maybe_unused]] const ssize_t sent = ::sendto(peer_socket_.get(), text.data(), text.size(), MSG_DONTWAIT,
                                                   reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
}

void Monitor::read_peers(Instant now) {
  std::array<char, 65536> part;
  for (int i = 0; i < kMaxReportsAtOnce; ++i) {
    sockaddr_in6 from{};
    socklen_t size = sizeof from;
    const ssize_t n = ::recvfrom(peer_socket_.get(), part.data(), part.size(), MSG_DONTWAIT,
                                 reinterpret_cast<sockaddr*>(&from), &size);
    if (n < 0) return;
    IpAddress sender;
    std::memcpy(sender.bytes.data(), &from.sin6_addr, sender.bytes.size());
    const auto peer = std::find_if(peers_.begin(), peers_.end(), [&](const Peer& p) { return p.at == sender; });
    if (peer == peers_.end()) continue;
    try {
      take_report(now, peer->entry, ctl::parse_peer_json({part.data(), static_cast<size_t>(n)}).get<Observed>());
    } catch (const nlohmann::json::exception&) {
      continue;  // of another version, or garbage
    }
  }
}

void Monitor::take_report(Instant now, size_t entry, const Observed& observed) {
  PeerReport report{now, observed.host, {}};
  if (observed.mrcd != kVersion || report.host.empty() || report.host == host_) return;
  for (const auto& [other, before] : reports_)
    if ((other == entry) != (before.host == report.host)) return;
  if (observed.observations.size() > kMaxObservations) return;
  for (const auto& [plane, t0, t1, bad, loss] : observed.observations) {
    if (plane < 1 || plane > own_.size()) return;
    report.observations.push_back({plane, report.host, t0, t1, t0, report.host, bad, loss});
  }
  reports_[entry] = std::move(report);
}

}  // namespace mrc::mrcd
