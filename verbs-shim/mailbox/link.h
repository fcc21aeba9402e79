// The interface of the message protocol to its queue pair. The protocol itself has no socket, no thread and no
// clock: it is called with arrivals, and calls this. All calls are made under the queue pair's lock.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "mailbox/key_table.h"

namespace mrc::shim {

// One receive request, of a queue pair or of a shared receive queue.
struct Receive {
  uint64_t wr_id = 0;
  int num_sge = 0;
  ibv_sge sges[16];
};

class Link {
 public:
  // Posts MRC writes; as mrc_post_send.
  virtual int post(ibv_send_wr* list, ibv_send_wr** bad) = 0;
  // A finished request of the application, in the order of posting. `slots`: slots of the send queue that are free
  // when the application has polled it.
  virtual void complete_send(const ibv_wc& wc, uint32_t slots) = 0;
  virtual void complete_receive(const ibv_wc& wc, bool solicited) = 0;
  // The next receive request; false: there is none, and the responder is called again when there is. Filled in place,
  // as it is large and its user on the data path.
  virtual bool take_receive(Receive* out) = 0;
  // The confirmation that can be piggybacked on a message to the peer: the number up to which its requests were carried
  // out. None: it was sent already.
  virtual std::optional<uint32_t> take_confirmation() = 0;
  // The peer has confirmed something whose completion is still due: its requests wait.
  virtual bool completion_due() = 0;
  // The connection is lost: no more requests are carried out. Called once, after the completion with the reason; where
  // a completion has told it, there is no event.
  virtual void fail(std::optional<ibv_event_type> event) = 0;
  // The connection is about to be lost because memory of a region is gone.
  virtual void report_gone(const Access& access) = 0;
  // A timer was set (1) or is over (-1): while there is one, tick() is called.
  virtual void count_timer(int by) = 0;

 protected:
  ~Link() = default;
};

}  // namespace mrc::shim
