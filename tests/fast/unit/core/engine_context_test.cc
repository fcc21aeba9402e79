// EngineContext::report: what is counted and what is recorded.
#include "core/engine_context.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc::core {
namespace {

struct Nothing final : Sink, QpSink {
  bool on_completion(const Completion&) override { return true; }
  void on_event(AsyncEvent) override {}
  void on_port_event(PlaneId, AsyncEvent) override {}
  void on_endpoint_response(uint16_t, PlaneId, Duration) override {}
};
struct Recorder final : TraceSink {
  void on_trace(const TraceEntry& e) override { seen.push_back(e); }
  std::vector<TraceEntry> seen;
};

TEST(EngineContext, reported_events_add_to_their_counter) {
  Nothing sink;
  Recorder recorder;
  EngineContext engine(EndpointConfig(), &sink, &recorder);
  engine.report(Instant::from_ns(7), Qpn(9), TraceTrigger::kNone, event::TxAck{.psn = Psn(5)});
  engine.report(Instant(), Qpn(9), TraceTrigger::kNone, event::RxAck{});  // counted where it is received
  EXPECT_EQ(engine.counters.tx_acks, 1u);
  EXPECT_EQ(engine.counters.rx_acks, 0u);
  ASSERT_EQ(recorder.seen.size(), 2u);
  EXPECT_EQ(recorder.seen[0],
            TraceEntry::of(Instant::from_ns(7), Qpn(9), TraceTrigger::kNone, event::TxAck{.psn = Psn(5)}));
}

TEST(EngineContext, dropped_packets_are_counted_by_their_reason) {
  Nothing sink;
  EngineContext engine(EndpointConfig(), &sink, nullptr);
  for (const TraceTrigger why :
       {TraceTrigger::kUndecodable, TraceTrigger::kIcrc, TraceTrigger::kSourcePort, TraceTrigger::kOutside,
        TraceTrigger::kRefused, TraceTrigger::kMisfit, TraceTrigger::kContradicted})
    engine.report(Instant(), Qpn(0), why, event::Drop{});
  const Counters& c = engine.counters;
  for (const uint64_t n :
       {c.drop_decode, c.drop_icrc, c.drop_source_port, c.drop_window, c.drop_access, c.drop_misfit, c.contradictions})
    EXPECT_EQ(n, 1u);
}

}  // namespace
}  // namespace mrc::core
