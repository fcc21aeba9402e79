// Address vectors of datagrams: of their senders, from completions, and of the own port. [VRB-UD-3] [VRB-UD-7]
#pragma once

#include <infiniband/verbs.h>

namespace mrc::shim {

// As ibv_init_ah_from_wc: 0, or an errno value.
[[nodiscard]] int address_of_sender(ibv_context* context, uint8_t port, const ibv_wc& wc, const ibv_grh* grh,
                                    ibv_ah_attr* attr);

// The same attributes with a GID in place of the own port's LID: 0, or EINVAL.
[[nodiscard]] int address_of_own_port(ibv_context* context, ibv_ah_attr* attr);

}  // namespace mrc::shim
