// Protection domains and memory regions behind the ibv_pd and ibv_mr that mrc_soft.h returns; the ibv structure is
// the first member. Protection domains are looked up by address, so that handles are accepted and foreign ones refused.
#pragma once

#include <cstdint>
#include <memory>

#include "api/public.h"
#include "api/soft_context.h"

namespace mrc::api {

struct SoftPd {
  ibv_pd pd{};
  uint32_t id = 0;  // protection domain in the engine's key table
  SoftContext* soft = nullptr;

  // Of a protection domain of ours or a handle of one; else null.
  static SoftPd* of(const ibv_pd* pd);
};

// Held by regions and QPs: the protection domain or handle that their caller passed. It is EBUSY meanwhile, and so is
// the domain behind a handle.
struct ReleasePd {
  void operator()(const ibv_pd* pd) const;
};
using PdHold = std::unique_ptr<const ibv_pd, ReleasePd>;
PdHold hold_pd(const ibv_pd* pd);  // null when it is not ours

struct SoftMr {
  ibv_mr mr{};
  SoftContext* soft = nullptr;
  PdHold pd;

  static SoftMr* of(ibv_mr* mr) { return reinterpret_cast<SoftMr*>(mr); }
};

}  // namespace mrc::api
