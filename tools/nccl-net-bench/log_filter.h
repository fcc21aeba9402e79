// LogFilter: which of a plugin's messages NCCL prints (as of 2.28.9). A message is printed when its level is at most
// that of NCCL_DEBUG and its flags share a bit with NCCL_DEBUG_SUBSYS. Warnings are no exception: NCCL's own pass
// NCCL_ALL, and a warning that passes NCCL_NET alone is lost under NCCL's default subsystems. NCCL also reads
// configuration files (NCCL_CONF_FILE, /etc/nccl.conf); this takes the two texts as arguments. Threads: any.
#pragma once

#include <net_abi.h>

namespace mrc::nccl_net {

class LogFilter {
 public:
  // The values of NCCL_DEBUG and NCCL_DEBUG_SUBSYS; null where a variable is not set. Words that NCCL does not know
  // mean level NONE and no subsystem, as they do there.
  LogFilter(const char* debug, const char* subsystems);

  bool prints(ncclDebugLogLevel level, unsigned long flags) const { return level <= level_ && (flags & mask_) != 0; }

  // True when the flags share a bit with the subsystems of a user who has not set NCCL_DEBUG_SUBSYS.
  static bool in_default_subsystems(unsigned long flags);

 private:
  int level_;
  unsigned long mask_;
};

}  // namespace mrc::nccl_net
