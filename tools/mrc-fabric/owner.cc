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
  if (fd_ < 0 || flock(fd_, LOCK_EX | LOCK_NB) != 0) throw FabricError(mark_of(state) + ": " + std::strerror(errno));
}

Owner::~Owner() {
  close(fd_);
}

bool is_orphan(const LabState& state) {
  const int fd = open(mark_of(state).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  const bool free = flock(fd, LOCK_EX | LOCK_NB) == 0;
  close(fd);
  return free;
}

void disown(const LabState& state) {
  unlink(mark_of(state).c_str());
}

}  // namespace mrc::fabric
