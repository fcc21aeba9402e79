// DenyRule: paths that the controller has retired for QPs with any profile: an EV of a plane, a switch or a
// link by its uSIDs, a whole plane; towards all or some peers. A path is denied while a rule covers it.
//
// Pure functions of their arguments, any thread. [MRC-MRCD-6, spec/mrcd.md]
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/ip.h"
#include "result.h"

namespace mrc::ctl {

// The author of the monitor's rules: no user has such a name.
inline constexpr const char* kMonitor = "(monitor)";

struct DenyRule {
  uint32_t plane = 0;         // from 1; 0: every plane
  uint16_t label = 0;         // of the EV, its upper half; 0: any
  uint16_t port = 0;          // of the EV, its lower half; 0: any
  std::vector<uint16_t> via;  // uSIDs that follow each other on the path; empty: any path
  IpAddress to;               // peers with an address below this prefix
  uint32_t to_bits = 0;
  std::string by;   // author: kMonitor, or the name of a user
  std::string why;  // a sentence for people
  // The same paths, regardless of the author.
  bool same_paths(const DenyRule& other) const;
  // All of one plane, for any peer.
  bool is_whole_plane() const;
};

// One path towards one peer.
struct PathView {
  uint32_t plane = 1;
  uint32_t ev = 0;  // flow label in the upper half, source port in the lower
  absl::Span<const uint16_t> usids;
  absl::Span<const IpAddress> peer;  // its addresses on all planes
};
bool covers(const DenyRule& rule, const PathView& path);
bool in_prefix(const IpAddress& address, const IpAddress& prefix, uint32_t bits);

nlohmann::json deny_json(const DenyRule& rule);
// EINVAL and a sentence when it is no rule, or one that would deny all paths to all peers.
Result<DenyRule> parse_deny(const nlohmann::json& j);
// "plane 1, EV 0x0003, via f101:e102, to fd00::/16": for people.
std::string deny_text(const DenyRule& rule);

}  // namespace mrc::ctl
