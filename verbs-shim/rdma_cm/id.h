// An rdma_cm id and its events, as the kernel has them behind /dev/infiniband/rdma_cm.
#pragma once

#include <fcntl.h>
#include <linux/types.h>
#include <rdma/rdma_user_cm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <deque>
#include <memory>
#include <vector>

#include "cm/connection.h"
#include "fd.h"
#include "rdma_cm/bindings.h"
#include "rdma_cm/ports.h"
#include "rdma_cm/sockets.h"

namespace mrc::shim::rdma_cm {

// enum rdma_cm_event_type of librdmacm.
enum EventKind : uint32_t {
  kAddrResolved = 0,
  kAddrError = 1,
  kRouteResolved = 2,
  kConnectRequest = 4,
  kConnectResponse = 5,
  kUnreachable = 7,
  kRejected = 8,
  kEstablished = 9,
  kDisconnected = 10,
  kMulticastJoin = 12,
  kTimewaitExit = 15,
};

struct QueuedEvent {
  uint32_t of = 0;         // the id that reports it
  uint32_t child = 0;      // of a connect request: the new id
  uint32_t multicast = 0;  // of a join: the membership that reports it, too
  rdma_ucm_event_resp answer{};
};

// An open file of the device: a pipe whose read end the application has, with a byte in it for each waiting event, so
// that it is readable, and inherited, duplicated and closed as any descriptor. Once all copies are closed the write
// end reports an error, and the ids go. [CM-FD-1]
struct Channel {
  uint64_t device = 0, inode = 0;  // of the pipe: recognises the descriptor
  Fd write_end;
  static constexpr size_t kMaxQueued = 32768;  // bytes that fit into the pipe, and fewer
  bool full() const { return events.size() >= kMaxQueued; }
  void push(const QueuedEvent& event);
  // Takes the bytes of discarded events out of the pipe, which has at least as many: they are read under the lock only.
  // `held` is a descriptor of the read end that the application does not know.
  void drop_stale(int held);

  std::deque<QueuedEvent> events;
  uint32_t stale = 0;  // bytes of events that were discarded
};

// fstat() as the kernel answers it: the shim's own would ask for the channel.
inline int describe(int fd, struct stat* out) {
  return static_cast<int>(syscall(SYS_fstat, fd, out));
}

// A reference to the file that an application's descriptor names, as a system call of the kernel has from its beginning
// to its end: another thread may close that number meanwhile, and open something else under it. [CM-FD-2]
class HeldFile {
 public:
  explicit HeldFile(int of) : fd_(fcntl(of, F_DUPFD_CLOEXEC, 0)) {}

  int fd() const { return fd_.get(); }  // -1: none is free, or the number names no file
  bool is(uint64_t device, uint64_t inode) const {
    struct stat file;
    return fd_ && describe(fd_.get(), &file) == 0 && file.st_dev == device && file.st_ino == inode;
  }

 private:
  const Fd fd_;
};

inline constexpr uint32_t kDefaultQkey = 0x01234567;  // of RDMA_PS_UDP, as the kernel has it
inline constexpr uint8_t kDefaultAckTimeout = 18;     // about a second for each of retry_cnt + 1 [VRB-QP-4]

// Of the queue pair that the application makes for an id: what INIT_QP_ATTR reports of it.
struct QpAttributes {
  cm::Parameters own, peer;
  bool peer_known = false;
  uint32_t qkey = kDefaultQkey;                          // datagrams: of its own queue pair
  uint8_t responder_resources = 0, initiator_depth = 0;  // as agreed
  uint8_t retry_count = 7, rnr_retry_count = 7;
  uint8_t ack_timeout = kDefaultAckTimeout;  // an option
};

struct Id {
  enum class State : uint8_t { kIdle, kBound, kAddressResolved, kRouteResolved, kListening, kConnection };

  uint32_t handle = 0;
  uint64_t uid = 0;  // the application's; 0 until it has accepted
  Channel* channel = nullptr;
  uint32_t events_reported = 0;
  State state = State::kIdle;
  bool datagram = false;  // of UD queue pairs: SIDR in place of connections
  Binding binding;        // its own address
  bool bound = false;     // to the port of `binding`
  cm::Address remote;
  std::shared_ptr<Socket> socket;  // of the port that it is bound to; datagrams may be without
  Port port;                       // of the device
  uint64_t connection = 0;         // of the endpoint; 0: none
  QpAttributes qp;
};

// A membership of an id in a multicast group, by JOIN_MCAST. [CM-MC-1]
struct Multicast {
  uint32_t of = 0;  // the id
  uint64_t uid = 0;
  uint32_t events_reported = 0;
};

// queries.cc: the peer as the destination of packets.
void put_peer_address(const Id& id, struct ib_uverbs_ah_attr* out);

}  // namespace mrc::shim::rdma_cm
