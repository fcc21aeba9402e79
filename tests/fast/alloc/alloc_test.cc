// Two endpoints joined by a bare delay, so that nothing but the engine allocates in the armed scopes.
//
// Failure: every allocation from construction to the end of a transfer fails once, alone and in groups (bit masks).
// Each call either works or throws std::bad_alloc; the caller tries again, a packet whose handling failed counts as
// lost, and in the end every byte and every completion is right and every block is given back. Steady state: between
// two points of a long transfer the engine asks for no memory at all, with losses and without.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <vector>

#include "core/endpoint.h"
#include "harness/counted_new.h"

namespace mrc::alloc {
namespace {

using namespace core;

struct Recorder final : Sink, QpSink {
  bool on_completion(const Completion& c) override {
    Disarmed off;
    done.push_back(c);
    return true;
  }
  void on_event(AsyncEvent) override {}
  void on_port_event(PlaneId, AsyncEvent) override {}
  void on_endpoint_response(uint16_t, PlaneId, Duration) override {}
  std::vector<Completion> done;
};

IpAddress address(int node, int plane) {
  return IpAddress::v4(10, static_cast<uint8_t>(plane), 0, static_cast<uint8_t>(node + 1));
}

// Tries until it works; with finitely many failures to come, it does.
template <typename F>
auto insist(F f) -> decltype(f()) {
  for (;;) {
    try {
      Armed on;
      return f();
    } catch (const std::bad_alloc&) {
    }
  }
}

class Joined {
 public:
  static constexpr int kPlanes = 2;

  explicit Joined(Placement placement = Placement::kArrival) {
    for (int n = 0; n < 2; ++n) {
      EndpointConfig c;
      c.seed = 7u + static_cast<uint64_t>(n);
      c.placement = placement;
      for (int p = 0; p < kPlanes; ++p) c.planes.push_back({address(n, p), 4791});
      for (int i = 0; i < 8; ++i) c.evs.push_back({49152u + static_cast<uint32_t>(i), plane_at(i % kPlanes)});
      ends_[n] = insist([&] { return std::make_unique<Endpoint>(c, &sinks_[n]); });
    }
  }

  void connect(const QpCaps& caps) {
    QpAttr attr[2];
    for (int n = 0; n < 2; ++n) {
      PeerDescription d;
      for (int p = 0; p < kPlanes; ++p) d.planes.push_back({address(1 - n, p), 4791});
      QpInit init;
      init.sink = &sinks_[n];
      init.qpn = Qpn(0x200u + static_cast<uint32_t>(n));
      init.pd = 1;
      init.caps = caps;
      qps_[n] = insist([&] { return ends_[n]->create_qp(init); });
      ASSERT_NE(qps_[n], nullptr);
      attr[n].peer = insist([&] { return ends_[n]->intern_peer(d); });
      attr[n].dest_qpn = Qpn(0x200u + static_cast<uint32_t>(1 - n));
      attr[n].path_mtu = 1024;
      attr[n].timeout = 10;
      attr[n].access = 3;
    }
    for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts})
      for (int n = 0; n < 2; ++n)
        ASSERT_TRUE(
            insist([&] { return ends_[n]->qp_state(qps_[n]) == s || ends_[n]->modify_qp(now_, qps_[n], s, attr[n]); }));
    for (int n = 0; n < 2; ++n) ends_[n]->release_peer(attr[n].peer);
  }

  Key add(int n, std::vector<uint8_t>& m) {
    return insist(
        [&] { return ends_[n]->memory().add(m.data(), reinterpret_cast<uint64_t>(m.data()), m.size(), 3, 1); });
  }

  PostResult write(uint64_t id, std::vector<uint8_t>& from, Key lkey, std::vector<uint8_t>& to, Key rkey, bool imm) {
    Sge sge{reinterpret_cast<uint64_t>(from.data()), static_cast<uint32_t>(from.size()), lkey};
    SendWr wr;
    wr.wr_id = id;
    wr.op = imm ? SendOp::kWriteImm : SendOp::kWrite;
    wr.signaled = true;
    wr.sges = &sge;
    wr.num_sge = 1;
    wr.remote_addr = reinterpret_cast<uint64_t>(to.data());
    wr.rkey = rkey;
    return insist([&] { return ends_[0]->post_send(now_, qps_[0], wr); });
  }
  PostResult receive(uint64_t id) {
    return insist([&] { return ends_[1]->post_recv(now_, qps_[1], id); });
  }

