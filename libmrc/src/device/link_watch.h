// LinkWatch: the link state of the planes' interfaces. A plane without a link is unusable, and detecting this at
// once avoids the loss of packets [MRC-SR-23] [MRC-PORT-2]. Interfaces are identified by name, so a recreated one
// counts as restored.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datapath/links/link_news.h"

namespace mrc::device {

class LinkWatch {
 public:
  // `interfaces`: of each plane; empty: none to watch, counts as up. False: an error of the kernel, see errno.
  bool open(std::vector<std::string> interfaces);
  int fd() const { return news_.fd(); }  // readable when there is a notification; -1 before open
  // Reads the kernel's notifications without blocking; bit per plane that has a link. Until the first answer has
  // arrived all have.
  uint32_t read();

 private:
  datapath::LinkNews news_;
  std::vector<std::string> interfaces_;
  uint32_t up_ = ~0u;
};

}  // namespace mrc::device
