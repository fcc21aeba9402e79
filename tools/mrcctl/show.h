// `mrcctl show`: the devices of this host with their ports, GIDs, and what they offer to a controller.
#pragma once

namespace mrcctl {

int show(bool json);

}  // namespace mrcctl
