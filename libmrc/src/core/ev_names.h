// EvNames: our EV for another host's EV. The name of an EV, the same at both ends of a path, is the label in its
// upper half, while the port differs between hosts; without a label it is the whole value. Made once per endpoint.
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "core/config.h"

namespace mrc::core {

class EvNames {
 public:
  explicit EvNames(const std::vector<EvEntry>& evs);
  // The EV of just this value, by its index; UINT16_MAX when there is none.
  uint16_t find(uint32_t value) const;
  // Indices of those, on any plane, that have the name of this value, in ascending order.
  absl::Span<const uint16_t> namesakes(uint32_t value) const;

 private:
  struct Named {
    uint32_t name, value;
  };
  std::vector<uint16_t> evs_;  // in the order of their names
  std::vector<Named> names_;   // of these
};

}  // namespace mrc::core
