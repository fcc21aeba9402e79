// mrcctl profile create | modify | delete: profiles from a YAML file, through mrcd, for all processes of this host.
#pragma once

#include <string>

namespace mrcctl {

struct ProfileOptions {
  std::string socket;
  std::string device;
  std::string file;
  bool json = false;
};

int profile_create(const ProfileOptions& options);
int profile_modify(const ProfileOptions& options);
// `kind`: format, ev or cc.
int profile_delete(const ProfileOptions& options, const std::string& kind, unsigned long long id);

}  // namespace mrcctl
