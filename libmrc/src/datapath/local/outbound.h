// The sending side of the pipes of one device: the addresses of processes of this host, and the pipe to each.
#pragma once

#include <absl/hash/hash.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/time.h"
#include "core/burst.h"
#include "datapath/local/handshake.h"
#include "datapath/local/pipe.h"
#include "datapath/local/watched.h"
#include "invariant.h"

namespace mrc::datapath {

class LocalOutbound {
 public:
  static constexpr Duration kFirstRetry = Duration::milliseconds(100);  // after no process was found at an address
  static constexpr Duration kLastRetry = Duration::seconds(30);         // doubling up to this
  static constexpr Duration kAnswerTime = Duration::seconds(2);         // a process that does not answer is no peer
  static constexpr size_t kMaxWays = 4096;                              // those without a pipe are evicted first

  // Reads the addresses of this host; others are not tried. Descriptors to watch are added to `epoll_fd`.
  explicit LocalOutbound(int epoll_fd);

  enum class Sent : uint8_t { kNotLocal, kYes, kFull };
  // kNotLocal: there is no pipe (yet), one is requested. kFull: the receiver does not keep up, the burst was not
  // taken.
  Sent send(Instant now, const core::TxBurst& burst);
  void request_pipe(Instant now, const LocalAddress& to) { (void)way_to(now, to); }

  // Handles readable descriptors: answers, and peers that have ended. Allocates; not per packet.
  void handle_descriptors(Instant now);
  bool is_due(Instant now) const { return unsettled_ || now >= next_deadline_; }  // even if none is readable
  size_t peers() const { return peers_.size(); }
  void check() const;

 private:
  struct Peer {
    Peer(int epoll_fd, Fd fd, Instant now) : socket(epoll_fd, std::move(fd)), requested_at(now) {}
    Watched socket;
    Instant requested_at;
    std::unique_ptr<PipeWriter> pipe;
    bool answered = false;
  };
  struct Way {
    Peer* peer = nullptr;  // may not have answered yet
    Instant again;         // try no earlier
    Duration retry_after = kFirstRetry;
  };
  bool is_here(const IpAddress& addr) const;
  Peer* way_to(Instant now, const LocalAddress& to);
  std::unique_ptr<Peer> connect(Instant now, const LocalAddress& to);
  bool serve(Peer* peer, Instant now);
  bool take_reply(Peer* peer, const PipeReply& reply);
  void forget(const Peer* peer, Instant now);

  int epoll_fd_;
  // Not absl::flat_hash_map: when memory runs out as it grows, its destructor frees a pointer that was never allocated.
  std::unordered_set<IpAddress, absl::Hash<IpAddress>> hosts_;  // addresses of this host
  std::unordered_map<LocalAddress, Way, absl::Hash<LocalAddress>> ways_;
  std::vector<std::unique_ptr<Peer>> peers_;
  bool unsettled_ = false;  // a peer has broken its pipe, and is to be removed
  Instant next_deadline_ = Instant::never();
  mutable InvariantPace pace_;
};

}  // namespace mrc::datapath
