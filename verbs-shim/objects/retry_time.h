// How long a queue pair of verbs lets its peer be silent, and the attributes by which MRC does that. [VRB-QP-4]
#pragma once

#include <cstdint>

namespace mrc::shim {

struct MrcRetries {
  uint8_t timeout = 0;      // of a packet: 1.024 us * 2^timeout
  uint8_t linear = 0;       // timeouts of that length
  uint8_t exponential = 0;  // then of doubling length; kForever: without an end

  static constexpr uint8_t kForever = 25;
};

// In nanoseconds, whatever the attributes are. Failed paths are left in far less. A peer is a process here: it does not
// answer while its host gives it no processor time, or its virtual machine is moved, where hardware would.
inline constexpr uint64_t kMinSilence = 8'000'000'000;

// `timeout` and `retry_cnt` are those of verbs, at most 31 and 7: retry_cnt + 1 times 4.096 us * 2^timeout, 0: without
// an end. `packet_timeout` is MRC's own, which stays where the number of timeouts reaches so far.
MrcRetries retries_for(uint8_t timeout, uint8_t retry_cnt, uint8_t packet_timeout);

// Nanoseconds of silence until MRC gives up: the sum of its timeouts. [MRC-LOSS-3]
uint64_t silence_of(const MrcRetries& retries);

}  // namespace mrc::shim
