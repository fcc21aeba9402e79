// LinkWatch: which planes' interfaces have a link, as it changes. A plane without one is of no use, and to know it at
// once spares the packets that would tell [MRC-SR-23] [MRC-PORT-2]. Interfaces go by name, so one that is made anew
// counts as back.
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
  // `interfaces`: of each plane; empty: none to watch, counts as up. False: the kernel refuses, see errno.
  bool open(std::vector<std::string> interfaces);
  int fd() const { return news_.fd(); }  // readable when there is news; -1 before open
  // Takes in what the kernel has said, without waiting; bit per plane that has a link. Until the first answer has come
  // all have.
  uint32_t read();

 private:
  datapath::LinkNews news_;
  std::vector<std::string> interfaces_;
  uint32_t up_ = ~0u;
};

}  // namespace mrc::device
