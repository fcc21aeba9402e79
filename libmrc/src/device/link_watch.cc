#include "device/link_watch.h"

#include <utility>

namespace mrc::device {

bool LinkWatch::open(std::vector<std::string> interfaces) {
  interfaces_ = std::move(interfaces);
  return news_.open();
}

uint32_t LinkWatch::read() {
  news_.read([this](const datapath::LinkState& link) {
    for (size_t plane = 0; plane < interfaces_.size(); ++plane)
      if (!link.name.empty() && interfaces_[plane] == link.name)
        up_ = link.works ? up_ | 1u << plane : up_ & ~(1u << plane);
  });
  return up_;
}

}  // namespace mrc::device
