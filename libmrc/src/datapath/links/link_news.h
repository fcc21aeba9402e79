// LinkNews: the kernel's word, by rtnetlink, on which interfaces of this network namespace have a link, as it changes.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace mrc::datapath {

// Up, with a carrier where the driver knows of one, and not still waiting to be let in (802.1X), by the flags of
// rtnetlink. Not by IFF_RUNNING, which follows a carrier only after up to 1 s.
bool has_link(uint32_t interface_flags);

struct LinkState {
  int interface;  // its index
  std::string_view name;
  bool works;  // it is there and has a link
};

class LinkNews {
 public:
  LinkNews() = default;
  ~LinkNews();
  LinkNews(const LinkNews&) = delete;
  LinkNews& operator=(const LinkNews&) = delete;

  // The first news are the states of all interfaces. False: the kernel refuses, see errno.
  bool open();
  int fd() const { return fd_; }  // readable when there is news; -1 before open
  // Takes in what the kernel has said, without waiting. What it says may be what was known already.
  void read(const std::function<void(const LinkState&)>& change);

 private:
  bool ask();
  void take(const char* message, size_t bytes, const std::function<void(const LinkState&)>& change);

  int fd_ = -1;
  bool answering_ = false;  // the kernel takes no second question before the end of its answer
  bool stale_ = false;      // news was lost: to be asked again
};

}  // namespace mrc::datapath
