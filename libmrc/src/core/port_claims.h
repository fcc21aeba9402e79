// PortClaims: one peer's reports about its ports, and their verification by EV probes. A port status update is a single
// unauthenticated packet, so a report alone never retires a plane for longer than the duration of a probe.
//
// A plane that the peer reports down is *claimed*: new data avoid it, and kProbes EV probes over it are sent at once.
// An answer to any of them refutes the claim, and the plane is in use again. Without an answer within kProbeTimeout the
// plane is *down*. The probes' answers count even when they are late, so a slow peer loses its planes for no longer
// than its round trip. After a refuted claim the peer's reports about that plane are ignored for a time that doubles
// with each further one, so a forger cannot keep a plane out of use by repetition. A plane that is down is probed
// periodically, and at once when the peer reports it up: only an answer restores it. [MRC-PORT-1] [MRC-PORT-3..5]
//
// Sans-IO; one per peer, owned by PeerPaths; no allocation after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/planes.h"
#include "base/time.h"
#include "invariant.h"

namespace mrc::core {

class PortClaims {
 public:
  static constexpr Duration kProbeTimeout = Duration::milliseconds(5);
  static constexpr uint8_t kProbes = 3;  // per claim, on different EVs: one may be lost
  static constexpr Duration kFirstHold = Duration::milliseconds(100);
  static constexpr uint8_t kMaxHoldDoublings = 6;  // 6.4 s

  // A plane that is down is probed once per `probe_interval`.
  PortClaims(size_t planes, Duration probe_interval) : planes_(planes), probe_interval_(probe_interval) {}

  // The peer's report: the planes that are up. Planes outside of `probeable` carry no probe and are not in use either;
  // for them the report is accepted. False when some of it was ignored, too soon after a refuted claim: the update must
  // not be answered, so that an honest peer repeats it.
  bool on_report(Instant now, PlaneSet up, PlaneSet probeable);

  PlaneSet claimed() const { return claimed_; }  // reported down, not proved yet
  PlaneSet down() const { return down_; }        // reported down, and no probe was answered

  // The next plane to probe now; call until it returns none.
  std::optional<PlaneId> take_due(Instant now);
  // The probe requested by take_due() could not be sent.
  void on_unsent(PlaneId plane);
  // Claims whose probes have timed out. Returns the planes that are down now and were not before.
  PlaneSet expire(Instant now);
  // What an answered probe proves: nothing; that the plane works again; that the peer's report was false.
  enum class Proof : uint8_t { kNone, kRestored, kRefuted };
  // A probe of that plane was answered. Restored and refuted planes are neither claimed() nor down() any more.
  Proof on_answer(Instant now, PlaneId plane, Instant sent_at);

  Instant next_time() const;
  void check() const;

 private:
  struct Plane {
    Instant claimed_at = kLongAgo;
    Instant hold_until = kLongAgo;          // the peer's reports are ignored until then
    Instant probed_at = kLongAgo;           // while down
    Instant next_probe = Instant::never();  // while down
    uint8_t probes_left = 0;                // unsent probes of this claim
    uint8_t probes_sent = 0;                // sent ones
    uint8_t refuted = 0;                    // claims in a row
    bool reported_up = true;                // the peer's last report
  };
  void leave(Instant now, PlaneId plane);

  PerPlane<Plane> planes_;
  Duration probe_interval_;
  PlaneSet claimed_, down_;
};

}  // namespace mrc::core
