#include "device/progress.h"

#include <algorithm>
#include <cstdint>

#include "base/prefetch.h"
#include "cycles.h"
#include "invariant.h"

namespace mrc::device {

namespace {

// Data mostly begins where a page does. A copy to nearly the same place of another page takes 10 to 15 % longer: a load
// is held up by stores just before it whose addresses end with the same 12 bits.
constexpr uintptr_t kPage = 4096;
uint8_t* middle_of_page(uint8_t* memory) {
  return memory + (kPage / 2 - reinterpret_cast<uintptr_t>(memory)) % kPage;
}

}  // namespace

Progress::Progress(Engine* engine, Helper* helper, const Clock& clock)
    : engine_(*engine),
      clock_(clock),
      sleep_(helper),
      staging_memory_(std::make_unique<uint8_t[]>(core::kMaxBurstBytes + core::kHeaderRoom + kPage)),
      staging_(middle_of_page(staging_memory_.get())) {
  tx_.always_staged = true;  // drivers and the kernel read no memory that may be gone [API-MEM-2]
}

int Progress::receive(Instant* now) {
  int n = 0;
  attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    n = engine_.datapath->rx_burst(*now, rx_.data(), batch(kRxBatch));
    while (const uint32_t pipe = engine_.datapath->take_ended_pipe()) engine_.endpoint->on_pipe_ended(pipe);
  });
  if (n == 0) return 0;
  *now = clock_.now();
  last_rx_ = *now;
  for (int i = 0; i < n; ++i) {
    if (i + 1 < n) prefetch(rx_[i + 1].data, rx_[i + 1].segment_size);
    attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { handle(*now, &rx_[i]); });
  }
  return n;
}

void Progress::handle(Instant now, core::RxBurst* burst) {
  core::Endpoint& endpoint = *engine_.endpoint;
  const bool is_long = burst->bytes >= StoreChoice::kWorthTiming;
  burst->stream = is_long && stores_.stream();
  if (!is_long || burst->stream) {
    endpoint.handle_rx(now, *burst);
    return;
  }
  const uint64_t before = endpoint.long_payload(), begin = environment::cycles();
  endpoint.handle_rx(now, *burst);
  const uint64_t placed = endpoint.long_payload() - before;
  if (placed >= StoreChoice::kWorthTiming) stores_.note(placed, environment::cycles() - begin);
}

int Progress::send(int max, Instant* now) {
  int sent = 0;
  more_to_send_ = true;
  if (*now < not_before_) return sent;
  attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    if (!held_.planes().empty()) held_.offer(*now, engine_.datapath.get());
    while (sent < max) {
      const PlaneSet room = engine_.datapath->planes_with_room() - held_.planes();
      uint8_t* const best = engine_.datapath->staging();
      tx_.staging = best != nullptr ? best : staging_;
      if (room.empty() || !engine_.endpoint->poll_tx(*now, &tx_, room)) {
        more_to_send_ = false;
        break;
      }
      if (engine_.datapath->tx_one(*now, tx_))
        ++sent;
      else
        held_.hold(tx_);
      *now = clock_.now();
      if (const auto refused = engine_.datapath->take_too_long())
        engine_.endpoint->on_packet_too_long(*now, refused->plane, refused->to);
    }
    engine_.datapath->flush();
  });
  return sent;
}

// Runs timers only once the sockets are drained: the awaited ACK may be queued. A flood cannot stop them, and the time
// in which this process did not run does not count: what arrived meanwhile is queued.
void Progress::run_timers(Instant now, bool drained) {
  if (now < not_before_) return;
  attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    const Instant due = engine_.endpoint->next_timeout();
    if (due <= now && (drained || now - std::max(due, engine_.endpoint->ran_since()) > kMaxTimerDelay))
      engine_.endpoint->handle_timeout(now);
    if (engine_.datapath->next_timeout() <= now) engine_.datapath->tx_burst(now, nullptr, 0);
  });
}

// Finds the ends of pauses that this process did not choose: between calls, of which the helper's sleep until its time
// is no part, and within one.
void Progress::note_time(Instant now, Instant slept_until) {
  if (now - std::max(moved_until_, slept_until) > kMaxTimerDelay) engine_.endpoint->on_resumed(now);
  moved_until_ = now;
}

// What follows a call's work: the sleeping thread wakes in time.
void Progress::finish(Instant now) {
  if (sleep_.asleep()) sleep_.advance(now, deadline());
  moved_until_ = now;
  check();
}

void Progress::check() const {
  if constexpr (!kCheckInvariants) return;
  held_.check();
  sleep_.check();
  stores_.check();
  MRC_INVARIANT(last_rx_ <= moved_until_);
}

int Progress::transmit(Instant now) {
  if (ended_) return 0;
  note_time(now, sleep_.end());
  const int sent = send(batch(kTxAtPost), &now);
  finish(now);
  return sent;
}

int Progress::receive_and_send(Instant now) {
  if (ended_) return 0;
  int moved = 0;
  note_time(now, sleep_.end());
  const int tx_batch = batch(kTxBatch);
  for (int round = 0; round < kRounds; ++round) {
    const int received = receive(&now);
    if (received > 0) now = clock_.now();
    note_time(now, moved_until_);
    run_timers(now, received == 0);
    const int sent = send(tx_batch, &now);
    moved += received + sent;
    // Few bursts moved: the caller may have its completion, so another poll of empty sockets would only delay it. But
    // timers that are due wait for that poll.
    if (received <= 1 && sent < tx_batch && (received == 0 || engine_.endpoint->next_timeout() > now)) break;
  }
  finish(now);
  return moved;
}

Instant Progress::deadline() const {
  if (more_to_send_) return std::max(Instant::from_ns(0), not_before_);
  return std::max(std::min(engine_.endpoint->next_timeout(), engine_.datapath->next_timeout()), not_before_);
}

}  // namespace mrc::device
