// Room for inline data in each request of a send queue. [VRB-QP-6]
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>

namespace mrc::shim {

// Of a queue pair that asks for `cap`, in bytes. NICs keep inline data in the place of a request's elements, so that a
// program that asks for none is granted some, and may send what it reads back.
constexpr uint32_t inline_room(const ibv_qp_cap& cap) {
  constexpr uint32_t kAlways = 64;
  return std::max({cap.max_inline_data, static_cast<uint32_t>(sizeof(ibv_sge)) * cap.max_send_sge, kAlways});
}

}  // namespace mrc::shim
