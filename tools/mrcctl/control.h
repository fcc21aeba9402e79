// mrcctl ev deny | allow | replace, port up | down, events: requests to mrcd in one message.
#pragma once

#include <cstdint>
#include <string>

namespace mrcctl {

struct DenyOptions {
  std::string socket, device;
  uint32_t plane = 0;
  std::string ev, via, to, why;
  bool all = false;      // allow: every rule
  uint64_t profile = 0;  // an entry of this profile instead of a rule
  bool in_profile = false;
  std::string entry;  // 0001@2
};
int ev_deny(const DenyOptions& options, bool deny, bool json);
int ev_replace(const std::string& socket, const std::string& device, uint64_t profile, const std::string& from,
               const std::string& to, bool json);
int set_port(const std::string& socket, const std::string& device, uint32_t port, bool up, bool json);
// Past events, or with `follow` also those to come, until mrcd ends or `max` have been printed (0: any number).
int events(const std::string& socket, bool follow, uint64_t max, bool json);

}  // namespace mrcctl
