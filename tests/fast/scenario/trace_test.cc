// Causes of the engine's decisions: each decision in the trace names its trigger, and the trigger is the true one.
#include <map>
#include <optional>

#include "scenario/pair.h"

namespace mrc::scenario {
namespace {

using Count = std::map<std::pair<TraceEvent, TraceTrigger>, int>;

struct Traced {
  std::vector<TraceRecord> all;
  Count sender;  // of node 0
  int of(TraceEvent e, TraceTrigger t) const {
    const auto found = sender.find({e, t});
    return found == sender.end() ? 0 : found->second;
  }
  int any(TraceEvent e) const {
    int n = 0;
    for (const auto& [key, count] : sender) n += key.first == e ? count : 0;
    return n;
  }
};

// 40 writes of 60 kB under what `change` does to the network, and as many again in each further round.
template <typename Change>
Traced run(const FabricConfig& config, Change change, uint32_t rounds = 1) {
  Pair p(config);
  change(&p);
  Traced t;
  p.fabric.record(&t.all);
  for (uint32_t round = 1; round <= rounds; ++round) {
    for (uint32_t i = 0; i < 40; ++i) p.write(i, (i % 16) * 60000, 60000);
    EXPECT_TRUE(p.until_sends(40 * round));
  }
  p.fabric.record(nullptr);
  for (const TraceRecord& r : t.all)
    if (r.node == 0) ++t.sender[{r.event, r.trigger}];
  return t;
}

TEST(Trace, every_burst_says_why_it_takes_its_path) {
  const Traced t = run(without_queries(), [](Pair*) {});
  std::optional<event::EvChosen> chosen;
  for (const TraceRecord& r : t.all) {
    if (r.node != 0) continue;
    if (const auto choice = r.get<event::EvChosen>()) chosen = choice;
    const auto sent = r.get<event::TxData>();
    if (!sent) continue;
    ASSERT_TRUE(chosen) << "a packet before any choice";
    EXPECT_EQ(sent->ev, chosen->ev) << "every packet leaves on the path that was chosen last";
  }
  EXPECT_EQ(t.of(TraceEvent::kEvChosen, TraceTrigger::kTurn), t.any(TraceEvent::kEvChosen))
      << "nothing stood in the way";
  EXPECT_EQ(t.any(TraceEvent::kRetransmit), 0);
}

TEST(Trace, loss_is_repaired_because_others_overtook) {
  const Traced t = run({}, [](Pair* p) {
    for (int plane = 0; plane < 4; ++plane) p->fabric.net().link(plane).loss = 0.02;
  });
  EXPECT_GT(t.of(TraceEvent::kLost, TraceTrigger::kOvertaken), 0);
  EXPECT_GT(t.of(TraceEvent::kRetransmit, TraceTrigger::kOvertaken), 0);
  EXPECT_GT(t.of(TraceEvent::kCwnd, TraceTrigger::kOvertaken), 0);
  EXPECT_EQ(t.of(TraceEvent::kRetransmit, TraceTrigger::kNone), 0) << "no retransmission without a reason";
  EXPECT_EQ(t.of(TraceEvent::kRetransmit, TraceTrigger::kTrimmed), 0);
}

// Each retransmission's trigger is that of the latest event that declared the packet lost.
TEST(Trace, the_reason_of_a_retransmission_is_that_of_its_loss) {
  const Traced t = run({}, [](Pair* p) {
    for (int plane = 0; plane < 4; ++plane) p->fabric.net().link(plane).loss = 0.05;
  });
  std::map<uint32_t, TraceTrigger> lost;
  int seen = 0;
  for (const TraceRecord& r : t.all) {
    if (r.node != 0) continue;
    if (const auto e = r.get<event::Lost>()) lost[e->psn.value()] = r.trigger;
    if (const auto e = r.get<event::Timeout>()) lost[e->psn.value()] = r.trigger;
    const auto again = r.get<event::Retransmit>();
    if (!again) continue;
    const uint32_t psn = again->psn.value();
    ASSERT_EQ(lost.count(psn), 1u) << "psn " << psn;
    EXPECT_EQ(lost[psn], r.trigger);
    EXPECT_GE(again->transmission, 2u) << "the second transmission at least";
    ++seen;
  }
  EXPECT_GT(seen, 10);
}

TEST(Trace, a_plane_that_dies_takes_its_paths_along) {
  const Traced t = run(
      {}, [](Pair* p) { p->fabric.net().link(2).loss = 1; }, 5);
  EXPECT_GT(t.of(TraceEvent::kPlane, TraceTrigger::kLosses) + t.of(TraceEvent::kEvState, TraceTrigger::kLosses) +
                t.of(TraceEvent::kEvState, TraceTrigger::kTimedOut),
            0);
  for (const TraceRecord& r : t.all) {
    const auto changed = r.get<event::EvState>();
    if (r.node != 0 || !changed) continue;
    EXPECT_EQ(changed->plane, 2_plane) << "only paths of the dead plane";
    EXPECT_NE(r.trigger, TraceTrigger::kNone);
  }
}

TEST(Trace, marks_make_paths_wait_a_turn) {
  FabricConfig config;
  const Traced t = run(config, [](Pair* p) {
    for (int plane = 0; plane < 4; ++plane) {
      p->fabric.net().link(plane).rate_bps = 2e9;
      p->fabric.net().link(plane).ecn_bytes = 8000;
    }
  });
  EXPECT_GT(t.of(TraceEvent::kEvState, TraceTrigger::kMarked), 0);
  EXPECT_GT(
      t.of(TraceEvent::kEvChosen, TraceTrigger::kSkipped) + t.of(TraceEvent::kEvChosen, TraceTrigger::kAllSkipped), 0);
  EXPECT_GT(t.of(TraceEvent::kCwnd, TraceTrigger::kMarked), 0);
}

TEST(Trace, trimmed_packets_are_sent_again_as_trimmed) {
  FabricConfig config;
  config.endpoint.trimming = true;
  const Traced t = run(config, [](Pair* p) {
    for (int plane = 0; plane < 4; ++plane) {
      simnet::LinkConfig& l = p->fabric.net().link(plane);
      l.rate_bps = 2e9;
      l.queue_bytes = 10000;
      l.trim = true;
    }
  });
  EXPECT_GT(t.any(TraceEvent::kRxNack), 0);
  EXPECT_GT(t.of(TraceEvent::kRetransmit, TraceTrigger::kTrimmed), 0);
  EXPECT_GT(t.of(TraceEvent::kCwnd, TraceTrigger::kTrimmed), 0);
  EXPECT_GT(t.of(TraceEvent::kEvState, TraceTrigger::kTrimmed), 0);
}

TEST(Trace, silence_is_the_reason_of_a_probe) {
  const Traced t = run({}, [](Pair* p) {
    for (int plane = 0; plane < 4; ++plane) p->fabric.net().link(plane).loss = 0.3;
  });
  EXPECT_GT(t.of(TraceEvent::kTxProbe, TraceTrigger::kSilence), 0);
}

}  // namespace
}  // namespace mrc::scenario
