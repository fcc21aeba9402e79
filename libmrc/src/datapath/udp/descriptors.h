// Descriptors for the sockets of EVs and the guards of their ports. Where they would leave the application less than
// half of its limit (RLIMIT_NOFILE, the soft one), that limit is raised by their number, as far as the hard limit
// permits, and they get the numbers above the old one. So the application keeps what it had.
//
// The soft limit is mostly 1024 and the hard one far higher, because select() takes no descriptor from 1024 on. Servers
// raise the one to the other; a library does not know whether its program uses select(), or closes all descriptors up
// to the limit one by one. Raised in this way, the application gets a number beyond its old limit only where it would
// have got EMFILE, and not even there while the device is open. Our own sockets are never given to select().
//
// The limit is not lowered when the device closes: the application may have changed it meanwhile. Children inherit it,
// through exec(), too: a library cannot lower it for them alone, as posix_spawn() and vfork() offer no place for that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fd.h"

namespace mrc::datapath {

struct DescriptorRoom {
  bool for_guards = false;  // for the guards, too: else few would remain for the application
  int lowest = 0;           // the sockets and guards get numbers from here on
  uint64_t limit = 0;       // the soft one now
  uint64_t wanted = 0;      // a limit with which there is room for the guards
};

// Makes room for `sockets` sockets and as many guards, with those of `engines` engines to come, this one included. Not
// to be called by two threads at once: the devices of a process open one after the other (device/registry.cc).
DescriptorRoom make_descriptor_room(size_t sockets, size_t engines);

// The same file with a number from `lowest` on, if there is one.
Fd move_descriptor(Fd fd, int lowest);

}  // namespace mrc::datapath
