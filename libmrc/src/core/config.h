// Configuration of an endpoint at construction. The device fills it from the settings; tests and ns-3 fill it
// directly.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/planes.h"
#include "base/time.h"
#include "core/congestion/config.h"
#include "core/types.h"

namespace mrc::core {

// An entry of the device's EV table. Entries [0, ev_active) start in the active set, the others are backups;
// both kinds should spread equally over the planes.
struct EvEntry {
  uint32_t value = 0;  // UDP source port in the low half, flow label in the high half
  PlaneId plane;
  // The T1 that it names: EVs of a plane with the same number cross the same switches to each peer. 0: it names none,
  // as where switches choose by a hash [MRC-EVS-13].
  uint32_t link = 0;
};

// DSCP code points; deployment configuration [MRC-DSCP-1]. [MRC-CHOICE-Q28]
struct DscpConfig {
  uint8_t no_trim = 0;
  uint8_t trimmable = 4;
  uint8_t trimmable_retx = 8;
  uint8_t trimmed = 12;
  uint8_t trimmed_lasthop = 16;
  uint8_t control = 46;
};

// Slot 0 listens on `standard`, slot k > 0 on `base` + k. [MRC-UDP-1, MRC-CHOICE-Q1]
struct SlotPorts {
  uint16_t standard = 4791;
  uint16_t base = 20000;
  uint16_t of(uint8_t slot) const { return slot == 0 ? standard : static_cast<uint16_t>(base + slot); }
};

struct EndpointConfig {
  uint64_t seed = 1;              // all randomness of the endpoint comes from it
  PerPlane<PlaneAddress> planes;  // local address and receive port per plane
  PerEv<EvEntry> evs;             // EV table: active ones first, then backups
  uint32_t ev_active = 0;         // 0: all of them
  uint32_t ev_min_active = 0;     // 0: a quarter of those on the planes in use, at least one
  DscpConfig dscp;
  bool trimming = false;       // the fabric trims: mark data TRIMMABLE
  bool icrc = true;            // compute and check; off only for simulation
  bool timestamps = true;      // TSETH in every data packet
  uint32_t max_segments = 15;  // packets per burst; 1 where the driver sprays single packets
  uint32_t max_burst_bytes = kDefaultBurstBytes;
  uint32_t sack_bytes = 65536;                          // maximum bytes before a SACK [MRC-SACK-5]
  Duration ack_delay = Duration::microseconds(15);      // flush of coalesced SACKs and transport ACKs
  Duration reorder_floor = Duration::microseconds(20);  // minimum time by which a later packet overtakes a lost one
  // What the threads, system calls and timers of a host may add to an answer, beside what its round trips show; 0: the
  // answers are those of hardware.
  Duration host_delay = Duration::microseconds(200);
  Duration probe_floor = Duration::microseconds(500);       // minimum silence before a reliability probe
  Duration ev_probe_interval = Duration::milliseconds(50);  // re-probe of ASSUMED_BAD paths
  // For comparisons only: spray over all EVs, ignoring marks, trims and losses.
  bool oblivious = false;
  // SACKs and ACKs before data of the same QP too: where bursts are single packets an answer has almost no cost, and
  // behind a window of data it would be a round trip late.
  bool answers_first = false;
  // Query peers for their source ports, and drop their packets from others [MRC-SEC-9].
  bool compare_source_ports = true;
  bool hold_without_recv_wqe = true;  // WriteIMM without receive WQE: hold it; false: NAK and error
  Placement placement = Placement::kAuto;
  // Bytes that the receive queues of a peer hold, all planes together; 0: windows are not limited by it [MRC-NSCC-32].
  uint64_t receive_room = 0;
  CongestionConfig congestion;
  uint32_t max_qps = 65536;
  uint32_t max_groups = 32;  // multicast groups with members; 0: the driver carries none
  // Several processes share a device (spec/architecture.md, decision 9): the process slot and, per plane, the ports on
  // which slots listen. Answers to connectionless requests are addressed by it. Empty: the peer listens on the port
  // that this endpoint uses.
  uint8_t slot = 0;
  PerPlane<SlotPorts> slot_ports;
  // What receivers of datagrams see as GIDs: of this endpoint (zero: the address on plane 0), and of known addresses.
  struct GidOfAddress {
    IpAddress addr;
    IpAddress gid;
  };
  IpAddress gid;
  std::vector<GidOfAddress> gids_of_addresses;
  // Of others, by the rule that their addresses follow: that of a source on a plane, or none.
  std::function<std::optional<IpAddress>(const IpAddress& addr, PlaneId plane)> gid_rule;

  static constexpr uint32_t kDefaultBurstBytes = 64000;
};

}  // namespace mrc::core
