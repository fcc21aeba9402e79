// LinkWatch: which network interfaces of this namespace are up and have a carrier, by rtnetlink.
#pragma once

#include <functional>

namespace mrc::softswitch {

class LinkWatch {
 public:
  LinkWatch();  // throws FabricError
  ~LinkWatch();
  LinkWatch(const LinkWatch&) = delete;
  LinkWatch& operator=(const LinkWatch&) = delete;

  int fd() const { return fd_; }
  // Asks for the state of every interface; the answers come by read_news().
  void ask_all();
  // Calls `change` with interface and state for all that waits, and does not block.
  void read_news(const std::function<void(int interface, bool up)>& change);

 private:
  int fd_ = -1;
};

}  // namespace mrc::softswitch
