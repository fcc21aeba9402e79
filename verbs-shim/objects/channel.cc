// Completion channels. A thread in ibv_get_cq_event sleeps on the channel's descriptor, on that of the MRC completion
// queue and, in mrc_soft_wait, on the device's, and pumps: one wake-up from the packet to the application.
#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <cstring>

#include "interruption.h"
#include "objects/completion_queue.h"

namespace mrc::shim {

Channel::Channel(Context* context) : context_(context) {
  std::memset(static_cast<void*>(&handle_), 0, sizeof handle_);
  handle_.self = this;
  handle_.base.context = context->verbs();
  handle_.base.fd = events.fd();
  context_->count_child(1);
}

Channel::~Channel() {
  context_->count_child(-1);
}

Cq* Channel::take() {
  return events.take([](Cq* of) { return &of->channel_events; }).value_or(nullptr);
}

int Channel::get(Cq** cq) {
  if ((*cq = take()) != nullptr) return 0;
  const int flags = fcntl(events.fd(), F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) != 0) {
    context_->poll();
    return (*cq = take()) != nullptr ? 0 : EAGAIN;
  }
  struct Sleeper {
    explicit Sleeper(Context* c) : context(c) { context->begin_wait(); }
    ~Sleeper() { context->end_wait(); }
    Context* const context;
  } sleeper(context_);
  for (;;) {
    context_->pump_queue().request_event();
    context_->pump();
    if ((*cq = take()) != nullptr) return 0;
    pollfd wait[2] = {{events.fd(), POLLIN, 0}, {context_->pump_queue().fd(), POLLIN, 0}};
    // Another thread may take the event that this one waits for, so it checks again periodically.
    constexpr timespec kRecheck = {0, 20'000'000};
    // Where the thread can be cancelled. Of armed CQs of the device only the pump's is waited for here.
    if (context_->api().mrc_soft_wait(context_->mrc(), wait, 2, &kRecheck, 1) < 0) {
      if (environment::ends_wait(errno)) return errno;
      continue;
    }
    context_->pump_queue().take_event();
  }
}

}  // namespace mrc::shim
