// The YAML file, read strictly: every key is known, every value allowed, and the message for a violation names file,
// line, key, value and the allowed values.
//
//     ev_count: 64                  # any setting, for all devices
//     devices:
//       - name: mrc0
//         gids: [fd00:0:1::7]       # without: made from the address of plane 1
//         planes:                   # in order, plane 1 first; an address, an interface or both
//           - {interface: eth1}
//           - {address: fd00:0:2::7, port: 4791, bind: true}
//         peers:
//           template: "fd00:0:{plane}::{host}"
//           learn: false            # true: other peers are queried for their planes; the default without template and
//                                   # list
//           nic: false              # true: peers with an address from the template are MRC NICs
//           list:
//             - {gid: fd00:0:1::99, nic: true, planes: [fd00:0:1::99, fd00:0:2::99]}
//         mtu: 8192                 # any setting, for this device
//     mrcd: {probe_rate: 100}       # settings of mrcd, which checks them; also in the entry of a device
#pragma once

#include <string>

#include "device/config.h"
#include "device/setting_keys.h"

namespace mrc::device {

inline constexpr const char* kDaemonSection = "mrcd";

// Fills everything except values from the environment and ports. Without `devices` the list stays empty and *common
// holds the top level's settings.
Status read_config_file(const std::string& text, const std::string& file, Settings* common, Config* out);

// The keys of the table, with the checks beyond it.
SettingKeys setting_keys(Settings* settings);

}  // namespace mrc::device
