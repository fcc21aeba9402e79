#include "objects/pump_queue.h"

#include <fcntl.h>

namespace mrc::shim {

PumpQueue::~PumpQueue() {
  if (cq_ != nullptr) api_.mrc_destroy_cq(cq_);
  if (channel_ != nullptr) api_.mrc_destroy_comp_channel(channel_);
}

bool PumpQueue::make(mrc_context* mrc, void* owner) {
  if (api_.mrc_create_comp_channel(mrc, &channel_) != 0) return false;
  api_.mrc_get_comp_channel_fd(channel_, &fd_);
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  cq_ = api_.mrc_create_cq(mrc, kFirstEntries, owner, channel_, 0);
  return cq_ != nullptr;
}

void PumpQueue::take_event() const {
  mrc_cq* cq;
  void* unused;
  if (api_.mrc_get_cq_event(channel_, &cq, &unused) == 0) api_.mrc_ack_cq_events(cq, 1);
}

}  // namespace mrc::shim
