// Frames out, many of them by one system call: room is reserved, a frame is written there and committed, and flush()
// passes on all that was committed. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "datapath/datapath.h"

namespace mrc::datapath {

class FrameSender {
 public:
  virtual ~FrameSender() = default;

  // Contiguous room for a frame of largest_frame() bytes, the same until commit(). Null: there is none now.
  virtual uint8_t* reserve() = 0;
  // The reserved room begins with a frame of so many bytes. It is counted as sent.
  virtual void commit(uint32_t header_bytes, uint32_t payload_bytes) = 0;
  // Passes on what was committed, as far as the kernel takes it now, and counts system calls and refused packets.
  virtual void flush(DatapathCounters* counters) = 0;
  // The kernel did not take all at the last flush().
  virtual bool unsent() const = 0;
  // Descriptor that becomes writable when there is room again.
  virtual int room_fd() const = 0;
  virtual uint32_t largest_frame() const = 0;
  virtual const std::string& first_error() const = 0;
};

}  // namespace mrc::datapath
