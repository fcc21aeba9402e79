#include "paths.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "device.h"
#include "device/peers.h"
#include "device/srv6.h"
#include "loop_prober.h"
#include "secure_environment.h"

namespace mrcctl {

using mrc::IpAddress;
using mrc::datapath::usids_of;

Paths::Paths(const std::string& device) {
  const mrc::Result<mrc::device::Config> all = mrc::device::load_config(mrc::environment::variable);
  if (!all) throw Error(all.error().text);
  const auto found = std::find_if(all->devices.begin(), all->devices.end(),
                                  [&](const auto& d) { return device.empty() || d.name == device; });
  if (found == all->devices.end()) throw Error("no device '" + device + "' in the configuration");
  config_ = *found;
  own_t0s_.resize(config_.planes.size());
  if (config_.settings.ev_mode != mrc::device::EvMode::kSrv6) return;
  auto plan = mrc::device::srv6_plan(config_.settings, static_cast<uint32_t>(config_.planes.size()));
  if (!plan) throw Error(plan.error().text);
  plan_ = *std::move(plan);
  const auto loops = mrc::mrcd::loop_paths(config_);
  if (!loops) return;  // none are configured
  for (const mrc::mrcd::LoopPath& loop : *loops) own_t0s_[loop.plane - 1] = mrc::mrcd::usid_text(loop.t0);
}

std::string Paths::own_t0(uint8_t port) const {
  return port >= 1 && port <= own_t0s_.size() ? own_t0s_[port - 1u] : "";
}

// The list ends with the far T0, before it the T1; a path below one T0 names that T0 or nothing.
PathNames Paths::names(uint8_t port, uint32_t n, const union ibv_gid& peer) const {
  PathNames names;
  names.t0 = names.far_t0 = own_t0(port);
  if (plan_ == nullptr || port < 1 || port > config_.planes.size()) return names;
  IpAddress gid;
  std::memcpy(gid.bytes.data(), peer.raw, gid.bytes.size());
  const mrc::Result<mrc::core::PeerDescription> description = mrc::device::resolve_peer(config_, 0, gid, mrc::Qpn());
  if (!description) return names;
  const IpAddress& to = description->planes[port - 1u].addr;
  if (to.is_zero()) {  // only the engine learns it
    names.far_t0.clear();
    return names;
  }
  mrc::datapath::UsidList usids = usids_of(plan_->path(mrc::plane_of_port(port), n, to));
  usids.resize(usids.size() - std::min(usids.size(), usids_of(to).size()));
  if (usids.empty()) return names;
  names.far_t0 = mrc::mrcd::usid_text(usids.back());
  if (usids.size() > 1) names.t1 = mrc::mrcd::usid_text(usids[usids.size() - 2]);
  return names;
}

}  // namespace mrcctl
