// Every setting of mrcd alone, declared once, in the manner of libmrc's table (device/settings.h). They stand in the
// section `mrcd:` of the configuration file, at the top level or in the entry of a device; the environment name is
// MRC_MRCD_ and the name in capitals. mrcd_socket and ctl_group are libmrc's, which reads them, too.
//
// [MRC-MRCD-8] Precedence: environment, then the section of the device, then that of the top level, then the default.
// SETTINGS.md and `mrcd --help` come from this table.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/setting_keys.h"
#include "device/setting_table.h"
#include "result.h"

namespace mrc::mrcd {

// clang-format off
#define MRCD_SETTINGS(INT, REAL, FLAG, WORD, NAME, TEXT) \
  TEXT(state, "/var/lib/mrc/mrcd.json", "File in which mrcd keeps profiles, denied paths and port states across restarts") \
  TEXT(http, "127.0.0.1:9417", "ADDRESS:PORT of mrcd's web page, metrics and health; empty: none") \
  TEXT(token, "", "Bearer token for mrcd's web API: required to view per-process data and to make changes; empty: neither is possible") \
  REAL(probe_rate, 0, 0, 100000, "1/s", "Rate of mrcd's loop probes per path (to the switches and back), with ev_mode srv6 and srv6_loop; 0: mrcd does not monitor the fabric") \
  REAL(probe_share, 1, 0, 1, "", "Fraction of the T1s that mrcd of this host probes; hosts below one T0 share the work") \
  REAL(probe_loss, 0.02, 0.001, 1, "", "Probe loss ratio from which mrcd considers a path bad") \
  TEXT(peers, "", "ADDRESSes of hosts whose mrcd receives this mrcd's observations, separated by spaces or commas; empty: none") \
  INT(peer_port, 9418, 1, 65535, "", "UDP port on which the mrcds of different hosts exchange observations")
// clang-format on

struct Settings {
  MRC_SETTING_MEMBERS(MRCD_SETTINGS)
  // Where a value that is not the default was set: "f.yaml:3: key 'http'" or "environment: MRC_MRCD_HTTP".
  std::map<std::string, std::string> origins;

  // The origin of a setting for messages, else its name.
  std::string origin_of(const std::string& name) const;
};

using Setting = device::TypedSetting<Settings>;

const std::vector<Setting>& setting_table();

// The settings for each of the `devices` of a configuration that libmrc has accepted. `state`, `http` and `token`
// apply to mrcd as a whole and are those of the first device. The error names file, line, key, value and the allowed
// values.
Result<std::vector<Settings>> parse_settings(const std::string& text, const std::string& file, size_t devices,
                                             device::GetEnv env);

std::string settings_markdown();  // tools/mrcd/SETTINGS.md
std::string settings_help();      // for a terminal

}  // namespace mrc::mrcd
