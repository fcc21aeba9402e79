#include "api/cq.h"

#include <vector>

#include "api/channel.h"
#include "api/context.h"
#include "api/errors.h"
#include "api/inherited.h"
#include "api/limits.h"
#include "invariant.h"

using mrc::api::errno_value;
using mrc::api::minus_one;
using mrc::api::null_with;

mrc_cq::mrc_cq(mrc_context* context, int cqe, void* cq_context, mrc_comp_channel* channel)
    : context_(context),
      cq_context_(cq_context),
      channel_(channel),
      shards_(context->shards().size()),
      cqe_(cqe),
      more_(shards_ > 1 ? new mrc::api::CompletionRing[shards_ - 1] : nullptr) {
  ring_.open(cqe);
  context_->add_child();
  if (channel_ != nullptr) channel_->attach();
}

mrc_cq::~mrc_cq() {
  if (channel_ != nullptr) channel_->detach();
  context_->remove_child();
}

bool mrc_cq::in_use() {
  for (uint32_t shard = 0; shard < shards_; ++shard)
    if (ring(shard).users.load() > 0) return true;
  return false;
}

bool mrc_cq::push(uint32_t shard, const ibv_wc& wc, mrc::SendSlots* owner, uint32_t slots, bool solicited) {
  if (!ring(shard).push(wc, owner, slots)) return false;
  if (armed()) fire(solicited || wc.status != IBV_WC_SUCCESS);
  return true;
}

bool mrc_cq::push_or_overrun(uint32_t shard, const ibv_wc& wc, mrc::SendSlots* owner, uint32_t slots, bool solicited) {
  if (push(shard, wc, owner, slots, solicited)) return true;
  if (overrun_.exchange(true)) return false;
  mrc_async_event event{};
  event.element.cq = this;
  event.event_type = IBV_EVENT_CQ_ERR;
  context_->async.raise(event);
  return false;
}

// A helper counts the queue before it is armed and until it is not, so that its count is never wrong for a moment.
void mrc_cq::note_armed(uint32_t shard) {
  if ((noted_ >> shard & 1) != 0) return;
  context_->shards()[shard].count_armed(1);
  if (shard == 0 && channel_ != nullptr) channel_->armed.fetch_add(1);
  noted_ |= uint64_t{1} << shard;
}

void mrc_cq::note_disarmed(uint32_t shard) {
  if ((noted_ >> shard & 1) == 0) return;
  noted_ &= ~(uint64_t{1} << shard);
  if (shard == 0 && channel_ != nullptr) channel_->armed.fetch_sub(1);
  context_->shards()[shard].count_armed(-1);
}

void mrc_cq::attach(uint32_t shard) {
  const mrc::MutexLock lock(arm_mutex_);
  ring(shard).users.fetch_add(1);
  if (armed()) note_armed(shard);
  check();
}

void mrc_cq::detach(uint32_t shard) {
  const mrc::MutexLock lock(arm_mutex_);
  if (ring(shard).users.fetch_sub(1) == 1) note_disarmed(shard);
  check();
}

// One event for one arming, whichever shard comes first. [API-CQ-3] [MRC-EVT-3]
void mrc_cq::fire(bool solicited) {
  {
    const mrc::MutexLock lock(arm_mutex_);
    const Arm armed = arm_.load(std::memory_order_relaxed);
    if (armed == Arm::kNot || (armed == Arm::kSolicited && !solicited)) return;
    arm_.store(Arm::kNot);
    for (uint32_t shard = 0; shard < shards_; ++shard) note_disarmed(shard);
    check();
  }
  channel_->raise(this);
}

// The shards in turn, so that a busy one does not keep the completions of another one waiting.
int mrc_cq::take(int max, ibv_wc* out) {
  if (shards_ == 1) return ring_.take(max, out);
  const uint32_t begin = turn_.fetch_add(1, std::memory_order_relaxed);
  int n = 0;
  for (uint32_t i = 0; i < shards_ && n < max; ++i) n += ring((begin + i) % shards_).take(max - n, out + n);
  return n;
}

void mrc_cq::progress() {
  if (shards_ == 1) {
    context_->device().try_progress();
    return;
  }
  bool any = false;
  for (uint32_t shard = 0; shard < shards_; ++shard) {
    if (ring(shard).users.load(std::memory_order_relaxed) == 0) continue;
    any = true;
    context_->shards()[shard].try_progress();
  }
  if (!any) context_->device().try_progress();
}

void mrc_cq::prepare(uint32_t shard) {
  const mrc::MutexLock lock(size_mutex_);
  ring(shard).open(cqe_);
}

// The mutexes of several rings, which only this function takes together. Not analysed, as their number is not known.
class mrc_cq::AllRings {
 public:
  explicit AllRings(const std::vector<mrc::api::CompletionRing*>& rings) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : rings_(rings) {
    for (mrc::api::CompletionRing* ring : rings_) ring->lock();
  }
  ~AllRings() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (mrc::api::CompletionRing* ring : rings_) ring->unlock();
  }
  AllRings(const AllRings&) = delete;
  AllRings& operator=(const AllRings&) = delete;

  bool fit(const std::vector<mrc::api::CompletionRing::Room>& rooms) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (size_t i = 0; i < rings_.size(); ++i)
      if (!rings_[i]->fits(rooms[i])) return false;
    return true;
  }
  void move_to(std::vector<mrc::api::CompletionRing::Room>* rooms) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (size_t i = 0; i < rings_.size(); ++i) rings_[i]->move_to(&(*rooms)[i]);
  }

 private:
  const std::vector<mrc::api::CompletionRing*>& rings_;
};

