// BareEngine: the parts of an engine without an endpoint, joined as the endpoint joins them, for tests of one part. Two
// planes with two EVs each; virtual time; what the engine reports is kept.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "core/control_queue.h"
#include "core/path_prober.h"
#include "core/plane_discovery.h"
#include "core/qp_table.h"
#include "core/tx_scheduler.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace mrc::core {

inline EndpointConfig bare_config() {
  EndpointConfig c;
  for (uint8_t plane = 0; plane < 2; ++plane) c.planes.push_back({IpAddress::v4(10, plane, 0, 1), 4791});
  for (uint32_t i = 0; i < 4; ++i) c.evs.push_back({50000 + i, plane_at(i % 2)});
  return c;
}

inline PeerDescription bare_peer(uint8_t host = 2) {
  PeerDescription d;
  for (uint8_t plane = 0; plane < 2; ++plane) d.planes.push_back({IpAddress::v4(10, plane, 0, host), 4791});
  return d;
}

class BareEngine : public testing::Test, public Sink, public QpSink {
 protected:
  explicit BareEngine(const EndpointConfig& config = bare_config()) : engine_(config, this, nullptr) {
    peers_.set_observer(&prober_);
  }
  ~BareEngine() override { peers_.set_observer(nullptr); }

  QpInit init(uint32_t qpn) { return {this, Qpn(qpn), 1, {4, 4, 1, 0}}; }
  Qp* add_qp(uint32_t qpn) { return qps_.create(services_, init(qpn)); }
  // The packets in the control queue, decoded; empties it.
  std::vector<wire::Packet> queued(PlaneSet planes = PlaneSet::all()) {
    std::vector<wire::Packet> all;
    while (control_.pop(&burst_, planes)) {
      const auto* at = static_cast<const uint8_t*>(burst_.iov[0].iov_base);
      bytes_.assign(at, at + burst_.bytes);
      for (uint32_t i = 0; i < burst_.segments; ++i) {
        wire::Packet p;
        EXPECT_EQ(wire::decode({&bytes_[i * burst_.segment_size], burst_.segment_size}, &p), wire::DecodeError::kOk);
        all.push_back(p);
      }
    }
    return all;
  }

  bool on_completion(const Completion& c) override {
    completions_.push_back(c);
    return true;
  }
  void on_event(AsyncEvent e) override { events_.push_back(e); }
  void on_port_event(PlaneId, AsyncEvent e) override { events_.push_back(e); }
  void on_endpoint_response(uint16_t id, PlaneId, Duration rtt) override { responses_.push_back({id, rtt}); }

  Instant now_ = Instant::from_ns(50000000);
  EngineContext engine_;
  ControlQueue control_{&engine_};
  TxScheduler scheduler_{&engine_, &control_};
  PeerTable peers_{&engine_};
  Tombstones tombstones_{&engine_, &peers_, &control_};
  QpTable qps_{&engine_, &peers_, &tombstones_};
  PathProber prober_{&engine_, &peers_, &qps_, &control_};
  PlaneDiscovery discovery_{&engine_, &peers_, &qps_, &control_};
  const QpServices services_{engine_, control_, scheduler_, prober_};
  TxBurst burst_;
  std::vector<uint8_t> bytes_;
  std::vector<Completion> completions_;
  std::vector<AsyncEvent> events_;
  std::vector<std::pair<uint16_t, Duration>> responses_;
};

}  // namespace mrc::core
