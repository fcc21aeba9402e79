// LinkWatch: the kernel's word on whether the interfaces of the planes have a link, as it changes. A plane without one
// is of no use, and to know it at once spares the packets that would tell [MRC-SR-23] [MRC-PORT-2]. By rtnetlink; interfaces go by
// name, so one that is made anew counts as back.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mrc::device {

// Up, with a carrier where the driver knows of one, and not still waiting to be let in (802.1X), by the flags of
// rtnetlink. Not by IFF_RUNNING, which follows a carrier only after up to 1 s.
bool has_link(uint32_t interface_flags);

class LinkWatch {
 public:
  LinkWatch() = default;
  ~LinkWatch();
  LinkWatch(const LinkWatch&) = delete;
  LinkWatch& operator=(const LinkWatch&) = delete;

  // `interfaces`: of each plane; empty: none to watch, counts as up. False: the kernel refuses, see errno.
  bool open(std::vector<std::string> interfaces);
  int fd() const { return fd_; }  // readable when there is news; -1 before open
  // Takes in what the kernel has said, without waiting; bit per plane that has a link. Until the first answer has come
  // all have.
  uint32_t read();

 private:
  bool ask();
  void take(const char* message, size_t bytes);

  int fd_ = -1;
  std::vector<std::string> interfaces_;
  uint32_t up_ = ~0u;
};

}  // namespace mrc::device
