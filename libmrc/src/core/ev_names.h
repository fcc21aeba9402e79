// EvNames: our EV for another host's EV. The name of an EV, the same at both ends of a path, is the label in its
// upper half, while the port differs between hosts; without a label it is the whole value. Made once per endpoint.
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "core/config.h"

namespace mrc::core {

class EvNames {
 public:
  explicit EvNames(const PerEv<EvEntry>& evs);
  // The EV of just this value.
  std::optional<EvIndex> find(uint32_t value) const;
  // Those, on any plane, that have the name of this value, in ascending order.
  absl::Span<const EvIndex> indices_of(uint32_t value) const;
  void check() const;

 private:
  struct Named {
    uint32_t name, value;
  };
  std::vector<EvIndex> evs_;  // in the order of their names
  std::vector<Named> names_;  // of these
};

}  // namespace mrc::core
