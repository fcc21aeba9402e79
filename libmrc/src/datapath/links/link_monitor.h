// LinkMonitor: the kernel's notifications, by rtnetlink, about the link state of the interfaces of this network
// namespace, and about changes of their addresses.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "fd.h"
#include "result.h"

namespace mrc::datapath {

// Up, with a carrier if the driver reports one, and not waiting for admission (802.1X), by the flags of
// rtnetlink. Not by IFF_RUNNING, which follows a carrier only after up to 1 s.
bool has_link(uint32_t interface_flags);

struct LinkState {
  int interface;  // its index
  std::string_view name;
  bool works;  // it exists and has a link
};

class LinkMonitor {
 public:
  // The first notifications are the states of all interfaces.
  // `addresses`: changes of addresses make the descriptor readable, too. They are not reported further: read() has
  // drained them when it returns.
  Status open(bool addresses = false);
  int fd() const { return fd_.get(); }  // readable when there is a notification; -1 before open
  // Reads the kernel's notifications without blocking. They may repeat known states.
  void read(const std::function<void(const LinkState&)>& change);
  void request_again();  // the states of all are notified once more

 private:
  bool request_states();
  void take(const char* message, size_t bytes, const std::function<void(const LinkState&)>& change);

  Fd fd_;
  bool answering_ = false;  // the kernel accepts no second request before the end of its answer
  bool stale_ = false;      // a notification was lost: to be requested again
};

}  // namespace mrc::datapath
