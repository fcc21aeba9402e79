// The fabric of the tests: small enough to read what is rendered for it, with rates and a name of its own.
#pragma once

#include <functional>

#include "lab.h"

namespace mrc::fabric {

inline Topology two_planes(const std::string& more = "") {
  return Topology(
      fabric_of("name: two\nplanes: 2\nt0: 2\nt1: 2\nnics_per_t0: 2\n"
                "nic_link: {rate: 100G, delay: 500ns}\nspine_link: {rate: 200G, delay: 500ns}\n"
                "lab: {rate_scale: 0.01}\n" +
                more));
}

inline std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const FabricError& e) {
    return e.what();
  }
  return "";
}

}  // namespace mrc::fabric
