// Owner: the mark of a lab that belongs to a `mrc-fabric run`. It is a lock on a file in the lab's folder, held by that
// process and its guardian. When both were killed, the lock is free and the lab has no owner: the next `up` or `run`
// builds it again instead of finding a lab that is "up already".
#pragma once

#include "fd.h"
#include "state.h"

namespace mrc::fabric {

class Owner {
 public:
  // Takes the lab. Before the guardian is made, so that it holds the lock as well. Throws FabricError.
  explicit Owner(const LabState& state);

 private:
  Fd fd_;
};

// It had an owner, which has ended.
bool is_orphan(const LabState& state);
// From now on it has no owner: `mrc-fabric up`.
void disown(const LabState& state);

}  // namespace mrc::fabric
