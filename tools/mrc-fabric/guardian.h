// A process that outlives this one: if this one is killed while a lab is half built (or while `mrc-fabric run` owns
// it), it takes the lab down. It learns of our death by the end of a pipe, which the programs we start inherit, so that
// it begins only when the last of them has stopped building, too.
#pragma once

#include <functional>

#include "fd.h"

namespace mrc::fabric {

class Guardian {
 public:
  // `on_death` runs in the other process.
  explicit Guardian(const std::function<void()>& on_death);
  ~Guardian();  // as if this process had been killed
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  void dismiss();         // success: it ends without an action
  void close_in_child();  // for a child that must not keep it waiting

 private:
  Fd pipe_;
  int pid_ = -1;
};

// True once SIGINT, SIGTERM or SIGHUP was received; they no longer end the process.
void catch_signals();
int caught_signal();  // 0: none

}  // namespace mrc::fabric
