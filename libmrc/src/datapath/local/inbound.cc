#include "datapath/local/inbound.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace mrc::datapath {

Status LocalInbound::open(std::vector<LocalAddress> planes) {
  latch_ = std::make_unique<Watched>(epoll_fd_, Fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)));
  if (!latch_->is_watched()) return failed_call("eventfd");
  for (const LocalAddress& plane : planes) {
    if (plane.port == 0) continue;
    if (Status listens = listen(plane); !listens) {
      listening_.clear();  // a PipeReply lists all planes
      return listens;
    }
  }
  planes_ = std::move(planes);
  return {};
}

Status LocalInbound::add(PlaneId plane, const LocalAddress& at) {
  if (Status listens = listen(at); !listens) return listens;
  planes_[plane.value()] = at;
  return {};
}

Status LocalInbound::listen(const LocalAddress& at) {
  auto socket = std::make_unique<Watched>(epoll_fd_, listen_local(at));
  if (socket->is_watched()) {
    listening_.push_back(std::move(socket));
    return {};
  }
  Error error = failed_call("address " + at.addr.to_string() + ", port " + std::to_string(at.port));
  if (error.code == EADDRINUSE) error.text += listener_of(at);
  return error;
}

bool LocalInbound::mark_pipes_with_bursts() {
  if (not_readable_ == 0) return false;
  bool any = false;
  for (const std::unique_ptr<Peer>& p : peers_) {
    if (p->pipe == nullptr || p->state == Peer::State::kReadable || p->pipe->empty()) continue;
    p->state = Peer::State::kMarked;
    any = true;
  }
  return any;
}

void LocalInbound::make_marked_readable() {
  for (const std::unique_ptr<Peer>& p : peers_) {
    if (p->state != Peer::State::kMarked) continue;
    p->state = Peer::State::kReadable;
    --not_readable_;
  }
  check();
}

void LocalInbound::release() {
  if (lender_ != nullptr) lender_->give_back();
  lender_ = nullptr;
}

int LocalInbound::read_from(Peer* peer, core::RxBurst* out, int max) {
  const int n = peer->pipe->read(out, max);
  int good = 0;
  for (int i = 0; i < n; ++i) {
    const LocalAddress to{out[i].flow.dst, out[i].flow.dst_port};
    const auto plane = std::find(planes_.begin(), planes_.end(), to);
    if (plane == planes_.end()) {
      ++misaddressed_;
      continue;
    }
    if (good != i) out[good] = out[i];
    out[good].pipe = peer->id;
    out[good++].plane = plane_at(plane - planes_.begin());
  }
  if (good == 0) peer->pipe->give_back();
  return good;
}

// One peer at a time, so that its buffers return to it soon and still cached; the next call begins with the next.
int LocalInbound::receive(core::RxBurst* out, int max) {
  MRC_INVARIANT(lender_ == nullptr);
  for (size_t i = 0; i < peers_.size(); ++i) {
    const size_t at = next_ < peers_.size() ? next_ : 0;
    next_ = at + 1;
    Peer& peer = *peers_[at];
    if (peer.state != Peer::State::kReadable) continue;
    const int n = read_from(&peer, out, max);
    if (peer.pipe->broken() || (peer.gone && n == 0)) unsettled_ = true;
    if (n == 0) continue;
    lender_ = peer.pipe.get();
    return n;
  }
  return 0;
}

// A few at a time: the rest keeps the descriptor readable.
void LocalInbound::accept(Instant now) {
  for (const std::unique_ptr<Watched>& l : listening_) {
    if (!l->readable) continue;
    l->readable = false;
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
      Fd s(::accept4(l->get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!s && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        for (const std::unique_ptr<Watched>& all : listening_) all->watch(false);
        accept_again_ = now + kAcceptPause;
        return;
      }
      if (!s) break;
      if (peers_.size() >= kMaxPeers || !is_same_user(s.get())) continue;
      peers_.push_back(std::make_unique<Peer>(epoll_fd_, std::move(s), now));
      peers_.back()->socket.readable = true;  // the request has most likely arrived already
    }
  }
}

