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
//           list nic: false              # true: peers with an address from the template are MRC NICs list:
//             - {gid: fd00:0:1::99, nic: true, planes: [fd00:0:1::99, fd00:0:2::99]}
//         mtu: 8192                 # any setting, for this device
#pragma once

#include <string>

#include "device/config.h"

namespace mrc::device {

// Fills everything except values from the environment and ports. Without `devices` the list stays empty and *common
// holds the top level's settings.
Status read_config_file(const std::string& text, const std::string& file, Settings* common, Config* out);

// As set_setting(), with the checks beyond those of the table.
Status apply_setting(const Setting& setting, const std::string& text, Settings* settings);

}  // namespace mrc::device
