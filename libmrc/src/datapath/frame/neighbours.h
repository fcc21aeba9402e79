// The neighbour table of a datapath over a port that the kernel does not manage: the MAC address of a next hop, the
// time to solicit it and to give it up [MRC-SR-20]. Passive: the caller sends the solicitations and reports the
// received answers. Times are the caller's, one thread.
#pragma once

#include <cstdint>
#include <map>

#include "base/ip.h"
#include "base/time.h"
#include "datapath/frame/frame.h"

namespace mrc::datapath {

class Neighbours {
 public:
  static constexpr Duration kFreshFor = Duration::seconds(30);               // then it is solicited again while in use
  static constexpr Duration kSolicitInterval = Duration::milliseconds(250);  // while no answer comes
  static constexpr uint32_t kMaxSolicitations = 12;                          // then there is no such neighbour
  static constexpr Duration kAbsentFor = Duration::seconds(1);               // before it is tried again
  static constexpr size_t kMaxHops = 4096;                                   // remembered before all are forgotten

  enum class Found : uint8_t { kKnown, kAwaited, kAbsent };
  struct Answer {
    Found found = Found::kAwaited;
    bool solicit = false;  // send a solicitation now
    MacAddress mac{};      // when known
  };
  // For each packet to that next hop, and periodically while packets wait for it.
  Answer find(const IpAddress& next, Instant now);
  // Only for next hops that were looked up, so that peers cannot fill the table. True: it was awaited.
  bool learn(const IpAddress& next, const MacAddress& mac, Instant now);

 private:
  struct Hop {
    MacAddress mac{};
    bool known = false;
    uint32_t solicitations = 0;  // since the last answer
    Instant learnt_at, solicited_at;
  };
  std::map<IpAddress, Hop> hops_;
};

}  // namespace mrc::datapath