  // One wake-up. Every `drop`-th packet is lost (0: none).
  void step(uint32_t drop) {
    while (!wire_.empty() && wire_.front().at <= now_) {
      Packet p = std::move(wire_.front());
      wire_.pop_front();
      if (drop != 0 && ++count_ % drop == 0) continue;
      p.burst.data = p.bytes.data();
      guarded([&] { ends_[p.to]->handle_rx(now_, p.burst); });
    }
    for (int n = 0; n < 2; ++n) {
      guarded([&] {
        if (ends_[n]->next_timeout() <= now_) ends_[n]->handle_timeout(now_);
      });
      for (;;) {
        bool more = false;
        guarded([&] { more = ends_[n]->poll_tx(now_, burst_.get()); });
        if (!more) break;
        send(n);
      }
    }
    Instant next = wire_.empty() ? Instant::never() : wire_.front().at;
    for (auto& e : ends_) next = std::min(next, e->next_timeout());
    now_ = std::max(now_ + Duration::nanoseconds(100), std::min(next, now_ + Duration::milliseconds(1)));
  }

  bool run(size_t sends, size_t receives, uint32_t drop = 0) {
    for (int i = 0; i < 2000000; ++i) {
      if (sinks_[0].done.size() >= sends && sinks_[1].done.size() >= receives) return true;
      step(drop);
    }
    return false;
  }

  const Recorder& sink(int n) const { return sinks_[n]; }
  Recorder& sink(int n) { return sinks_[n]; }
  Endpoint& end(int n) { return *ends_[n]; }

 private:
  struct Packet {
    Instant at;
    int to = 0;
    RxBurst burst;
    std::vector<uint8_t> bytes;
  };

  template <typename F>
  static void guarded(F f) {
    try {
      Armed on;
      f();
    } catch (const std::bad_alloc&) {
    }
  }

  void send(int from) {
    std::vector<uint8_t> flat;
    flat.reserve(burst_->bytes);
    for (uint32_t i = 0; i < burst_->iov_count; ++i) {
      const auto* p = static_cast<const uint8_t*>(burst_->iov[i].iov_base);
      flat.insert(flat.end(), p, p + burst_->iov[i].iov_len);
    }
    for (uint32_t at = 0; at < flat.size(); at += burst_->segment_size) {
      Packet p;
      p.at = now_ + Duration::microseconds(10);
      p.to = 1 - from;
      p.bytes.assign(
          flat.begin() + at,
          flat.begin() + std::min<std::ptrdiff_t>(at + burst_->segment_size, static_cast<std::ptrdiff_t>(flat.size())));
      p.burst.flow = burst_->flow;
      p.burst.plane = burst_->plane;
      p.burst.bytes = p.burst.segment_size = static_cast<uint32_t>(p.bytes.size());
      wire_.push_back(std::move(p));
    }
  }

  Recorder sinks_[2];
  std::unique_ptr<Endpoint> ends_[2];
  Qp* qps_[2] = {};
  std::unique_ptr<TxBurst> burst_ = std::make_unique<TxBurst>();
  std::deque<Packet> wire_;
  Instant now_ = Instant::from_ns(1000000);
  uint32_t count_ = 0;
};

std::vector<uint8_t> pattern(size_t n) {
  std::vector<uint8_t> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<uint8_t>(i * 37 + (i >> 8) + 1);
  return v;
}

