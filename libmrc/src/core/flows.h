// Flows: addresses, ports, flow label and traffic class of an outgoing packet, as a function of its EV.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "core/burst.h"
#include "core/config.h"
#include "wire/flow.h"

namespace mrc::core {

// To `peer` by that EV. None: one of the ends does not have the EV's plane, or its address there is not known.
std::optional<wire::Flow> make_flow(const EndpointConfig& config, const PeerDescription& peer, EvIndex ev,
                                    uint8_t dscp);

// The same for a burst, with its plane and EV. The EV's plane must be one that both ends have, as from PeerPaths.
void set_flow(const EndpointConfig& config, const PeerDescription& peer, EvIndex ev, uint8_t dscp, TxBurst* out);

// Back to the sender of a connectionless request that arrived on `plane` from the process of that slot.
wire::Flow make_reply_flow(const EndpointConfig& config, const wire::Flow& request, PlaneId plane, uint8_t slot,
                           EvIndex ev);

}  // namespace mrc::core
