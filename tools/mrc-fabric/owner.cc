#include "owner.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mrc::fabric {
namespace {

std::string mark_of(const LabState& state) {
  return state.folder() + "/owner";
}

}  // namespace

Owner::Owner(const LabState& state) : fd_(open(mark_of(state).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (!fd_ || flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) throw FabricError(mark_of(state) + ": " + std::strerror(errno));
}

bool is_orphan(const LabState& state) {
  const Fd fd(open(mark_of(state).c_str(), O_RDWR | O_CLOEXEC));
  return fd && flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

void disown(const LabState& state) {
  unlink(mark_of(state).c_str());
}

}  // namespace mrc::fabric
