#include "api/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/context.h"
#include "api/cq.h"
#include "api/errors.h"
#include "api/event_token.h"
#include "api/inherited.h"
#include "interruption.h"
#include "invariant.h"
#include "uncancelled.h"

using mrc::api::errno_value;
using mrc::api::minus_one;

int mrc_comp_channel::open(mrc_context* owner) {
  context_ = owner;
  fd_ = mrc::Fd(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
  return fd_ ? 0 : errno;
}

void mrc_comp_channel::change_users(int by) {
  const mrc::MutexLock lock(mutex_);
  users_ += by;
  check();
}

bool mrc_comp_channel::in_use() {
  const mrc::MutexLock lock(mutex_);
  return users_ > 0;
}

void mrc_comp_channel::raise(mrc_cq* cq) {
  const mrc::MutexLock lock(mutex_);
  mrc::api::EventState& e = cq->events;
  if (e.waiting++ == 0) {
    e.next = nullptr;
    (tail_ != nullptr ? tail_->events.next : head_) = cq;
    tail_ = cq;
  }
  check();
  eventfd_write(fd_.get(), 1);
}

// Null: no event waits.
mrc_cq* mrc_comp_channel::pop() {
  const mrc::MutexLock lock(mutex_);
  if (head_ == nullptr) return nullptr;
  mrc::api::take_event_token(fd_.get());
  mrc_cq* const cq = head_;
  mrc::api::EventState& e = head_->events;
  ++e.handed_out;
  if (--e.waiting == 0) {
    head_ = e.next;
    if (head_ == nullptr) tail_ = nullptr;
  }
  check();
  return cq;
}

int mrc_comp_channel::get(mrc_cq** cq) {
  for (;;) {
    if (mrc_cq* const popped = pop()) {
      *cq = popped;
      return 0;
    }
    const int flags = fcntl(fd_.get(), F_GETFL);
    if (flags >= 0 && (flags & O_NONBLOCK) != 0) return EAGAIN;
    pollfd wait = {fd_.get(), POLLIN, 0};
    if (context_->wait(&wait, 1, nullptr, armed.load()) < 0 && mrc::environment::ends_wait(errno)) return errno;
  }
}

void mrc_comp_channel::ack(mrc_cq* cq, unsigned int n) {
  const mrc::MutexLock lock(mutex_);
  cq->events.acked += n;
  acked_.notify_all();
}

// [API-CQ-4]
void mrc_comp_channel::forget(mrc_cq* cq) {
  const mrc::environment::Uncancelled now;
  const mrc::MutexLock lock(mutex_);
  mrc::api::EventState& e = cq->events;
  if (e.waiting > 0) {
    mrc_cq** link = &head_;
    mrc_cq* previous = nullptr;
    while (*link != cq) {
      previous = *link;
      link = &(*link)->events.next;
    }
    *link = e.next;
    if (tail_ == cq) tail_ = previous;
    for (; e.waiting > 0; --e.waiting) mrc::api::take_event_token(fd_.get());
  }
  check();
  while (e.acked < e.handed_out) acked_.wait(mutex_);
}

// CQs with waiting events are listed, and no others.
void mrc_comp_channel::check() const {
  MRC_INVARIANT(users_ >= 0 && (head_ == nullptr) == (tail_ == nullptr));
  MRC_INVARIANT(head_ == nullptr || (head_->events.waiting > 0 && tail_->events.waiting > 0));
  MRC_INVARIANT(tail_ == nullptr || tail_->events.next == nullptr);
}

extern "C" {

int mrc_create_comp_channel(mrc_context* mrc_ctx, mrc_comp_channel** channel) {
  if (mrc_ctx == nullptr || channel == nullptr) return errno_value(EINVAL);
  if (mrc::api::inherited(mrc_ctx)) return errno_value(EPERM);
  auto* made = new (std::nothrow) mrc_comp_channel;
  if (made == nullptr) return errno_value(ENOMEM);
  if (const int error = made->open(mrc_ctx)) {
    delete made;
    return errno_value(error);
  }
  mrc_ctx->add_child();
  *channel = made;
  return 0;
}

int mrc_get_comp_channel_fd(mrc_comp_channel* channel, int* fd) {
  if (channel == nullptr || fd == nullptr) return minus_one(EINVAL);
  *fd = channel->fd();
  return 0;
}

int mrc_destroy_comp_channel(mrc_comp_channel* channel) {
  if (channel == nullptr) return errno_value(EINVAL);
  if (mrc::api::inherited(channel->context())) return 0;
  if (channel->in_use()) return errno_value(EBUSY);
  channel->context()->remove_child();
  delete channel;
  return 0;
}

int mrc_get_cq_event(mrc_comp_channel* channel, mrc_cq** cq, void** cq_context) {
  if (channel == nullptr || cq == nullptr || cq_context == nullptr) return minus_one(EINVAL);
  const int error = mrc::api::inherited(channel->context()) ? EPERM : channel->get(cq);
  if (error != 0) return minus_one(error);
  *cq_context = (*cq)->cq_context();
  return 0;
}

void mrc_ack_cq_events(mrc_cq* cq, unsigned int nevents) {
  if (cq != nullptr && cq->channel() != nullptr && nevents > 0 && !mrc::api::inherited(cq))
    cq->channel()->ack(cq, nevents);
}

}  // extern "C"
