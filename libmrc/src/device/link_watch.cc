#include "device/link_watch.h"

#include <utility>

namespace mrc::device {

bool LinkWatch::open(PerPlane<std::string> interfaces) {
  interfaces_ = std::move(interfaces);
  return news_.open();
}

PlaneSet LinkWatch::read() {
  news_.read([this](const datapath::LinkState& link) {
    for (const PlaneId plane : interfaces_.ids())
      if (!link.name.empty() && interfaces_[plane] == link.name) up_.set(plane, link.works);
  });
  return up_;
}

}  // namespace mrc::device
