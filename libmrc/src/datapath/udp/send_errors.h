// SendErrors: errors with which the kernel refuses packets for good. The first one is kept for the description of the
// datapath; the last packet that was too long is reported to the engine, which searches the path's MTU then.
#pragma once

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/ip.h"
#include "datapath/datapath.h"

namespace mrc::datapath {

class SendErrors {
 public:
  // Where the packets that are sent from now on go.
  void set_destination(PlaneId plane, const IpAddress& to) { destination_ = {plane, to}; }
  // A packet to there was refused.
  void note_refusal(int error) {
    note(error);
    if (error == EMSGSIZE) too_long_ = destination_;
  }
  // A packet that could not be sent, not because of the path's MTU.
  void note(int error) {
    if (first_.empty()) first_ = std::strerror(error);
  }

  const std::string& first() const { return first_; }  // empty: there was none
  // See Datapath::take_too_long().
  std::optional<Datapath::TooLong> take_too_long() { return std::exchange(too_long_, std::nullopt); }

 private:
  Datapath::TooLong destination_;
  std::optional<Datapath::TooLong> too_long_;
  std::string first_;
};

}  // namespace mrc::datapath
