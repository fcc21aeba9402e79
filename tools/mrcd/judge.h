// Judging paths by their probes, and naming the part of the fabric that is at fault. Pure functions of observations;
// time is an argument. [MRC-MON-1..3, spec/mrcd.md]
//
// A path is bad when its last probes had a loss ratio of at least `loss`, or none of the last few returned. It is good
// again when as many probes in a row have returned as would do so by chance once in a thousand at its loss ratio:
// a few for a failed path that recovers, hundreds for a gray one. A path that soon becomes bad again needs twice
// as many each time.
//
// The T0/T1 rule. Where all paths of a host on one plane are bad, or the one that turns at its T0, its link to the T0
// is at fault, or the T0 itself when that holds for every reporting host of the T0. Of the other parts: where all paths
// over one T1 from (or to) one T0 are bad, it is the link between the two; where that holds for all reporting T0s, the
// T1. A bad path proves nothing about parts above the T0 when the path that turns there loses half as much: a lossy
// cable of the host affects one path after the other.
#pragma once

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/time.h"

namespace mrc::mrcd {

struct JudgeConfig {
  double loss = 0.02;                        // from here a path is bad
  uint32_t window = 400;                     // probes that are evaluated
  uint32_t min_lost = 3;                     // fewer losses are chance
  uint32_t dead = 8;                         // this number of losses in a row is enough
  Duration memory = Duration::seconds(60);   // older probes are ignored
  Duration relapse = Duration::seconds(30);  // bad again within this time: more probes required
};

class PathJudge {
 public:
  explicit PathJudge(const JudgeConfig& config) : config_(config) {}
  // The outcome of one probe, in the order of sending. True when the verdict changed.
  bool add(Instant now, bool answered);
  bool bad() const { return bad_; }
  double loss() const;  // of the evaluated probes
  // The same, but 1 as soon as half of the losses in a row are there that make it bad.
  double suspicion() const { return 2 * lost_run_ >= config_.dead ? 1 : loss(); }
  // Of the verdict: loss when it was found bad.
  double worst() const { return worst_; }
  uint32_t probes() const { return static_cast<uint32_t>(seen_.size()); }
  // Probes in a row that have to return before a bad path counts as good.
  uint32_t needed() const;

 private:
  struct Probe {
    Instant at;
    bool answered;
  };
  const JudgeConfig config_;
  std::deque<Probe> seen_;
  uint32_t lost_ = 0;      // among those seen
  uint32_t lost_run_ = 0;  // in a row, to the last
  uint32_t good_run_ = 0;
  uint32_t relapses_ = 0;
  bool bad_ = false;
  double worst_ = 0;
  Instant good_since_ = kLongAgo;
};

// One judged path; names are the caller's. A loop there and back has the same T0 and host at both ends.
struct Observation {
  uint32_t plane = 1;
  std::string host, t0;
  std::string t1;  // empty: not above the T0
  std::string far_t0, far_host;
  bool bad = false;
  double loss = 0;  // of a path that turns at the T0: suspicion
};

struct Finding {
  enum class Part : uint8_t { kHostLink, kT0, kLink, kT1 };
  Part part = Part::kT1;
  uint32_t plane = 1;
  std::string host, t0, t1;        // those that name the part
  bool alone = false;              // host link: no other host of its T0 reports, so it may be the T0 itself
  double loss = 0;                 // the minimum of the bad paths over it
  std::vector<std::string> hosts;  // below a T0, as far as they report
  std::string text() const;        // "plane 1: link between T0 e101 and T1 f102 (5 % loss)"
  friend bool operator==(const Finding& a, const Finding& b) {
    return a.part == b.part && a.plane == b.plane && a.host == b.host && a.t0 == b.t0 && a.t1 == b.t1;
  }
};

// All members and the text, as written by mrcd's monitor and preflight.
nlohmann::json finding_json(const Finding& finding);

// In a fixed order: by plane, part and names.
std::vector<Finding> localise(const std::vector<Observation>& observations);

}  // namespace mrc::mrcd
