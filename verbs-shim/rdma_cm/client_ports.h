// ClientPorts: the port numbers of ids that connect without being bound. The peer's application sees them, and may tell
// its clients apart by them. Their packets leave by one socket of the process, so these are numbers without a socket;
// the first one is that socket's, so that two processes start at different ones. [CM-PORT-3]
#pragma once

#include <cstdint>

namespace mrc::shim::rdma_cm {

class ClientPorts {
 public:
  static constexpr uint16_t kLowest = 32768;  // as Linux hands them out

  // `own`: the port of the process's socket.
  uint16_t next(uint16_t own) {
    if (last_ == 0)
      last_ = own;
    else
      last_ = last_ == UINT16_MAX ? kLowest : static_cast<uint16_t>(last_ + 1);
    return last_;
  }

 private:
  uint16_t last_ = 0;
};

}  // namespace mrc::shim::rdma_cm