// False: not a peer.
bool LocalInbound::accept_request(Peer* peer) {
  Fd memory;
  const Handshake got = receive_pipe_request(peer->socket.get(), &memory);
  if (got == Handshake::kNothing) return true;
  if (got == Handshake::kBad) return false;
  peer->pipe = PipeReader::map(memory.get());
  if (peer->pipe == nullptr) return false;
  peer->id = ++last_id_;
  ++not_readable_;
  PipeReply reply{};
  reply.magic = kPipeReplyMagic;
  reply.count = static_cast<uint32_t>(std::min<size_t>(planes_.size(), kMaxLocalAddresses));
  std::copy_n(planes_.begin(), reply.count, reply.addresses);
  return send_pipe_reply(peer->socket.get(), reply);
}

// False: it is to be removed. Bursts that a peer sent before its end are read first.
bool LocalInbound::serve(Peer* peer, Instant now) {
  if (peer->socket.readable) {
    peer->socket.readable = false;
    if (peer->pipe == nullptr) {
      if (!accept_request(peer)) return false;
    } else if (!receive_wakes(peer->socket.get())) {
      peer->gone = true;
      peer->socket.watch(false);
    }
  }
  if (peer->pipe == nullptr) return now - peer->accepted_at < kRequestTime;
  return !peer->pipe->broken() && !(peer->gone && peer->pipe->empty());
}

// When memory runs out half-way, everything is examined again at the next call.
void LocalInbound::settle(Instant now) {
  unsettled_ = true;
  next_deadline_ = accept_again_;
  for (size_t i = 0; i < peers_.size();) {
    Peer& peer = *peers_[i];
    if (!serve(&peer, now)) {
      if (peer.state == Peer::State::kReadable) ended_.push_back(peer.id);
      if (peer.pipe != nullptr && peer.state != Peer::State::kReadable) --not_readable_;
      peers_.erase(peers_.begin() + static_cast<ptrdiff_t>(i));
      continue;
    }
    if (peer.pipe == nullptr) next_deadline_ = std::min(next_deadline_, peer.accepted_at + kRequestTime);
    ++i;
  }
  unsettled_ = false;
}

uint32_t LocalInbound::take_ended() {
  if (ended_.empty()) return 0;
  const uint32_t id = ended_.back();
  ended_.pop_back();
  return id;
}

void LocalInbound::handle_descriptors(Instant now) {
  MRC_INVARIANT(lender_ == nullptr);
  const Checked checked(this);
  if (latch_ != nullptr && latch_->readable) {
    latch_->readable = false;
    eventfd_t count;
    ::eventfd_read(latch_->get(), &count);
  }
  if (now >= accept_again_) {
    accept_again_ = Instant::never();
    for (const std::unique_ptr<Watched>& l : listening_) l->watch(true), l->readable = true;
  }
  accept(now);
  settle(now);
}

void LocalInbound::fall_asleep() {
  bool something = false;
  for (const std::unique_ptr<Peer>& peer : peers_)
    if (peer->pipe != nullptr) something |= peer->pipe->fall_asleep();
  if (something) ::eventfd_write(latch_->get(), 1);
}

void LocalInbound::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(peers_.size() <= kMaxPeers);
  if (!pace_.due(peers_.size())) return;
  size_t not_readable = 0;
  for (const std::unique_ptr<Peer>& p : peers_) {
    MRC_INVARIANT(p->pipe != nullptr || (p->state == Peer::State::kNew && !p->gone));
    if (p->pipe != nullptr && p->state != Peer::State::kReadable) ++not_readable;
  }
  MRC_INVARIANT(not_readable == not_readable_);
}

}  // namespace mrc::datapath
