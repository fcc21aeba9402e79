// What stands behind the ibv_pd and ibv_mr that mrc_soft.h hands out; the ibv structure is the first member.
#pragma once

#include <atomic>
#include <cstdint>

#include "api/public.h"
#include "api/soft_context.h"

namespace mrc::api {

struct SoftPd {
  ibv_pd pd{};
  uint32_t id = 0;  // protection domain in the engine's key table
  SoftContext* soft = nullptr;
  std::atomic<int> users{0};  // regions and QPs

  static SoftPd* of(ibv_pd* pd) { return reinterpret_cast<SoftPd*>(pd); }
};

struct SoftMr {
  ibv_mr mr{};

  static SoftMr* of(ibv_mr* mr) { return reinterpret_cast<SoftMr*>(mr); }
};

}  // namespace mrc::api
