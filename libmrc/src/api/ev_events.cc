#include "api/ev_events.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include "api/context.h"
#include "api/cq.h"
#include "api/errors.h"
#include "api/inherited.h"
#include "api/limits.h"
#include "api/privilege.h"
#include "invariant.h"

namespace mrc::api {

namespace {

// Lost packets are inferred, so this device does not promise exact counts: 0 or 1. [MRC-EVT-2]
constexpr uint32_t kMaxDrops = 1;

}  // namespace

// [MRC-EVT-1]
bool EvEvents::push(const ctl::EvChange& change, uint64_t losses) noexcept {
  try {
    const MutexLock lock(mutex_);
    Key key;
    key.first = change.profile_id;
    std::memcpy(key.second.data(), &change.ev, key.second.size());
    auto [found, fresh] = waiting_.try_emplace(key);
    mrc_ctl_ev_event& event = found->second;
    if (fresh) {
      std::memset(&event, 0, sizeof event);
      event.profile_id = change.profile_id;
      event.ev = change.ev;
      try {
        order_.push_back(key);
      } catch (const std::bad_alloc&) {
        waiting_.erase(found);  // else it would stay queued for ever, and its EV would never report again
        return false;
      }
    }
    event.drop_count = static_cast<uint32_t>(std::min<uint64_t>(kMaxDrops, event.drop_count + losses));
    event.state = change.state;
    MRC_INVARIANT(order_.size() == waiting_.size());
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

int EvEvents::take(int max, void* out, size_t stride, bool with_state) {
  const MutexLock lock(mutex_);
  const size_t bytes = with_state ? sizeof(mrc_ctl_ev_event) : offsetof(mrc_ctl_ev_event, state);
  int n = 0;
  while (n < max && !order_.empty()) {
    auto found = waiting_.find(order_.front());
    order_.pop_front();
    std::memcpy(static_cast<uint8_t*>(out) + static_cast<size_t>(n) * stride, &found->second, bytes);
    waiting_.erase(found);
    ++n;
  }
  MRC_INVARIANT(order_.size() == waiting_.size());
  return n;
}

bool EvEvents::empty() {
  const MutexLock lock(mutex_);
  return order_.empty();
}

}  // namespace mrc::api

using mrc::api::null_with;

namespace {

int negative(int error) {
  errno = error;
  return -error;
}

}  // namespace

extern "C" {

mrc_cq* mrc_ctl_create_ev_event_cq(mrc_context* mrc_ctx, int cqe, void* cq_context, mrc_comp_channel* channel,
                                   int comp_vector) {
  if (mrc_ctx == nullptr) return null_with(EINVAL);
  if (!mrc::api::may_control(mrc_ctx)) return null_with(EPERM);
  return mrc::api::or_enomem<mrc_cq*>(nullptr, [&]() -> mrc_cq* {
    mrc_cq* cq = mrc_create_cq(mrc_ctx, cqe, cq_context, channel, comp_vector);
    if (cq == nullptr) return nullptr;
    try {
      cq->ev_events = std::make_unique<mrc::api::EvEvents>();
      mrc_ctx->soft().add_ev_cq(cq);
    } catch (const std::bad_alloc&) {
      mrc_destroy_cq(cq);
      return null_with(ENOMEM);
    }
    return cq;
  });
}

// [API-CTL-3]
int mrc_ctl_poll_ev_event(mrc_cq* ev_cq, int num_entries, mrc_ctl_ev_event* ev_event) {
  if (ev_cq == nullptr || ev_cq->ev_events == nullptr || num_entries < 0 || (num_entries > 0 && ev_event == nullptr))
    return negative(EINVAL);
  if (mrc::api::inherited(ev_cq)) return 0;
  const bool with_state = ev_cq->context()->api_version() >= MRC_CTL_API_VER(1, 0, 1);
  // An older caller's structure ends before the last member, which needs no padding behind it.
  const size_t stride = with_state ? sizeof(mrc_ctl_ev_event) : offsetof(mrc_ctl_ev_event, state);
  if (ev_cq->ev_events->empty()) ev_cq->context()->shards().try_progress();
  return ev_cq->ev_events->take(num_entries, ev_event, stride, with_state);
}

}  // extern "C"
