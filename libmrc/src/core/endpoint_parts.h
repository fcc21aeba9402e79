// Endpoint::Parts: the objects of an endpoint, in the order of their construction. The parts have references to those
// of the others that they use; the endpoint only drives them.
#pragma once

#include "core/control_queue.h"
#include "core/datagram_table.h"
#include "core/endpoint.h"
#include "core/engine_context.h"
#include "core/path_prober.h"
#include "core/peer_table.h"
#include "core/plane_discovery.h"
#include "core/qp_table.h"
#include "core/rx_dispatcher.h"
#include "core/tombstones.h"
#include "core/tx_scheduler.h"
#include "invariant.h"

namespace mrc::core {

struct Endpoint::Parts {
  Parts(const EndpointConfig& config, Sink* sink, TraceSink* trace) : engine(config, sink, trace) {
    peers.set_observer(&prober);
    scheduler.set_datagrams(&datagrams);
  }
  // QPs use all the parts, and release their peers, of which the prober is notified.
  ~Parts() {
    peers.set_observer(nullptr);
    qps.clear();
  }

  // The invariants of all parts; those whose cost grows with the number of QPs are checked less often.
  void check() {
    control.check();
    peers.check();
    prober.check();
    discovery.check();
    datagrams.check();
    if (!pace.due(uint64_t{qps.count()} * (1 + peers.count()), 4)) return;
    qps.check();
    scheduler.check();
    tombstones.check();
    engine.timers.check();
    engine.pools.windows.check();
    engine.memory.check();
  }

  EngineContext engine;
  ControlQueue control{&engine};
  TxScheduler scheduler{&engine, &control};
  PeerTable peers{&engine};
  Tombstones tombstones{&engine, &peers, &control};
  QpTable qps{&engine, &peers, &tombstones};
  PathProber prober{&engine, &peers, &qps, &control};
  PlaneDiscovery discovery{&engine, &peers, &qps, &control};
  DatagramTable datagrams{&engine, &peers, &discovery};
  RxDispatcher rx{&engine, &qps, &peers, &tombstones, &prober, &discovery, &datagrams};
  const QpServices services{engine, control, scheduler, prober};
  InvariantPace pace;
};

}  // namespace mrc::core
