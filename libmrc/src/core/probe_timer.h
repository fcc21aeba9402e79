// ProbeTimer: the time of a QP's next reliability probe, and the state of outstanding ones [MRC-LOSS-2]. Sans-IO.
//
// The pause doubles with each unanswered probe in a row. If answers take longer than the pause, only the one
// to the first of the probes since an answer arrives in time to count: it is kept in addition to the latest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/rng.h"
#include "base/time.h"
#include "invariant.h"

namespace mrc::core {

class ProbeTimer {
 public:
  static constexpr Duration kMaxPause = Duration::milliseconds(32);
  static constexpr uint8_t kMaxBackoff = 16;

  struct Probe {
    uint16_t id = 0;
    EvIndex ev;
    Instant sent_at;
    uint64_t una = 0;  // first packet that was not acknowledged then: its answer acknowledges at least those before
  };
  struct Answer {
    Probe probe;
    bool late = false;           // to the first probe since an answer, after others have been sent
    bool after_silence = false;  // to the last of several
  };

  Instant deadline() const { return deadline_; }
  void cancel() { deadline_ = Instant::never(); }
  // `usual`: a time within which an answer is to be expected.
  void arm(Instant now, Duration floor, Duration usual) {
    Duration wait = std::max(floor, usual);
    for (uint8_t i = 0; i < backoff_ && wait < kMaxPause; ++i) wait = wait * 2;
    deadline_ = now + std::min(wait, std::max(kMaxPause, usual * 2));
  }
  // A probe is due, whether or not it can be sent.
  void on_due() {
    if (backoff_ < kMaxBackoff) ++backoff_;
  }
  // The oldest packet has arrived.
  void on_progress() { backoff_ = 0; }
  uint8_t backoff() const { return backoff_; }

  // The id of the next probe: unpredictable without `secret`, and none that is outstanding [MRC-SEC-15].
  uint16_t draw_id(uint64_t secret) {
    for (;;) {
      const auto id = static_cast<uint16_t>(Rng(secret + ++drawn_).next());
      if (id != latest_.id && id != first_.id) return id;
    }
  }
  void on_sent(Instant now, uint16_t id, EvIndex ev, uint64_t una) {
    latest_ = {id, ev, now, una};
    if (!outstanding_) first_ = latest_;
    outstanding_ = true;
  }
  // An answer with this id would count.
  bool expects(uint16_t id) const { return outstanding_ && (id == latest_.id || id == first_.id); }
  bool outstanding() const { return outstanding_; }
  const Probe& latest() const { return latest_; }
  // True if the latest probe has been unanswered for this time.
  bool unanswered_for(Instant now, Duration time) const { return outstanding_ && latest_.sent_at + time <= now; }

  // The probe that an answer with this id is to, if it counts.
  std::optional<Answer> on_answer(uint16_t id) {
    if (!outstanding_) return std::nullopt;
    if (id == latest_.id) {
      outstanding_ = false;
      return Answer{latest_, false, first_.id != latest_.id};
    }
    if (id != first_.id) return std::nullopt;
    const Answer late{first_, true};
    first_ = latest_;
    return late;
  }

  // A new connection; ids go on.
  void reset() {
    backoff_ = 0;
    outstanding_ = false;
    cancel();
  }
  void check() const {
    MRC_INVARIANT(backoff_ <= kMaxBackoff);
    MRC_INVARIANT(!outstanding_ || first_.sent_at <= latest_.sent_at);
  }

 private:
  Instant deadline_ = Instant::never();
  Probe latest_, first_;
  uint64_t drawn_ = 0;  // ids
  uint8_t backoff_ = 0;
  bool outstanding_ = false;
};

}  // namespace mrc::core
