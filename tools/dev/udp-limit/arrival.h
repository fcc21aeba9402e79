// How the receiver takes a burst (--place):
//   copy (default)  into a buffer, and from there into its memory, as MRC does
//   scatter         the kernel writes each packet's payload where it is expected, the next place in memory; headers
//                   elsewhere. What comes out of order would be moved
//   leave           into a buffer, and no further: what the copy costs
// With --crc a CRC of each payload is taken after it arrived.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstdint>
#include <vector>

#include "common.h"
#include "crc.h"

namespace udp_limit {

class Arrival {
 public:
  // Exits with a message when there is no memory.
  Arrival(const Options& options, mrc::tools::Reception* reception);
  Arrival(const Arrival&) = delete;
  Arrival& operator=(const Arrival&) = delete;

  // Puts the iovecs for the next receive into the message.
  void prepare(msghdr* message);
  // The first bytes received, at least sizeof(Header) of them if there are as many.
  const uint8_t* first() const { return scatters_ ? reinterpret_cast<const uint8_t*>(headers_.data()) : buffer_; }
  // A burst of so many bytes is data.
  void place(uint64_t bytes);

 private:
  const Options& options_;
  mrc::tools::Reception& reception_;
  const Crc crc_;
  const bool copies_, scatters_;
  const uint32_t payload_;  // bytes of a packet
  uint8_t* buffer_ = nullptr;
  std::vector<Header> headers_;
  std::vector<iovec> iov_;
  uint32_t sum_ = 0;
};

}  // namespace udp_limit
