// UDP sockets of the connection protocol: one for each bound id, shared where the application allows it, and one per
// address family for all connections. Used under the service's lock.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <utility>

#include "cm/endpoint.h"
#include "fd.h"

namespace mrc::shim::rdma_cm {

class Socket {
 public:
  // Datagrams that came in together.
  struct Burst {
    static constexpr int kSize = 16;
    cm::Arrival arrivals[kSize];
    uint8_t bytes[kSize][cm::kMaxMessageBytes + 1];
    size_t sizes[kSize];
  };

  struct Options {
    bool ipv6_only = false;
    bool reusable = false;  // beside other reusable sockets of that port
  };

  // Bound to the address; the port 0 is replaced by a free one. Null and errno.
  static std::shared_ptr<Socket> bind(const cm::Address& address, const Options& options, uint32_t number);
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd() const { return fd_.get(); }
  void close() { fd_ = Fd(); }                 // in a child of fork, which has a copy
  uint32_t number() const { return number_; }  // as the endpoint has it
  const cm::Address& address() const { return address_; }
  void set_reusable(bool reusable);
  void send(const cm::Path& path, const std::vector<uint8_t>& bytes);
  // Their number. Fewer than a burst holds: nothing is left.
  int receive(Burst* burst);
  // A datagram of ours that found no socket.
  bool receive_refused(std::vector<uint8_t>* bytes);

 private:
  Socket(Fd fd, bool ipv6, uint32_t number) : fd_(std::move(fd)), ipv6_(ipv6), number_(number) {}
  Fd fd_;
  const bool ipv6_;
  const uint32_t number_;
  cm::Address address_;
};

}  // namespace mrc::shim::rdma_cm
