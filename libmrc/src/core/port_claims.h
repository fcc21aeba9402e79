// PortClaims: what one peer says about its ports, and what EV probes prove about it. A port status update is a single
// unauthenticated packet, so the peer's word alone never takes a plane out of use for longer than a probe takes.
//
// A plane that the peer calls down is *claimed*: new data avoid it, and kProbes EV probes over it leave at once. An
// answer to any of them refutes the claim, and the plane is in use again. Without an answer within kPatience the plane
// is *down*. The probes' answers count even when they are late, so a slow peer loses its planes for no longer than its
// round trip. After a refuted claim the peer's word about that plane is ignored for a while that doubles with each
// further one, so a forger cannot keep a plane out of use by repetition. A plane that is down is asked again now and
// then, and at once when the peer calls it up: an answer is what brings it back. [MRC-PORT-1] [MRC-PORT-3..5]
//
// Sans-IO; one per peer, owned by PeerPaths; no allocation after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/invariant.h"
#include "base/time.h"

namespace mrc::core {

class PortClaims {
 public:
  static constexpr Duration kPatience = Duration::milliseconds(5);
  static constexpr uint8_t kProbes = 3;  // per claim, on different EVs: one may be lost
  static constexpr Duration kFirstHold = Duration::milliseconds(100);
  static constexpr uint8_t kMaxHoldDoublings = 6;  // 6.4 s

  // A plane that is down is asked once per `ask_interval`.
  PortClaims(size_t planes, Duration ask_interval) : planes_(planes), ask_interval_(ask_interval) {}

  // The peer's word: bit per plane, 1 = up. Planes outside of `askable` carry no probe and are not in use either; about
  // them the word is taken. False when some of it was ignored, too soon after a refuted claim: the update must not be
  // answered, so that an honest peer repeats it.
  bool on_word(Instant now, uint32_t up, uint32_t askable);

  uint32_t claimed() const { return claimed_; }  // bit per plane: called down, not proved yet
  uint32_t down() const { return down_; }        // bit per plane: called down, and no probe was answered

  // The next plane that is to be asked now; call until it returns false.
  bool take_due(Instant now, uint8_t* plane);
  // The probe that take_due() asked for could not be sent.
  void on_unsent(uint8_t plane);
  // Claims whose probes have had their time. Returns the planes that are down now and were not before.
  uint32_t expire(Instant now);
  // A probe of that plane was answered. True when that brings the plane back into use; *refuted: the claim was false.
  bool on_answer(Instant now, uint8_t plane, Instant sent_at, bool* refuted);

  Instant next_time() const;
  void check() const;

 private:
  struct Plane {
    Instant claimed_at = Instant::from_ns(INT64_MIN / 4);
    Instant hold_until = Instant::from_ns(INT64_MIN / 4);  // the peer's word is ignored until then
    Instant asked_at = Instant::from_ns(INT64_MIN / 4);    // while down
    Instant next_ask = Instant::never();                   // while down
    uint8_t to_ask = 0;                                    // probes of this claim that have not left
    uint8_t asked = 0;                                     // and that have
    uint8_t refuted = 0;                                   // claims in a row
    bool word_up = true;                                   // the peer's last word
  };
  void leave(Instant now, uint8_t plane);

  std::vector<Plane> planes_;
  Duration ask_interval_;
  uint32_t claimed_ = 0, down_ = 0;
};

}  // namespace mrc::core
