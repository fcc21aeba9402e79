#include "carrier.h"

#include <unistd.h>

#include <chrono>

#include "command.h"
#include "fault.h"
#include "guardian.h"
#include "interface_requests.h"

namespace mrc::fabric {
namespace {

constexpr auto kLongest = std::chrono::seconds(30);
constexpr useconds_t kBetweenLooksUs = 1000;

void wait_for_port(const LabState& state, const Port& port) {
  const auto end = std::chrono::steady_clock::now() + kLongest;
  inside_netns(state.netns(port.node), [&] {
    const InterfaceRequests requests;
    while (!requests.can_send(port.name)) {
      if (caught_signal() != 0) return;
      if (std::chrono::steady_clock::now() > end)
        throw FabricError(port_name(port) + " has no carrier, although it is set up");
      usleep(kBetweenLooksUs);
    }
  });
}

}  // namespace

void wait_for_carriers(const LabState& state, const Json& faults, const std::vector<const Link*>& links) {
  for (const Link* l : links) {
    if (condition_of(faults, *l, l->lower).down || condition_of(faults, *l, l->upper).down) continue;
    wait_for_port(state, l->lower);
    wait_for_port(state, l->upper);
  }
}

}  // namespace mrc::fabric
