// FaultDriver: carries out the faults of a scenario. Each fault names targets (links, or switches with all their
// links); targets are drawn and flap times are drawn from the run's seed, so the same seed gives the same faults.
//
//   down        the link loses the packets on it and accepts none; NICs detect their carrier, switches do not reroute
//   stuck       the switch swallows everything while its links stay up
//   loss        every packet with a probability; `decay` raises it in 20 steps
//   slow        rate of the link; latency: added propagation
//   flap        up and down in turn, mean times, exponential or fixed; background: the same from drawn starting times
//
// Faults may overlap on a link. The state is computed from all that are in force there: it is down while any of them
// takes it down, losses are independent of each other, the slowest rate counts, latencies add up.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/helper/network.h"
#include "sim/helper/scenario.h"

namespace mrc::sim {

struct FaultMark {
  Ps at = 0;
  std::string text;  // "down plane 0 T1 3", "up plane 0 T1 3"
};

// What has happened of one kind of fault.
struct FaultTally {
  uint64_t times = 0;
  std::set<std::string> links, switches;  // that it has hit
};

const char* fault_kind_name(FaultKind kind);

class FaultDriver {
 public:
  FaultDriver(const ScenarioSpec& scenario, Network* network);
  void schedule();                                                // before the run
  const std::vector<FaultMark>& marks() const { return marks_; }  // in the order of time
  const FaultTally& tally(FaultKind kind) const { return tallies_[static_cast<size_t>(kind)]; }

 private:
  struct Target {
    std::vector<Link*> links;
    Switch* sw = nullptr;
    std::string name;
  };

  struct InForce {
    const FaultSpec* fault;
    double loss;  // of this moment
  };

  std::vector<Target> targets(const FaultSpec& f);
  void begin(const FaultSpec& f, const Target& t);
  void end(const FaultSpec& f, const Target& t);
  void flap(const FaultSpec& f, const Target& t, bool down, Ps stop);
  void apply(const FaultSpec& f, const Target& t, double loss);
  void lift(const FaultSpec& f, const Target& t);
  void update(Port* p);
  void set_stuck(const Target& t, bool stuck);
  void set_down(const Target& t, bool down);
  Ps draw(Ps mean, bool exponential);
  void record(const FaultSpec& f, const Target& t, bool begins);
  static void at(Ps when, std::function<void()> f);

  const ScenarioSpec& scenario_;
  Network& net_;
  Rng rng_;
  std::vector<std::vector<Target>> targets_;  // per fault; must not move once scheduled
  std::vector<uint32_t> down_;                // per link: faults that hold it down
  std::map<const Switch*, uint32_t> stuck_;   // faults that hold it so
  std::map<const Port*, std::vector<InForce>> in_force_;
  std::vector<FaultMark> marks_;
  std::array<FaultTally, 8> tallies_;  // by kind
};

}  // namespace mrc::sim
