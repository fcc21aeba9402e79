#include "device/link_watch.h"

#include <utility>

namespace mrc::device {

Status LinkWatch::open(PerPlane<std::string> interfaces, bool addresses) {
  interfaces_ = std::move(interfaces);
  return monitor_.open(addresses);
}

void LinkWatch::follow(PlaneId plane, std::string interface) {
  if (interfaces_[plane] == interface) return;
  interfaces_[plane] = std::move(interface);
  up_.insert(plane);
  monitor_.request_again();
}

PlaneSet LinkWatch::read() {
  monitor_.read([this](const datapath::LinkState& link) {
    for (const PlaneId plane : interfaces_.ids())
      if (!link.name.empty() && interfaces_[plane] == link.name) up_.set(plane, link.works);
  });
  return up_;
}

}  // namespace mrc::device
