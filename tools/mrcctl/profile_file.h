// Profiles as people write them: a YAML list. man mrcctl has the form.
//
//     - {kind: format, id: 1, mode: STEV, fields: [16, 16]}
//     - kind: ev
//       id: 5
//       mode: explicit            # or generated (fields, count), or auto
//       format: 1
//       fields: [{width: 16, mask: 0xffff}, {width: 16, init: 0}]
//       min_active: 4
//       events: [ASSUMED_BAD]
//       evs: [0001@1, 0001@2, {ev: 0002@1, state: DENIED}]
//     - {kind: cc, id: 2, algorithm: uet-1.0-nscc, config: {max_cwnd: 200000}}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ctl/call.h"

namespace mrcctl {

struct WrittenProfile {
  // The content of the file, without a state; arrays and configuration belong to it.
  mrc::ctl::ProfileCall call;
  bool online = true;  // where it shall end up
  std::string name;    // "EV profile 5"
};

// Throws Error with line and reason.
std::vector<WrittenProfile> read_profiles(const std::string& file);

// "0001@2": hexadecimal value and port.
mrc_ctl_ev parse_profile_ev(const std::string& text);

}  // namespace mrcctl
