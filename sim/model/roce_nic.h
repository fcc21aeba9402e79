// RoceNic: the baseline, RoCEv2 reliable connections. Every QP is one flow: packets in order, go-back-N, one source
// port that the switches hash, so one path; with several planes a QP uses one of them. Rate by DCQCN; PFC, where it
// is on, pauses the port. Messages are taken by a QP in the order posted; a workload's messages are spread over the QPs
// of a pair.
//
// Go-back-N as in NICs: the receiver drops packets out of order and sends one NAK per gap; the sender returns to the
// PSN that is named. The timeout returns to the oldest unacknowledged packet. Selective repeat: the receiver keeps
// packets out of order, names each in a NAK, and the sender repeats what is missing. ACKs are coalesced.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/model/dcqcn.h"
#include "sim/model/nic.h"

namespace mrc::sim {

enum class RoceRecovery : uint8_t { kGoBackN, kSelective };

struct RoceConfig {
  RoceRecovery recovery = RoceRecovery::kGoBackN;
  DcqcnConfig dcqcn;
  uint32_t window_packets = 0;  // 0: two bandwidth-delay products
  Ps timeout = 500 * kPsPerUs;
  uint32_t ack_every = 4;  // packets; the last of a message is always acknowledged
  uint32_t retries = 0;    // consecutive timeouts before the QP fails; 0: for ever
};

struct RoceCounters {
  uint64_t tx_data = 0, rx_data = 0, retransmits = 0, naks = 0, timeouts = 0, notifications = 0, out_of_order = 0;
};

class RoceNic final : public NicBase {
 public:
  RoceNic(uint32_t index, PacketPool* pool, const FabricPlan* plan, const RoceConfig& config, uint64_t seed,
          const std::vector<std::unique_ptr<NicBase>>* nics);
  ~RoceNic() override;

  void send(const Message& m) override;
  void receive(Packet* p, uint16_t plane) override;
  void on_room(uint16_t plane) override;
  void on_carrier(uint16_t plane, bool up) override;
  const RoceCounters& counters() const { return counters_; }
  uint64_t goodput_bytes() const override { return accepted_bytes_; }
  void each_counter(const std::function<void(const char*, uint64_t)>& f) const override;
  uint32_t qp_errors() const override { return qp_errors_; }

 private:
  struct Qp;
  struct Header;
  struct Early {  // a packet that is kept until those before it have arrived
    uint32_t message;
    bool last;
  };
  struct Inbound {
    uint64_t expected = 0;
    uint32_t since_ack = 0;
    bool nak_sent = false;
    std::map<uint64_t, Early> early;  // by PSN; selective repeat alone
    Ps last_cnp = -kPsPerSecond;
  };

  Qp* qp_to(uint32_t peer, uint32_t slot);
  void pump(uint16_t plane);
  bool eligible(Qp* q, Ps now, Ps* later) const;
  void transmit(Qp* q);
  void send_control(const Packet& to, const Header& h);
  void on_data(const Packet& p, const Header& h);
  void notify_congestion(const Packet& p, const Header& h, Inbound* in);
  void out_of_order(const Packet& p, const Header& h, Inbound* in);
  void in_order(const Packet& p, const Header& h, Inbound* in);
  void on_ack(Qp* q, uint64_t next);
  void on_nak(Qp* q, const Header& h);
  bool selective() const { return config_.recovery == RoceRecovery::kSelective; }
  void arm_timer(Ps when);
  void on_timer();
  uint32_t packets_of(uint64_t bytes) const;

  const RoceConfig config_;
  const std::vector<std::unique_ptr<NicBase>>* const nics_;
  Rng rng_;
  uint32_t window_ = 0;
  std::vector<std::unique_ptr<Qp>> qps_;
  std::unordered_map<uint64_t, Qp*> by_peer_;
  std::unordered_map<uint64_t, Inbound> inbound_;  // by sender and its QP
  std::vector<std::vector<Qp*>> by_plane_;
  std::vector<size_t> turn_;
  RoceCounters counters_;
  uint64_t accepted_bytes_ = 0;  // payload, in order
  uint32_t qp_errors_ = 0;
  Ps timer_at_ = INT64_MAX;
  Recurring<RoceNic, &RoceNic::on_timer> timer_event_{this};
};

}  // namespace mrc::sim
