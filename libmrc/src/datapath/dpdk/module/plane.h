// One plane of the DPDK datapath: its port, the frames that wait for room or for a neighbour, and those on their way to
// the engine. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "datapath/dpdk/dpdk_datapath.h"
#include "datapath/dpdk/module/port.h"
#include "datapath/frame/frame.h"
#include "datapath/frame/held_ports.h"
#include "datapath/frame/neighbour_message.h"
#include "datapath/frame/neighbours.h"

namespace mrc::datapath {

class DpdkPlane {
 public:
  static constexpr uint16_t kBatch = 32;  // minimum request of drivers with vector instructions

  ~DpdkPlane() { discard(); }
  Status open(const HostPlane& plane, const Gateway& gateway, const Port::Wanted& wanted);

  // One packet; `flow` as it is sent. `staged` is null, or the buffer that has it already, of any plane's port. False:
  // no room, nothing was taken.
  bool send(Instant now, const core::TxBurst& packet, const wire::Flow& flow, const SegmentPath& path, rte_mbuf* staged,
            DatapathCounters* counters);
  // Passes the packets that wait for room to the port.
  void flush();
  bool has_room() const { return waiting_.size() < kMaxWaiting; }
  // Repeats the solicitations of neighbours for which packets wait.
  void solicit_again(Instant now, DatapathCounters* counters);

  // Polls the port for frames when no packet is left for the engine; handles neighbours' messages among them. True:
  // a frame was received.
  bool poll(Instant now, DatapathCounters* counters);
  // At most `max` packets for the engine, of those that poll() found; their memory is freed by release().
  int receive(core::RxBurst* out, int max, DatapathCounters* counters);
  void release();
  // Frees every packet.
  void discard();

  Port& port() { return port_; }
  const Port& port() const { return port_; }
  uint16_t udp_port() const { return udp_port_; }
  bool second_port_taken() const { return held_ports_ && held_ports_->second_port_taken(); }
  const std::string& first_error() const { return first_error_; }

 private:
  static constexpr size_t kMaxWaiting = 64;
  static constexpr size_t kMaxHeld = 64;  // packets that wait for one neighbour; more are dropped, as in a kernel

  bool build(const core::TxBurst& packet, const wire::Flow& flow, const SegmentPath& path, bool staged, rte_mbuf* out);
  void put_checksum(const wire::Flow& flow, const SegmentPath& path, uint32_t udp_bytes, rte_mbuf* out) const;
  void to_neighbour(Instant now, const IpAddress& next, rte_mbuf* frame, DatapathCounters* counters);
  void to_port(rte_mbuf* frame) { waiting_.push_back(frame); }
  void solicit(const IpAddress& next);
  void answer(const NeighbourMessage& query, const MacAddress& requester);
  void learn(Instant now, const IpAddress& next, const MacAddress& mac);
  void send_message(const NeighbourFrame& message);
  void drop_held(const IpAddress& next, DatapathCounters* counters);
  void on_neighbour_frame(Instant now, const rte_mbuf* frame);
  bool keep(Instant now, rte_mbuf* frame, DatapathCounters* counters);

  Port port_;
  IpAddress own_;
  Gateway gateway_;
  bool checksum_ = true;
  std::unique_ptr<HeldPorts> held_ports_;  // if the kernel has the address, too
  uint16_t udp_port_ = 0;
  uint16_t second_port_ = 0;

  Neighbours neighbours_;
  std::map<IpAddress, std::vector<rte_mbuf*>> held_;  // by next hop
  std::vector<rte_mbuf*> waiting_;                    // for room in the port

  struct Received {
    rte_mbuf* frame;
    core::RxBurst burst;
  };
  std::vector<Received> inbox_;  // for the engine
  size_t inbox_at_ = 0;
  std::vector<rte_mbuf*> lent_;
  std::string first_error_;
  FrameHeader header_;
};

}  // namespace mrc::datapath
