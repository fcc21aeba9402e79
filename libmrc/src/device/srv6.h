// The settings of SRv6 paths: srv6_paths, srv6_loop and srv6_uplinks (settings.h) as the plan that a datapath
// follows. [MRC-SR-4, spec/srv6.md]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/config.h"
#include "datapath/srv6/plan.h"
#include "device/settings.h"

namespace mrc::device {

// EINVAL when a setting is no plan.
Result<std::shared_ptr<const datapath::Srv6Plan>> srv6_plan(const Settings& settings, uint32_t planes);

// Upper halves of the EVs: entry n of each plane gets n + 1, so that a packet's flow label shows the path that it took
// when the destination has been shifted [MRC-SR-6].
void label_paths(uint32_t planes, PerEv<core::EvEntry>* evs);

}  // namespace mrc::device
