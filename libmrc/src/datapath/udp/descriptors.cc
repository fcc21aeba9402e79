#include "datapath/udp/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "folder.h"

namespace mrc::datapath {

namespace {

constexpr uint64_t kForApplication = 256;  // at least
constexpr uint64_t kOtherOfEngine = 32;    // sockets to receive from, timers, events
constexpr uint64_t kLimitMultiple = 1024;  // of the limit that is proposed: the same one to all engines of a device

// 0 without /proc.
uint64_t count_open() {
  Folder folder("/proc/self/fd");
  uint64_t count = 0;
  while (folder.next() != nullptr) ++count;
  return count - std::min<uint64_t>(count, 3);  // ".", ".." and the folder itself
}

}  // namespace

DescriptorRoom make_descriptor_room(size_t sockets, size_t engines) {
  rlimit limits{};
  if (::getrlimit(RLIMIT_NOFILE, &limits) != 0) return {};
  const uint64_t own = 2 * sockets;
  const uint64_t used = count_open() + engines * (own + kOtherOfEngine);
  const uint64_t needed = used + kForApplication;
  DescriptorRoom room;
  room.limit = limits.rlim_cur;
  room.wanted = (needed + kLimitMultiple - 1) / kLimitMultiple * kLimitMultiple;
  room.for_guards = used <= room.limit / 2;
  if (room.for_guards) return room;
  const rlimit raised{std::min(limits.rlim_cur + own, limits.rlim_max), limits.rlim_max};
  if (raised.rlim_cur > limits.rlim_cur && ::setrlimit(RLIMIT_NOFILE, &raised) == 0) {
    room.lowest = static_cast<int>(limits.rlim_cur);
    room.limit = raised.rlim_cur;
  }
  room.for_guards = room.limit == limits.rlim_cur + own || needed <= room.limit;
  return room;
}

Fd move_descriptor(Fd fd, int lowest) {
  if (!fd || fd.get() >= lowest) return fd;
  const int moved = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, lowest);
  return moved >= 0 ? Fd(moved) : std::move(fd);
}

}  // namespace mrc::datapath
