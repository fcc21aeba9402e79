// One seed of the swarm: a small world in which everything is drawn from the seed (topology, window sizes, message mix,
// faults, administration), run in two phases. Safety: while faults last, nothing wrong may happen. Liveness: when they
// have stopped, everything must finish within a bounded virtual time. The checks know nothing of the engine but its
// promises.
#pragma once

#include <cstdint>
#include <string>

namespace mrc::swarm {

struct Outcome {
  bool ok = true;
  std::string failure;     // first broken promise
  std::string summary;     // what the world looked like
  bool failed_qp = false;  // forged worlds: the forger ended the connection
  // Calm worlds: request packets, those of them that were sent again, and whether a path was retired.
  uint64_t packets = 0, again = 0;
  bool retired = false;
};

Outcome run_world(uint64_t seed);
Outcome run_forged_world(uint64_t seed);
Outcome run_calm_world(uint64_t seed);
Outcome run_host_world(uint64_t seed);  // over the public API; one at a time

}  // namespace mrc::swarm
