// The messages between the processes of a host and mrcd, one struct for each message of spec/mrcd.md, used by both
// sides. On the wire each is a JSON object with the names of the members as keys; calls and deny rules have the forms
// of ctl/call.h and ctl/deny.h.
//
// Reading one throws nlohmann::json::exception where a key is missing, or a value is of another type or out of its
// member's range; the reader catches it per message. Keys that are not named here are ignored, so that messages of a
// newer peer can be read. Plain values, any thread. [MRC-MRCD-2..6]
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ctl/whole.h"

namespace mrc::ctl {

// From a process: it has the device open.
struct Registration {
  std::string device;
  std::string program = "?";
  Whole<uint32_t> slot, planes;
  std::string ev_mode;
  Whole<uint32_t> evs;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Registration, device, program, slot, planes, ev_mode, evs)

// From a process: all its profiles by id, and the number of its QPs that hold each.
struct Holds {
  using Users = std::vector<std::pair<Whole<uint64_t>, Whole<uint32_t>>>;
  Users ev, cc;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Holds, ev, cc)

// Both ways: an entry of a profile has changed its state on the paths of one process.
struct PathChange {
  Whole<uint64_t> profile;
  std::string ev;  // ev_hex()
  Whole<uint8_t> port;
  Whole<int> state;  // mrc_ctl_ev_state
  Whole<uint64_t> losses;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PathChange, profile, ev, port, state, losses)

// To a process: the whole state of its device; also the entry in mrcd's file. Calls and rules are texts for
// parse_call() and parse_deny(), so that only an invalid one is left out.
struct DeviceState {
  std::vector<nlohmann::json> calls, denies;
  std::vector<Whole<uint32_t>> ports_down;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceState, calls, denies, ports_down)

// The report of a process. States are GOOD, SKIP, ASSUMED_BAD and DENIED; round trips are 0 where none was
// measured.
struct PortReport {
  Whole<uint32_t> port;
  bool up = false;
  std::string address;
  std::string out;  // why its sockets are not open; empty: they are
  Whole<uint64_t> tx_packets, tx_bytes, rx_packets, rx_bytes, losses, retransmits, ecn_marks;
};
// An older library opens all planes or none.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(PortReport, port, up, address, out, tx_packets, tx_bytes, rx_packets,
                                                rx_bytes, losses, retransmits, ecn_marks)

struct QpReport {
  Whole<uint32_t> qpn, dest_qpn;
  std::string state;
  Whole<uint32_t> peer;
  Whole<int64_t> cwnd, inflight, rtt_ns;
  Whole<uint64_t> tx_packets, rx_packets, retransmits, timeouts;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QpReport, qpn, dest_qpn, state, peer, cwnd, inflight, rtt_ns, tx_packets, rx_packets,
                                   retransmits, timeouts)

struct EvReport {
  Whole<uint32_t> ev, port;
  std::string state;
  bool active = false;
  Whole<int64_t> rtt_ns;
  Whole<uint64_t> tx_packets, tx_bytes, losses, ecn_marks;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EvReport, ev, port, state, active, rtt_ns, tx_packets, tx_bytes, losses, ecn_marks)

// A histogram by octaves: counts[i] are of at most 2^(10 + i) ns, the last one of all that is longer. Without a sample
// there are no counts.
struct DelayReport {
  static constexpr size_t kCounts = 28;
  Whole<uint64_t> sum_ns;
  std::vector<Whole<uint64_t>> counts;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DelayReport, sum_ns, counts)

struct PeerReport {
  Whole<uint32_t> peer;
  std::vector<std::string> addresses;  // of each plane; empty: not known
  std::vector<EvReport> evs;
  DelayReport completion, retransmission;  // [MRC-LAT-1, MRC-LAT-2]
};
// An older library reports no delays.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(PeerReport, peer, addresses, evs, completion, retransmission)

struct DeviceReport {
  Whole<int64_t> pid, uid;  // mrcd overwrites them by the kernel's data
  std::string program, device;
  Whole<uint32_t> slot;
  std::string ev_mode;
  std::vector<std::string> gids;
  std::vector<PortReport> ports;
  std::vector<QpReport> qps;
  std::vector<PeerReport> peers;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceReport, pid, uid, program, device, slot, ev_mode, gids, ports, qps, peers)

// From a process: the answer to `want`, with its token.
struct ReportAnswer {
  Whole<uint64_t> token;
  DeviceReport data;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReportAnswer, token, data)

// The change made by the request `port`.
struct PortChange {
  Whole<uint32_t> port;
  bool up = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PortChange, port, up)

}  // namespace mrc::ctl
