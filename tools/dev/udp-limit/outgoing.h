// The bursts that the sender sends, taken from its memory cyclically:
//   whole (default)  a burst is a piece of the memory, the room of the headers included: what the raw limit is
//   --staged         payload is copied behind the headers of its packet into one buffer, as MRC does
//   --pieces         headers are sent from where they are, payload from the memory: two iovecs for each packet
// With --crc a CRC of each payload is taken: by the copy of --staged, otherwise over the memory in place.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstdint>
#include <vector>

#include "common.h"
#include "crc.h"

namespace udp_limit {

class Outgoing {
 public:
  // Exits with a message when there is no memory.
  explicit Outgoing(const Options& options);
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  void begin_session(uint32_t session);
  // Valid until the next call.
  const msghdr& next();

 private:
  void make_whole();
  void make_staged();
  void make_pieces();

  const Options& options_;
  const Crc crc_;
  const uint32_t payload_;      // bytes of a packet
  const uint64_t taken_;        // bytes of memory of a burst
  uint8_t* memory_ = nullptr;   // options_.memory bytes
  uint8_t* staging_ = nullptr;  // with --staged
  uint64_t at_ = 0;
  std::vector<Header> headers_;  // of a burst's packets
  std::vector<iovec> iov_;
  msghdr message_{};
};

}  // namespace udp_limit
