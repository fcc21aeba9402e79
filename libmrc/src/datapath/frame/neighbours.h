// The neighbour table of a datapath over a port that the kernel does not know: which MAC address a next hop has, when
// to ask for it and when to give it up [MRC-SR-20]. Passive: the caller sends what is to be asked and tells what was
// heard. Times are the caller's, one thread.
#pragma once

#include <cstdint>
#include <map>

#include "base/ip.h"
#include "base/time.h"
#include "datapath/frame/frame.h"

namespace mrc::datapath {

class Neighbours {
 public:
  static constexpr Duration kFreshFor = Duration::seconds(30);        // then it is asked again while it is used on
  static constexpr Duration kAskEvery = Duration::milliseconds(250);  // while no answer comes
  static constexpr uint32_t kMaxAsked = 12;                           // then nobody is there
  static constexpr Duration kAbsentFor = Duration::seconds(1);        // before it is tried anew
  static constexpr size_t kMaxHops = 4096;                            // remembered before all are forgotten

  enum class Found : uint8_t { kKnown, kAwaited, kAbsent };
  struct Answer {
    Found found = Found::kAwaited;
    bool ask = false;  // send a solicitation now
    MacAddress mac{};  // when known
  };
  // For each packet to that next hop, and for those that wait: now and then while something does.
  Answer find(const IpAddress& next, Instant now);
  // Only of next hops that somebody has asked for: a peer's word fills no memory. True: it was awaited.
  bool heard(const IpAddress& next, const MacAddress& mac, Instant now);

 private:
  struct Hop {
    MacAddress mac{};
    bool known = false;
    uint32_t asked = 0;  // since the last answer
    Instant heard_at, asked_at;
  };
  std::map<IpAddress, Hop> hops_;
};

}  // namespace mrc::datapath
