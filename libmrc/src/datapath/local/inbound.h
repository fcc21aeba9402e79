// The receiving side of the pipes of one device: listening sockets, connected peers, and their bursts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/planes.h"
#include "base/time.h"
#include "core/burst.h"
#include "datapath/local/handshake.h"
#include "datapath/local/pipe.h"
#include "datapath/local/watched.h"
#include "invariant.h"
#include "result.h"

namespace mrc::datapath {

class LocalInbound {
 public:
  static constexpr size_t kMaxPeers = 512;  // connections at once; further peers use the sockets
  static constexpr int kAcceptsAtOnce = 16;
  static constexpr Duration kRequestTime = Duration::seconds(2);  // a connection without a request is closed
  static constexpr Duration kAcceptPause = Duration::seconds(1);  // when this process has no free descriptor

  // Descriptors to watch are added to `epoll_fd`.
  explicit LocalInbound(int epoll_fd) : epoll_fd_(epoll_fd) {}
  // Listens at each of `planes`, by index, or at none. EADDRINUSE: another process listens at one of the names.
  // A plane without a port has no name.
  Status open(std::vector<LocalAddress> planes);
  // A plane that had none, for peers that come from now on.
  Status add(PlaneId plane, const LocalAddress& at);

  // Marks the pipes that have their first bursts. They are not read yet: earlier packets were sent by the driver and
  // must be received first. True: one of them waits [MRC-LOCAL-4].
  bool mark_pipes_with_bursts();
  // receive() reads them from now on.
  void make_marked_readable();
  // Bursts of one peer. Their buffers are valid until release(), which is to be called before the next receive() and
  // before handle_descriptors().
  int receive(core::RxBurst* out, int max);
  void release();
  // A pipe that has ended since the last call, by the id in its bursts; 0: none [MRC-LOCAL-8].
  uint32_t take_ended();
  uint64_t misaddressed() const { return misaddressed_; }  // packets for addresses that this device does not have

  // Handles readable descriptors: new connections, requests, wakes, ends. Allocates; not per packet.
  void handle_descriptors(Instant now);
  bool is_due(Instant now) const { return unsettled_ || now >= next_deadline_; }  // even if none is readable
  // From now on a peer's next burst makes the epoll descriptor readable; it is so at once when there is one already.
  void fall_asleep();
  size_t peers() const { return peers_.size(); }
  void check() const;

 private:
  struct Peer {
    Peer(int epoll_fd, Fd fd, Instant now) : socket(epoll_fd, std::move(fd)), accepted_at(now) {}
    Watched socket;
    Instant accepted_at;
    uint32_t id = 0;                   // of the pipe
    std::unique_ptr<PipeReader> pipe;  // null: the request has not arrived
    bool gone = false;                 // the rest of the pipe is still read
    // kMarked: has bursts, which wait until the driver is empty. receive() reads those that are kReadable.
    enum class State : uint8_t { kNew, kMarked, kReadable } state = State::kNew;
  };
  Status listen(const LocalAddress& at);
  void accept(Instant now);
  bool accept_request(Peer* peer);
  bool serve(Peer* peer, Instant now);
  int read_from(Peer* peer, core::RxBurst* out, int max);
  void settle(Instant now);

  int epoll_fd_;
  std::vector<LocalAddress> planes_;
  std::vector<std::unique_ptr<Watched>> listening_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unique_ptr<Watched> latch_;  // an eventfd of our own: makes the epoll descriptor readable
  size_t not_readable_ = 0;         // pipes that are not kReadable
  size_t next_ = 0;                 // for fairness
  uint32_t last_id_ = 0;            // of a pipe
  std::vector<uint32_t> ended_;     // ids of pipes
  PipeReader* lender_ = nullptr;    // whose buffers the last receive() returned
  bool unsettled_ = false;          // a peer has ended or broken its pipe, and is to be removed
  Instant accept_again_ = Instant::never();
  Instant next_deadline_ = Instant::never();
  uint64_t misaddressed_ = 0;
  mutable InvariantPace pace_;
};

}  // namespace mrc::datapath
