// Address vectors of the senders of datagrams, from their completions. [VRB-UD-3]
#pragma once

#include <infiniband/verbs.h>

namespace mrc::shim {

// As ibv_init_ah_from_wc: 0, or an errno value.
[[nodiscard]] int address_of_sender(ibv_context* context, uint8_t port, const ibv_wc& wc, const ibv_grh* grh,
                                    ibv_ah_attr* attr);

}  // namespace mrc::shim