// From construction to teardown with the failures set before; false when something was not as it should be.
void whole_life(Placement placement) {
  Joined j(placement);
  std::vector<uint8_t> source = pattern(20000), target(20000);
  j.sink(0).done.reserve(16);
  j.sink(1).done.reserve(16);
  ASSERT_NO_FATAL_FAILURE(j.connect({8, 8, 2, 0}));
  const Key lkey = j.add(0, source), rkey = j.add(1, target);
  for (uint64_t i = 0; i < 3; ++i) ASSERT_EQ(j.receive(i), PostResult::kOk);
  for (uint64_t i = 0; i < 6; ++i) ASSERT_EQ(j.write(i, source, lkey, target, rkey, i % 2 == 1), PostResult::kOk);
  ASSERT_TRUE(j.run(6, 3, 23)) << j.sink(0).done.size() << " sends, " << j.sink(1).done.size() << " receives";
  ASSERT_EQ(j.sink(0).done.size(), 6u);
  ASSERT_EQ(j.sink(1).done.size(), 3u);
  for (uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(j.sink(0).done[i].wr_id, i);
    EXPECT_EQ(j.sink(0).done[i].status, WcStatus::kSuccess);
  }
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(j.sink(1).done[i].wr_id, i);
  EXPECT_EQ(source, target);
}

constexpr Placement kPlacements[] = {Placement::kArrival, Placement::kInOrder};

TEST(AllocFailure, every_allocation_fails_once) {
  for (const Placement placement : kPlacements) {
    whole_life(placement);  // everything allocated once per process
    for (uint64_t first = 0;; ++first) {
      set_failures(1, first);
      const int64_t before = live_blocks();
      ASSERT_NO_FATAL_FAILURE(whole_life(placement)) << "allocation " << first;
      ASSERT_EQ(live_blocks(), before) << "leak after allocation " << first;
      if (failed_allocations() == 0) {
        EXPECT_GT(first, 30u) << "the scope is not armed";
        break;
      }
    }
    set_failures(0, 0);
  }
}

TEST(AllocFailure, groups_by_bit_mask) {
  for (const Placement placement : kPlacements) {
    whole_life(placement);
    for (uint64_t mask :
         {0x3ull, 0x5ull, 0xFFull, 0x5555555555555555ull, 0x8000000000000001ull, 0xF0F0F0F0ull, ~0ull}) {
      for (uint64_t first = 0;; first += 3) {
        set_failures(mask, first);
        const int64_t before = live_blocks();
        ASSERT_NO_FATAL_FAILURE(whole_life(placement)) << "mask " << mask << " from " << first;
        ASSERT_EQ(live_blocks(), before) << "leak with mask " << mask << " from " << first;
        if (failed_allocations() == 0) break;
      }
    }
    set_failures(0, 0);
  }
}

// `drop`: every so many packets one is lost.
void steady(uint32_t drop, Placement placement = Placement::kArrival) {
  Joined j(placement);
  std::vector<uint8_t> source = pattern(100000), target(100000);
  constexpr size_t kRounds = 300, kWarm = 140;  // the map of messages has its size after the first 128
  j.sink(0).done.reserve(kRounds);
  j.sink(1).done.reserve(kRounds);
  ASSERT_NO_FATAL_FAILURE(j.connect({8, 8, 2, 0}));
  const Key lkey = j.add(0, source), rkey = j.add(1, target);
  uint64_t at_warm = 0;
  for (uint64_t i = 0; i < kRounds; ++i) {
    if (i == kWarm) at_warm = armed_allocations();
    ASSERT_EQ(j.receive(i), PostResult::kOk);
    ASSERT_EQ(j.write(i, source, lkey, target, rkey, true), PostResult::kOk);
    if (i % 4 == 3) {
      ASSERT_TRUE(j.run(i + 1, i + 1, drop));
    }
  }
  EXPECT_EQ(source, target);
  EXPECT_GT(at_warm, 0u);
  EXPECT_EQ(armed_allocations() - at_warm, 0u);
  EXPECT_EQ(j.end(0).counters().retransmits > 0, drop != 0);
  EXPECT_EQ(j.end(1).counters().rx_early > 0, drop != 0 && placement == Placement::kInOrder);
}

TEST(AllocSteadyState, no_allocation_on_a_quiet_network) {
  set_failures(0, 0);
  steady(0);
}

TEST(AllocSteadyState, no_allocation_while_packets_are_lost) {
  set_failures(0, 0);
  steady(101);
}

// [MRC-RSP-15]
TEST(AllocSteadyState, no_allocation_while_payloads_wait_for_lost_packets) {
  set_failures(0, 0);
  steady(101, Placement::kInOrder);
}

}  // namespace
}  // namespace mrc::alloc
