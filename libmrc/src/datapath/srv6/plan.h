// Srv6Plan: the switches on the paths to a destination, as the settings srv6_paths, srv6_loop and srv6_uplinks
// define them. The rule with the longest prefix that covers the destination gives its list of paths; entropy value
// number n of a plane takes path n modulo their number. The uSIDs of the host itself are not written: the address of
// the destination follows the switches, so that it remains when the last switch has shifted.
//
//     fcbb:bb0{plane}:100::/40 direct                            # hosts at our own T0: no switch is named
//     fcbb:bb0{plane}:200::/40 via f{plane}{uplink:2}:e{plane}02 # by each T1 in turn to T0 2
//
// A rule per line, or several separated by ';'. {plane} and {uplink} become hexadecimal digits, {plane:N} at least N of
// them; a rule with {uplink} stands for one path for each number from 1 to srv6_uplinks. Several rules with one prefix
// add their paths. A destination without a rule is addressed unchanged. [MRC-SR-4..6, spec/wire.md]
//
// Immutable after parsing; shared by all threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/planes.h"
#include "datapath/srv6/usid.h"
#include "result.h"

namespace mrc::datapath {

class Srv6Plan {
 public:
  struct Text {
    std::string paths;
    std::string loop;  // switches that lead back to this host: a list, or rules as above; may be empty
    uint32_t uplinks = 1;
  };
  // EINVAL when the text is no plan. Planes count from 0; `planes` of them get their rules.
  static Result<std::shared_ptr<const Srv6Plan>> parse(const Text& text, uint32_t planes);

  // The path of entropy value number `n` of a plane to an address of a peer. A path that is too long (possible only
  // when the address holds many uSIDs) is also direct.
  SegmentPath path(PlaneId plane, uint32_t n, const IpAddress& to) const;
  // Some list is so long that with a peer's uSID it does not fit into one address.
  bool may_need_segment() const;
  // The largest number of paths to any destination, over any plane; 1 without rules.
  uint32_t max_path_count() const;
  // Paths from this host's address `own` back to it; empty without srv6_loop.
  std::vector<SegmentPath> loops(PlaneId plane, const IpAddress& own) const;

 private:
  struct Rule {
    IpAddress prefix;
    uint32_t length = 0;  // bits
    std::vector<UsidList> paths;
    bool covers(const IpAddress& address) const;
  };
  struct Plane {
    std::vector<Rule> rules, loops;  // longest prefix first
  };
  static Status add_rule(const std::string& line, uint32_t uplinks, uint32_t plane, std::vector<Rule>* out);
  static Status add_loops(const Text& text, uint32_t plane, Plane* out);
  static void longest_first(std::vector<Rule>* rules);
  static const Rule* find(const std::vector<Rule>& rules, const IpAddress& to);
  const Rule* find(PlaneId plane, const IpAddress& to) const;

  PerPlane<Plane> planes_;
};

}  // namespace mrc::datapath
