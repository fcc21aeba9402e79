// EngineContext: the objects shared by all parts of one engine. Each part gets a reference to it and to the few other
// parts that it uses; none of them has a pointer to the endpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/planes.h"
#include "base/rng.h"
#include "core/config.h"
#include "core/counters.h"
#include "core/early_payloads.h"
#include "core/ev_links.h"
#include "core/ev_names.h"
#include "core/memory.h"
#include "core/timer_heap.h"
#include "core/tracer.h"
#include "core/tx_window.h"
#include "core/types.h"

namespace mrc::core {

// This receiver's load as reported in SACKs [MRC-SACK-9].
struct ReceiverPenalty {
  uint8_t penalty = 0;  // 0..127
  bool restore_cwnd = false;
};

// The table of EVs, made once: by their names, and which of them share links.
struct EvLookup {
  explicit EvLookup(const PerEv<EvEntry>& evs) : names(evs), links(evs) {}
  const EvNames names;
  const EvLinks links;
};

// Memory that QPs return while they are idle.
struct QpPools {
  TxWindowPool windows;
  EarlyPayloadPool early_payloads;
};

// By which stores payload is placed.
struct PlacementStores {
  bool stream = false;        // bypass the caches: of the burst that was handled last
  uint64_t long_payload = 0;  // bytes placed by pieces for which that matters
};

struct EngineContext {
  EngineContext(const EndpointConfig& c, Sink* s, TraceSink* t)
      : config(c),
        evs(config.evs),
        sink(*s),
        trace(t),
        rng(c.seed),
        message_secret(Rng(~c.seed).next() | 1),
        memory(rng.next()),
        plane_counters(c.planes.size()) {}
  EngineContext(const EngineContext&) = delete;
  EngineContext& operator=(const EngineContext&) = delete;

  PlaneSet all_planes() const { return config.planes.ids(); }
  // Records an event and adds to its counter, where MRC_TRACE_EVENTS names one.
  template <typename Event>
  void report(Instant now, Qpn qpn, TraceTrigger why, const Event& e) {
    if constexpr (Event::kEvent == TraceEvent::kDrop) {
      if (const event::CounterOf counter = event::drop_counter(why)) ++(counters.*counter);
    } else if constexpr (Event::kCounter != nullptr) {
      ++(counters.*Event::kCounter);
    }
    trace(now, qpn, why, e);
  }
  bool plane_up(PlaneId plane) const { return planes_up.contains(plane); }
  // After a pause of this host, when the answers that came meanwhile are taken to have been read. Before, their absence
  // proves nothing.
  Instant caught_up() const { return ran_since + Duration::milliseconds(1); }
  // The EV of this value in a peer's packet. [MRC-CHOICE-Q2]
  std::optional<EvIndex> ev_index_of(uint32_t value) const {
    const std::optional<EvIndex> found = evs.names.find(value);
    return found ? found : evs.names.find(value >> 16 | value << 16);
  }

  EndpointConfig config;  // constant but for the addresses of planes (Endpoint::set_plane_address)
  const EvLookup evs;
  Sink& sink;
  const Tracer trace;
  Rng rng;
  const uint64_t message_secret;  // odd; prevents a sender from constructing two messages with equal hashes [MRC-SEC-1]
  MemoryTable memory;
  Counters counters;
  PerPlane<PlaneCounters> plane_counters;
  TimerHeap timers;
  QpPools pools;
  ReceiverPenalty receiver_penalty;
  PlaneSet planes_up = PlaneSet::all();  // this host's port is up
  Instant ran_since = kLongAgo;          // this host did not run immediately before
  PlacementStores placement;
};

}  // namespace mrc::core
