// What the parts of PeerPaths stand on, made of a configuration.
#pragma once

#include <optional>

#include "core/config.h"
#include "core/ev_health_table.h"
#include "core/ev_links.h"
#include "core/ev_names.h"
#include "core/path_chooser.h"
#include "core/plane_use.h"

namespace mrc::core {

struct PathParts {
  // EV i lies on plane i % planes.
  PathParts(uint8_t planes, uint32_t evs, uint32_t first_value, uint64_t seed) : rng_(seed) {
    config_.planes.resize(planes);
    for (uint32_t i = 0; i < evs; ++i) config_.evs.push_back({first_value + i, plane_at(i % planes)});
    use_.set_present(PlaneSet::all(planes));
    make_parts();
  }
  // After a change of the configuration.
  void make_parts() {
    use_.refresh({}, {});
    names_.emplace(config_.evs);
    links_.emplace(config_.evs);
    health_.emplace(config_, *links_);
    chooser_.emplace(*health_, use_, *names_, &rng_);
  }

  EndpointConfig config_;
  PlaneUse use_;
  Rng rng_;
  std::optional<EvNames> names_;
  std::optional<EvLinks> links_;
  std::optional<EvHealthTable> health_;
  std::optional<PathChooser> chooser_;
};

}  // namespace mrc::core
