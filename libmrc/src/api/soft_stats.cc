// Reports and path control of mrc_soft.h. The device makes the texts; the functions here follow snprintf: the required
// size is returned, and the part that fits is written, NUL-terminated.
#include <algorithm>
#include <cstring>
#include <string>

#include "api/context.h"
#include "api/errors.h"
#include "api/inherited.h"
#include "api/qp.h"
#include "device/registry.h"
#include "device/settings.h"

using mrc::api::errno_value;
using mrc::api::minus_one;
using mrc::api::SoftContext;

namespace {

template <typename Make>
int give_text(char* text, size_t size, Make&& make) {
  if (text == nullptr && size > 0) return minus_one(EINVAL);
  return mrc::api::or_enomem<int>(-1, [&] {
    const std::string made = make();
    if (size > 0) {
      const size_t n = std::min(size - 1, made.size());
      std::memcpy(text, made.data(), n);
      text[n] = '\0';
    }
    return static_cast<int>(made.size());
  });
}

}  // namespace

extern "C" {

int mrc_soft_query_stats(ibv_context* context, char* text, size_t size) {
  SoftContext* soft = SoftContext::of(context);
  if (soft == nullptr) return minus_one(EINVAL);
  return give_text(text, size, [&] { return soft->shards().stats_text(); });
}

int mrc_soft_query_qp_stats(mrc_qp* qp, char* text, size_t size) {
  if (qp == nullptr) return minus_one(EINVAL);
  return give_text(text, size, [&] { return qp->device().qp_stats_text(qp->engine()); });
}

int mrc_soft_describe_device(ibv_context* context, char* text, size_t size) {
  SoftContext* soft = SoftContext::of(context);
  if (soft == nullptr) return minus_one(EINVAL);
  return give_text(text, size, [&] { return soft->shards().describe_json(); });
}

// With the values in force where the configuration is accepted, else with the defaults.
int mrc_soft_describe_params(char* text, size_t size) {
  return give_text(text, size, [] {
    const mrc::device::Config* config = mrc::device::process_config();
    const bool known = config != nullptr && !config->devices.empty();
    return mrc::device::settings_json(known ? config->devices.front().settings : mrc::device::Settings());
  });
}

int mrc_soft_deny_ev(mrc_qp* qp, uint32_t ev, int denied) {
  if (qp == nullptr) return errno_value(EINVAL);
  mrc::device::Device& device = qp->device();
  if (device.inherited()) return errno_value(EPERM);
  mrc::api::Destination to;
  const mrc::PerEv<mrc::core::EvEntry>& evs = device.evs();
  const auto found = std::find_if(evs.begin(), evs.end(), [&](const mrc::core::EvEntry& e) { return e.value == ev; });
  {
    const mrc::device::DeviceLock lock(device.mutex());
    if (qp->peer() == mrc::core::kNoPeer) return errno_value(EINVAL);
    if (found == evs.end()) return errno_value(ENOENT);
    to = qp->destination();
    device.endpoint().set_ev_denied(device.now(), qp->peer(), evs.id_of(found), denied != 0);
    device.transmit_locked();
  }
  return mrc::api::or_enomem<int>(ENOMEM, [&] {
    qp->context()->shards().deny_elsewhere(qp->shard(), to.dgid, to.qpn, *found, denied != 0);
    return 0;
  });
}

int mrc_soft_set_port_admin(ibv_context* context, uint8_t port_num, int enabled) {
  SoftContext* soft = SoftContext::of(context);
  if (soft == nullptr || port_num < 1 || port_num > soft->device().planes()) return errno_value(EINVAL);
  if (mrc::api::inherited(*soft)) return errno_value(EPERM);
  soft->enable_plane(port_num, enabled != 0);
  return 0;
}

int mrc_soft_set_receiver_penalty(ibv_context* context, uint8_t penalty, int restore) {
  constexpr uint8_t kMaxPenalty = 127;  // seven bits of CC_STATE
  SoftContext* soft = SoftContext::of(context);
  if (soft == nullptr || penalty > kMaxPenalty) return errno_value(EINVAL);
  if (mrc::api::inherited(*soft)) return errno_value(EPERM);
  soft->shards().set_receiver_penalty(penalty, restore != 0);
  return 0;
}

}  // extern "C"
