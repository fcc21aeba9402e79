// Failed paths, reported from one engine of a device to the others. [MRC-EVS-16]
#include <algorithm>
#include <vector>

#include "core/peer_paths.h"
#include "lone_endpoint.h"

namespace mrc::core {
namespace {

// Two planes; the upper half of an EV names the path, the port in the lower half is this engine's own.
class PathReportTest : public LoneEndpoint {
 protected:
  PathReportTest() {
    for (const EvIndex i : config_.evs.ids()) config_.evs[i].value |= (i.value() / 2u + 1u) << 16;
  }
  static constexpr uint32_t path(uint32_t label) { return label << 16 | 41000; }  // with another engine's port
  void on_path_failed(const PathReport& report) override { reported_.push_back(report); }
  int bad() {
    int n = 0;
    for (const EvStatus& ev : endpoint_->ev_status(peer_id_)) n += ev.state == EvState::kAssumedBad;
    return n;
  }
  std::vector<PathReport> reported_;
};

TEST_F(PathReportTest, a_path_that_another_engine_found_bad_is_not_used) {
  config_.max_segments = 1;
  start();
  endpoint_->on_path_failed(now_, {theirs(1), path(2), 1_plane});
  EXPECT_EQ(ev(3_ev).state, EvState::kAssumedBad);  // label 2 on the second plane
  EXPECT_EQ(bad(), 1);
  for (uint64_t i = 0; i < 40; ++i) post(i, 8);
  drain();
  EXPECT_GT(ev(2_ev).tx_packets, 0u);  // label 2 on the first plane
  EXPECT_EQ(ev(3_ev).tx_packets, 0u);
  EXPECT_TRUE(reported_.empty()) << "what was reported goes no further";
}

TEST_F(PathReportTest, it_is_probed_from_here_and_restored) {
  start();
  endpoint_->on_path_failed(now_, {theirs(1), path(2), 1_plane});
  pass(config_.ev_probe_interval);
  const auto probes = sent(wire::Opcode::kEndpointRequest);
  const auto asked = std::find_if(probes.begin(), probes.end(), [](const SentPacket* s) { return s->ev == 3_ev; });
  ASSERT_NE(asked, probes.end());
  wire::Packet answer = packet(wire::Opcode::kEndpointResponse, (*asked)->p.bth.psn);
  answer.bth.dqp = wire::kEndpointQpn;
  answer.eeth = wire::Eeth();
  answer.eeth.op = wire::EndpointOp::kEvProbe;
  answer.eeth.tx_timestamp = (*asked)->p.erth.timestamp.tx_timestamp;
  receive(answer, inbound(1), 1);
  EXPECT_EQ(ev(3_ev).state, EvState::kGood);
}

TEST_F(PathReportTest, other_addresses_planes_and_paths_are_not_concerned) {
  start();
  endpoint_->on_path_failed(now_, {theirs(0), path(2), 1_plane});
  endpoint_->on_path_failed(now_, {IpAddress::v4(10, 1, 0, 9), path(2), 1_plane});
  endpoint_->on_path_failed(now_, {theirs(1), path(99), 1_plane});
  endpoint_->on_path_failed(now_, {theirs(1), path(2), 7_plane});
  EXPECT_EQ(bad(), 0);
}

// A peer that only gets answers is not probed, so nothing would restore the path.
TEST_F(PathReportTest, a_peer_that_is_not_probed_is_not_concerned) {
  start();
  arrive(write_packet(0));
  drain();
  endpoint_->destroy_qp(qp_);
  endpoint_->release_peer(peer_id_);
  ASSERT_TRUE(endpoint_->has_peer(peer_id_));  // a record refers to it
  endpoint_->on_path_failed(now_, {theirs(1), path(2), 1_plane});
  EXPECT_EQ(bad(), 0);
}

// Reports cannot leave a peer without paths. [MRC-EVS-6]
TEST_F(PathReportTest, some_paths_stay_whatever_is_reported) {
  start();
  for (uint8_t plane = 0; plane < 2; ++plane)
    for (uint32_t label = 1; label <= 5; ++label)
      endpoint_->on_path_failed(now_, {theirs(plane), path(label), PlaneId(plane)});
  int active = 0;
  for (const EvStatus& ev : endpoint_->ev_status(peer_id_)) active += ev.active && ev.state == EvState::kGood;
  EXPECT_EQ(active, 2);  // a quarter of eight
}

class PathEvidenceTest : public PathReportTest {
 protected:
  PathEvidenceTest()
      : names_(config_.evs), links_(config_.evs), paths_(config_, names_, links_, peer_, &counters_, nullptr, &rng_) {
    paths_.set_sink(this, &peer_);
  }
  Counters counters_;
  Rng rng_{5};
  EvNames names_;
  EvLinks links_;
  PeerPaths paths_;
};

TEST_F(PathEvidenceTest, own_evidence_is_reported_once) {
  paths_.on_timeout(now_, 3_ev);
  paths_.on_timeout(now_, 3_ev);
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].addr, theirs(1));
  EXPECT_EQ(reported_[0].plane, 1_plane);
  EXPECT_EQ(reported_[0].ev, config_.evs[3_ev].value);
}

// What another engine, the peer or an operator says of a path is not.
TEST_F(PathEvidenceTest, changes_from_elsewhere_are_not_reported) {
  paths_.on_always_skip(now_, 1_ev);
  EXPECT_FALSE(paths_.usable(1_ev));
  paths_.on_failed_elsewhere(now_, 3_ev);
  paths_.set_denied(now_, 2_ev, true);
  EXPECT_FALSE(paths_.usable(3_ev));
  EXPECT_TRUE(reported_.empty());
}

// Oblivious spraying ignores what is known of paths.
TEST_F(PathEvidenceTest, oblivious_spraying_ignores_reports) {
  config_.oblivious = true;
  paths_.on_failed_elsewhere(now_, 3_ev);
  EXPECT_TRUE(paths_.usable(3_ev));
}

}  // namespace
}  // namespace mrc::core
