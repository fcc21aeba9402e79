// LinkWatch: the link state of the planes' interfaces. A plane without a link is unusable, and detecting this at
// once avoids the loss of packets [MRC-SR-23] [MRC-PORT-2]. Interfaces are identified by name, so a recreated one
// counts as restored.
//
// One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "base/planes.h"
#include "datapath/links/link_monitor.h"
#include "result.h"

namespace mrc::device {

class LinkWatch {
 public:
  // `interfaces`: of each plane; empty: none to watch, counts as up.
  // `addresses`: the descriptor becomes readable by changes of addresses, too.
  Status open(PerPlane<std::string> interfaces, bool addresses = false);
  // Watches the interface of a plane that has joined. Its state is known after a further read(); until then it is up.
  void follow(PlaneId plane, std::string interface);
  int fd() const { return monitor_.fd(); }  // readable when there is a notification; -1 before open
  // Reads the kernel's notifications without blocking; the planes that have a link. Until the first answer has
  // arrived all have.
  PlaneSet read();

 private:
  datapath::LinkMonitor monitor_;
  PerPlane<std::string> interfaces_;
  PlaneSet up_ = PlaneSet::all();
};

}  // namespace mrc::device