int mrc_cq::resize(int cqe) {
  const mrc::MutexLock lock(size_mutex_);
  std::vector<mrc::api::CompletionRing*> rings;
  std::vector<mrc::api::CompletionRing::Room> rooms;
  for (uint32_t shard = 0; shard < shards_; ++shard) {
    if (!ring(shard).is_open()) continue;
    rings.push_back(&ring(shard));
    rooms.emplace_back(cqe);
  }
  AllRings all(rings);
  if (!all.fit(rooms)) return EINVAL;
  all.move_to(&rooms);
  cqe_ = cqe;
  return 0;
}

// A completion that is not in a ring yet when this returns finds the queue armed. [API-CQ-3] EVs change in every shard;
// completions come from those with QPs.
void mrc_cq::arm(bool solicited_only) {
  {
    const mrc::MutexLock lock(arm_mutex_);
    for (uint32_t shard = 0; shard < shards_; ++shard)
      if (ev_events != nullptr || ring(shard).users.load() > 0) note_armed(shard);
    // A request for any completion is not weakened by a later one for solicited completions.
    if (!solicited_only || !armed()) arm_.store(solicited_only ? Arm::kSolicited : Arm::kAny);
    check();
  }
  for (uint32_t shard = 0; shard < shards_; ++shard) ring(shard).await_pushes();
}

void mrc_cq::disarm() {
  const mrc::MutexLock lock(arm_mutex_);
  arm_.store(Arm::kNot);
  for (uint32_t shard = 0; shard < shards_; ++shard) note_disarmed(shard);
  check();
}

// The helpers that count the queue are those of the shards that may complete into it, for as long as it is armed.
void mrc_cq::check() {
  if constexpr (!mrc::kCheckInvariants) return;
  MRC_INVARIANT(!armed() || channel_ != nullptr);
  for (uint32_t shard = 0; shard < shards_; ++shard) {
    const int users = ring(shard).users.load();
    MRC_INVARIANT(users >= 0);
    MRC_INVARIANT(((noted_ >> shard & 1) != 0) == (armed() && (users > 0 || ev_events != nullptr)));
  }
}

extern "C" {

mrc_cq* mrc_create_cq(mrc_context* mrc_ctx, int cqe, void* cq_context, mrc_comp_channel* channel, int comp_vector) {
  if (mrc_ctx == nullptr || cqe < 1 || cqe > mrc::api::kMaxCqe || comp_vector < 0 ||
      comp_vector >= mrc::api::kCompVectors || (channel != nullptr && channel->context() != mrc_ctx))
    return null_with(EINVAL);
  if (mrc::api::inherited(mrc_ctx)) return null_with(EPERM);
  return mrc::api::or_enomem<mrc_cq*>(nullptr, [&] { return new mrc_cq(mrc_ctx, cqe, cq_context, channel); });
}

int mrc_soft_resize_cq(mrc_cq* cq, int cqe) {
  if (cq == nullptr || cqe < 1 || cqe > mrc::api::kMaxCqe || cq->ev_events != nullptr) return errno_value(EINVAL);
  if (mrc::api::inherited(cq)) return errno_value(EPERM);
  return mrc::api::or_enomem<int>(ENOMEM, [&] {
    const int error = cq->resize(cqe);
    return error == 0 ? 0 : errno_value(error);
  });
}

int mrc_poll_cq(mrc_cq* cq, int num_entries, ibv_wc* wc) {
  if (cq == nullptr || num_entries < 0 || (num_entries > 0 && wc == nullptr) || cq->ev_events != nullptr)
    return minus_one(EINVAL);
  if (mrc::api::inherited(cq)) return 0;
  const int n = cq->take(num_entries, wc);
  if (n > 0 || num_entries == 0) return n;
  cq->progress();
  return cq->take(num_entries, wc);
}

int mrc_req_notify_cq(mrc_cq* cq, int solicited_only) {
  if (cq == nullptr || cq->channel() == nullptr) return errno_value(EINVAL);
  if (mrc::api::inherited(cq)) return errno_value(EPERM);
  cq->arm(solicited_only != 0);
  return 0;
}

int mrc_destroy_cq(mrc_cq* cq) {
  if (cq == nullptr) return errno_value(EINVAL);
  if (mrc::api::inherited(cq)) return 0;
  if (cq->in_use()) return errno_value(EBUSY);
  if (cq->ev_events != nullptr) cq->context()->soft().remove_ev_cq(cq);
  cq->disarm();
  cq->context()->forget_events(cq);
  if (cq->channel() != nullptr) cq->channel()->forget(cq);
  delete cq;
  return 0;
}

}  // extern "C"
