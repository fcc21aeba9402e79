// What a preflight concludes: hosts that are slow or unreachable, pairs that are slow although both hosts are well, and
// facts in which hosts differ. Pure functions of the measurements. Rates are Gb/s, times us.
//
// A host's rate is the median over its peers, so that one bad path does not make a host slow, nor a slow peer. Rates
// are compared with those of the other hosts, since the hardware is not known: where all are slow alike, none is named.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace mrc::net_bench {

struct PairSpeed {
  int a = 0, b = 0;  // hosts by number, a < b
  double a_to_b = 0, b_to_a = 0;
  double rtt_us = 0;          // the shortest of some
  double clock_ahead_us = 0;  // of b's clock before a's, to within rtt_us / 2
  std::string error;          // not empty: the pair cannot exchange data
  bool tried = true;          // false: with an error that says why not
};

struct HostSpeed {
  double sends = 0, receives = 0, rtt_us = 0;  // medians over the peers that it reaches
  int failed = 0, measured = 0;                // pairs that were tried
};

inline constexpr double kSlowShare = 0.5;        // of what the other hosts reach
inline constexpr double kSlowRttFactor = 4;      // times the others' round trip,
inline constexpr double kSlowRttExcessUs = 200;  // and by that much more
inline constexpr double kClockApartUs = 100e3;

std::vector<HostSpeed> host_speeds(const std::vector<PairSpeed>& pairs, int hosts);
// To be measured again, alone: the pairs that failed although both hosts are well, then of each host that is slow the
// pairs with three that are well, then the pairs that are slow although both hosts are well. Each of the three has its
// own limit, so that many of one kind hide none of another.
inline constexpr size_t kMaxFailedAgain = 4;  // each may take its time limit some times
inline constexpr size_t kMaxOfHostsAgain = 12;
inline constexpr size_t kMaxSlowAgain = 8;
std::vector<std::pair<int, int>> suspects(const std::vector<PairSpeed>& pairs, int hosts);
// Nothing is wrong with a measurement of a pair, compared with all `pairs`: another one would not change a conclusion.
bool is_well(const PairSpeed& pair, const std::vector<PairSpeed>& pairs, int hosts);

// Hosts that have exchanged data with none, but failed with kGivenUpAfter others that have: not worth another pair,
// each of which takes its whole time limit.
inline constexpr int kGivenUpAfter = 3;
std::vector<bool> given_up(const std::vector<PairSpeed>& pairs, int hosts);

// Of a host that is well when its pairs are measured again, alone: it shares a link or a processor with others.
inline constexpr const char* kSlowUnderLoad = "slow under load";

struct Finding {
  std::string
      kind;  // "slow host", kSlowUnderLoad, "unreachable host", "slow pair", "broken pair", "clock", "fact", "address"
  std::string text;
};
// `again`: the suspects' second measurements. A pair that failed and was not measured again counts by the first one. A
// host is named slow unless those of its pairs show that it is not, with twice the rate of the first ones.
std::vector<Finding> judge_pairs(const std::vector<std::string>& hosts, const std::vector<PairSpeed>& pairs,
                                 const std::vector<PairSpeed>& again);

// `facts`: of each host, {"compare": {name: value, ..}, "addresses": {"plane 1": address, ..}, ..}. The value that most
// hosts have is the norm.
std::vector<Finding> judge_facts(const std::vector<std::string>& hosts, const std::vector<nlohmann::json>& facts);

}  // namespace mrc::net_bench
