// ClosedPlanes: the planes of a host whose sockets could not be opened because their address or interface is missing,
// each with the reason. A host that restarts with a port out goes on with the others; a closed plane is opened when
// what it lacks has come (Datapath::open_plane). [MRC-PORT-6]
#pragma once

#include <cerrno>
#include <map>
#include <string>

#include "base/planes.h"
#include "result.h"

namespace mrc::datapath {

class ClosedPlanes {
 public:
  // What is missing may come: an address, an interface, a port of a card.
  static bool can_open_later(int code) {
    return code == EADDRNOTAVAIL || code == ENODEV || code == ENXIO || code == ENETDOWN;
  }
  // The plane is closed, or the error is one that the whole device has.
  Status add(PlaneId plane, Error why) {
    if (!can_open_later(why.code)) return std::move(why).under("plane " + std::to_string(port_of(plane)) + ": ");
    why_.insert_or_assign(plane, std::move(why));
    return {};
  }
  void erase(PlaneId plane) { why_.erase(plane); }

  PlaneSet ids() const {
    PlaneSet all;
    for (const auto& [plane, why] : why_) all.insert(plane);
    return all;
  }
  bool contains(PlaneId plane) const { return why_.count(plane) != 0; }
  bool empty() const { return why_.empty(); }
  // A sentence, and what mends it; empty: the plane is open.
  std::string why(PlaneId plane) const {
    const auto found = why_.find(plane);
    return found != why_.end() ? found->second.text : "";
  }
  // The error of a device none of whose planes is open.
  Error none_open() const {
    Error all{why_.begin()->second.code, "no plane can be opened"};
    for (const auto& [plane, why] : why_) all.text += "; plane " + std::to_string(port_of(plane)) + ": " + why.text;
    return all;
  }

 private:
  std::map<PlaneId, Error> why_;
};

}  // namespace mrc::datapath
