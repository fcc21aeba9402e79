#include "datapath/local/outbound.h"

#include <algorithm>

#include "datapath/host_addresses.h"

namespace mrc::datapath {

// The same link-local address may exist on two hosts, and on two links of this one.
LocalOutbound::LocalOutbound(int epoll_fd) : epoll_fd_(epoll_fd) {
  for (const HostAddress& host : host_addresses())
    if (!host.ip.is_link_local()) hosts_.insert(host.ip);
}

bool LocalOutbound::is_here(const IpAddress& addr) const {
  return hosts_.contains(addr) || addr.is_loopback_v4();
}

LocalOutbound::Sent LocalOutbound::send(Instant now, const core::TxBurst& burst) {
  Peer* const peer = way_to(now, {burst.flow.dst, burst.flow.dst_port});
  if (peer == nullptr || !peer->answered) return Sent::kNotLocal;
  switch (peer->pipe->write(burst)) {
    case PipeWriter::Written::kReaderAsleep:
      send_wake(peer->socket.get());
      return Sent::kYes;
    case PipeWriter::Written::kYes:
      return Sent::kYes;
    case PipeWriter::Written::kFull:
      break;
  }
  if (!peer->pipe->broken()) return Sent::kFull;
  unsettled_ = true;
  return Sent::kNotLocal;
}

// An address without a listener is retried at growing intervals. An address may be another plane of a peer that has
// been tried already: the answers show which of its pipes is not needed.
LocalOutbound::Peer* LocalOutbound::way_to(Instant now, const LocalAddress& to) {
  if (!is_here(to.addr)) return nullptr;
  const auto known = ways_.find(to);
  if (known != ways_.end() && (known->second.peer != nullptr || now < known->second.again)) return known->second.peer;
  if (ways_.size() >= kMaxWays) std::erase_if(ways_, [](const auto& way) { return way.second.peer == nullptr; });
  Way& way = ways_[to];
  way.again = now + way.retry_after;
  way.retry_after = std::min(way.retry_after * 2, kLastRetry);
  std::unique_ptr<Peer> peer = connect(now, to);
  if (peer == nullptr) return nullptr;
  peers_.push_back(std::move(peer));
  next_deadline_ = std::min(next_deadline_, now + kAnswerTime);
  return way.peer = peers_.back().get();
}

// Null: no listener.
std::unique_ptr<LocalOutbound::Peer> LocalOutbound::connect(Instant now, const LocalAddress& to) {
  Fd socket = connect_local(to);
  if (!socket) return nullptr;
  auto peer = std::make_unique<Peer>(epoll_fd_, std::move(socket), now);
  peer->pipe = PipeWriter::make();
  if (peer->pipe == nullptr || !peer->socket.is_watched() || !send_pipe_request(peer->socket.get(), peer->pipe->fd()))
    return nullptr;
  peer->pipe->close_fd();
  return peer;
}

// False: it adds nothing new: another address of the same process was tried at the same time and answered sooner.
bool LocalOutbound::take_reply(Peer* peer, const PipeReply& reply) {
  peer->answered = true;
  bool wanted = false;
  for (uint32_t i = 0; i < reply.count; ++i) {
    const LocalAddress& to = reply.addresses[i];
    if (!is_here(to.addr)) continue;  // not an address of this host
    Way& way = ways_[to];
    if (way.peer != nullptr && way.peer != peer && way.peer->answered) continue;
    way.peer = peer;
    wanted = true;
  }
  return wanted;
}

// False: it is to be removed.
bool LocalOutbound::serve(Peer* peer, Instant now) {
  if (peer->socket.readable) {
    peer->socket.readable = false;
    PipeReply reply{};
    const Handshake got = receive_pipe_reply(peer->socket.get(), &reply);
    if (got == Handshake::kBad || (got == Handshake::kMessage && (peer->answered || !take_reply(peer, reply))))
      return false;
  }
  return !peer->pipe->broken() && (peer->answered || now - peer->requested_at < kAnswerTime);
}

void LocalOutbound::forget(const Peer* peer, Instant now) {
  for (auto& [to, way] : ways_) {
    if (way.peer != peer) continue;
    way.peer = nullptr;
    if (peer->answered) way = {nullptr, now + kFirstRetry, kFirstRetry};
  }
}

// When memory runs out half-way, everything is examined again at the next call.
void LocalOutbound::handle_descriptors(Instant now) {
  const Checked checked(this);
  unsettled_ = true;
  next_deadline_ = Instant::never();
  for (size_t i = 0; i < peers_.size();) {
    Peer& peer = *peers_[i];
    if (!serve(&peer, now)) {
      forget(&peer, now);
      peers_.erase(peers_.begin() + static_cast<ptrdiff_t>(i));
      continue;
    }
    if (!peer.answered) next_deadline_ = std::min(next_deadline_, peer.requested_at + kAnswerTime);
    ++i;
  }
  unsettled_ = false;
}

void LocalOutbound::check() const {
  if constexpr (!kCheckInvariants) return;
  if (!pace_.due(ways_.size() * peers_.size())) return;
  for (const auto& [to, way] : ways_) {
    const auto is = [peer = way.peer](const std::unique_ptr<Peer>& other) { return other.get() == peer; };
    MRC_INVARIANT(way.peer == nullptr || std::any_of(peers_.begin(), peers_.end(), is));
  }
}

}  // namespace mrc::datapath
