#include "api/async.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "api/context.h"
#include "api/cq.h"
#include "api/errors.h"
#include "api/event_token.h"
#include "api/inherited.h"
#include "api/qp.h"
#include "interruption.h"
#include "uncancelled.h"

namespace mrc::api {

const void* element_of(const mrc_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      return event.element.cq;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_DEVICE_FATAL:
      return nullptr;
    default:
      return event.element.qp;
  }
}

// [API-ASY-1]
int AsyncQueue::open(int shared_fd) {
  shared_fd_ = shared_fd;
  fd_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE | EFD_NONBLOCK));
  return fd_ ? 0 : errno;
}

AsyncQueue::~AsyncQueue() {
  for (size_t i = 0; i < queue_.size(); ++i) take_tokens();
}

void AsyncQueue::raise(const mrc_async_event& event) noexcept {
  const MutexLock lock(mutex_);
  const void* element = element_of(event);
  if (element == nullptr && queue_.size() >= kMaxQueued) return;
  try {
    if (element != nullptr) unacked_.try_emplace(element, 0);
    queue_.push_back(event);
  } catch (const std::bad_alloc&) {
    return;
  }
  eventfd_write(fd_.get(), 1);
  eventfd_write(shared_fd_, 1);
}

// One event leaves the queue. The application may read the shared descriptor, so its count may be gone already.
void AsyncQueue::take_tokens() {
  take_event_token(fd_.get());
  take_event_token(shared_fd_);
}

std::optional<mrc_async_event> AsyncQueue::pop() {
  const MutexLock lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  const mrc_async_event event = queue_.front();
  queue_.pop_front();
  take_tokens();
  if (const void* element = element_of(event)) ++unacked_[element];
  return event;
}

int AsyncQueue::get(mrc_async_event* event) {
  for (;;) {
    if (const std::optional<mrc_async_event> popped = pop()) {
      *event = *popped;
      return 0;
    }
    const int flags = fcntl(shared_fd_, F_GETFL);
    if (flags >= 0 && (flags & O_NONBLOCK) != 0) return EAGAIN;
    pollfd wait = {fd_.get(), POLLIN, 0};
    if (ppoll(&wait, 1, nullptr, nullptr) < 0 && mrc::environment::ends_wait(errno)) return errno;
  }
}

void AsyncQueue::ack(const mrc_async_event& event) {
  const void* element = element_of(event);
  if (element == nullptr) return;
  const MutexLock lock(mutex_);
  auto it = unacked_.find(element);
  if (it == unacked_.end() || it->second == 0) return;
  --it->second;
  acked_.notify_all();
}

// [API-ASY-2]
void AsyncQueue::forget(const void* element) {
  const environment::Uncancelled now;
  const MutexLock lock(mutex_);
  auto it = unacked_.find(element);
  if (it == unacked_.end()) return;
  const size_t before = queue_.size();
  queue_.erase(
      std::remove_if(queue_.begin(), queue_.end(), [&](const mrc_async_event& e) { return element_of(e) == element; }),
      queue_.end());
  for (size_t i = queue_.size(); i < before; ++i) take_tokens();
  // Looked up again each time: other elements may be added and removed while this one waits.
  while ((it = unacked_.find(element)) != unacked_.end() && it->second != 0) acked_.wait(mutex_);
  unacked_.erase(element);
}

}  // namespace mrc::api

using mrc::api::minus_one;

extern "C" {

int mrc_get_async_event(mrc_context* mrc_ctx, mrc_async_event* event) {
  if (mrc_ctx == nullptr || event == nullptr) return minus_one(EINVAL);
  const int error = mrc::api::inherited(mrc_ctx) ? EPERM : mrc_ctx->async.get(event);
  return error == 0 ? 0 : minus_one(error);
}

void mrc_ack_async_event(mrc_async_event* event) {
  if (event == nullptr) return;
  // The context is reachable only through the object; port events need no acknowledgement.
  if (mrc::api::element_of(*event) == nullptr) return;
  mrc_context* context =
      event->event_type == IBV_EVENT_CQ_ERR ? event->element.cq->context() : event->element.qp->context();
  if (!mrc::api::inherited(context)) context->async.ack(*event);
}

}  // extern "C"
