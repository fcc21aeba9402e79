// The rules of mrc_modify_qp: a pure function from the settings of a QP, its state and the caller's attributes to new
// settings or an error. The code here uses no device, so each rule has a test of its own. [API-QP-*, spec/api.md]
#pragma once

#include <cstdint>
#include <optional>

#include "api/public.h"
#include "core/types.h"
#include "device/settings.h"

namespace mrc::api {

// All attributes set so far, as the caller gave them; mrc_query_qp returns them.
struct QpSettings {
  ibv_qp_attr verbs{};  // members of attributes unused by MRC are only stored and reported
  int verbs_set = 0;    // ibv_qp_attr_mask of what was ever set
  mrc_qp_attr mrc{};
};

struct ModifyLimits {
  uint8_t max_mpr = 255;
  uint8_t mpr_resolution = 1;
  uint16_t max_wimm = 1;
  uint16_t max_wimm_dest = 1;
  uint32_t max_mtu = 4096;      // bytes
  int gids = 0;                 // entries of the GID table
  uint64_t usable_gids = 0;     // bit i: entry i is not empty
  uint64_t reserved_dscps = 0;  // bit d: data with DSCP d would be mistaken for other packets
};

// The code points of trimmed and control packets, as a mask: other packets must not be sent with them.
uint64_t reserved_dscps(const device::Settings& settings);

// True if neither mask has a bit unknown to the API.
bool masks_known(int verbs_mask, int mask);

// Settings of a new or reset QP: the MRC part from the device's defaults.
QpSettings initial_settings(const core::QpAttr& defaults);

// 0 and *next, *to; or EINVAL with both unchanged. Members outside the masks are not read.
int check_modify(const QpSettings& now, core::QpState state, const ModifyLimits& limits, const ibv_qp_attr* verbs,
                 int verbs_mask, const mrc_qp_attr* attr, int mask, QpSettings* next, core::QpState* to);

// Attributes for the engine; the peer is not among them.
void apply_settings(const QpSettings& settings, core::QpAttr* out);

// [API-QP-3]
bool address_valid(const ibv_ah_attr& ah, const ModifyLimits& limits);

std::optional<core::QpState> state_from_verbs(int state);  // none: a state that does not exist here
ibv_qp_state to_verbs(core::QpState state);
uint32_t mtu_bytes(int mtu);  // of an ibv_mtu, and 6 for 8192 as our extension; 0 for anything else

}  // namespace mrc::api
