// One DPDK port with one queue each way: found by its name or made from device arguments, configured, started, and
// released. Owned by one datapath at a time. [MRC-SR-18]
#pragma once

#include <rte_ethdev.h>

#include <cstdint>
#include <string>

#include "datapath/dpdk/module/packet_pool.h"
#include "datapath/frame/frame.h"
#include "result.h"

namespace mrc::datapath {

class Port {
 public:
  struct Wanted {
    std::string name;  // PCI address, name of an existing port, or device arguments
    uint32_t mtu = 0;  // 0: as reported by the port
    bool checksum = true;
  };
  Port() = default;
  ~Port();
  Port(const Port&) = delete;

  Status open(const Wanted& wanted);

  void stop();  // the driver returns the packets that it has sent
  uint16_t receive(rte_mbuf** out, uint16_t max) { return rte_eth_rx_burst(id_, 0, out, max); }
  uint16_t send(rte_mbuf** packets, uint16_t count) { return rte_eth_tx_burst(id_, 0, packets, count); }
  rte_mbuf* allocate() { return pool_.allocate(); }  // null: there is none
  // A packet buffer's room behind the headroom, if any port sends these buffers; else 0.
  uint32_t buffer_bytes() const { return pool_.buffer_bytes(); }

  const MacAddress& mac() const { return mac_; }
  uint32_t mtu() const { return mtu_; }
  bool computes_checksums() const { return computes_checksums_; }
  uint64_t missed() const;  // packets dropped because the receive queue was full
  const std::string& name() const { return name_; }
  const std::string& driver() const { return driver_; }
  const std::string& note() const { return note_; }  // deviations from the request; may be empty

 private:
  Status find(const std::string& name);
  Status claim();
  Status configure(const Wanted& wanted);
  Status start();
  int start_once();

  static constexpr uint16_t kNone = RTE_MAX_ETHPORTS;
  uint16_t id_ = kNone;
  uint64_t owner_ = 0;
  bool made_here_ = false;  // by device arguments, so it is removed with this
  bool started_ = false;
  bool is_client_ = false;  // of a memory that another process shares
  bool computes_checksums_ = false;
  PacketPool pool_;
  MacAddress mac_{};
  uint32_t mtu_ = 0;
  std::string name_, driver_, note_;
};

}  // namespace mrc::datapath
