// Every counter is declared once here: name and sentence. Tools, the exporter and the documentation are made from it.
// Those of losses are defined in spec/states.md [MRC-CNT-1..3].
#pragma once

#include <cstdint>

namespace mrc::core {

#define MRC_COUNTERS(X)                                                                            \
  X(tx_packets, "packets sent, data and control")                                                  \
  X(tx_bytes, "UDP payload bytes sent")                                                            \
  X(tx_bursts, "bursts passed to the driver")                                                      \
  X(rx_packets, "packets received, before any check")                                              \
  X(rx_bytes, "UDP payload bytes received")                                                        \
  X(tx_data, "request packets sent, retransmissions included")                                     \
  X(rx_data, "request packets accepted and placed")                                                \
  X(retransmits, "request packets retransmitted, for any reason")                                  \
  X(fast_retransmits, "of the retransmits, those that later arrivals caused, before a timeout")    \
  X(timeouts, "expired timeouts of packets; not each is followed by a retransmission")             \
  X(spurious_retransmits, "of the retransmits, those known to be needless")                        \
  X(tx_sacks, "SACKs sent")                                                                        \
  X(rx_sacks, "SACKs received")                                                                    \
  X(tx_nacks, "NACKs sent")                                                                        \
  X(rx_nacks, "NACKs received")                                                                    \
  X(tx_acks, "transport ACKs and NAKs sent")                                                       \
  X(rx_acks, "transport ACKs and NAKs received")                                                   \
  X(tx_probes, "reliability probes sent")                                                          \
  X(rx_probes, "reliability probes answered")                                                      \
  X(tx_ev_probes, "EV probes sent")                                                                \
  X(rx_ev_probes, "EV probes answered")                                                            \
  X(tx_plane_requests, "queries of a peer's planes sent")                                          \
  X(rx_plane_requests, "queries of our planes answered")                                           \
  X(planes_learnt, "planes of peers learnt or corrected by their answers")                         \
  X(tx_port_requests, "queries of a peer's source ports sent")                                     \
  X(rx_port_requests, "queries of our source ports answered")                                      \
  X(port_sets_learnt, "sets of source ports announced by peers")                                   \
  X(rx_duplicates, "request packets that had already arrived")                                     \
  X(rx_early, "request packets whose payload waited for earlier packets, to be written in order")  \
  X(rx_trimmed, "trimmed packets received")                                                        \
  X(rx_ecn, "request packets received with a CE mark")                                             \
  X(drop_decode, "packets dropped: not an MRC packet or truncated")                                \
  X(drop_icrc, "packets dropped: ICRC wrong")                                                      \
  X(drop_no_qp, "packets dropped: no such QP")                                                     \
  X(drop_source, "packets dropped: not from an address of the QP's peer")                          \
  X(drop_source_port, "packets dropped: from a port not announced by the peer")                    \
  X(drop_beside_pipe, "packets dropped: from the network, while shared memory carries the peer's") \
  X(drop_state, "packets dropped: QP not ready for them")                                          \
  X(drop_window, "packets dropped or NACKed: PSN outside the window")                              \
  X(drop_access, "request packets refused: key, range or access")                                  \
  X(drop_memory_gone, "request packets refused: their region's memory is gone")                    \
  X(drop_misfit, "request packets refused: they do not fit their message")                         \
  X(contradictions, "QPs failed because packets of the peer contradicted each other")              \
  X(drop_replies, "connectionless requests not answered: too many, or from no peer")               \
  X(drop_stale, "control packets ignored: stale or inconsistent")                                  \
  X(ev_assumed_bad, "transitions of an EV to ASSUMED_BAD")                                         \
  X(ev_recovered, "transitions of an EV from ASSUMED_BAD to GOOD")                                 \
  X(ev_skips, "transitions of an EV to SKIP")                                                      \
  X(port_status_refused, "port status updates refused: invalid, or early")                         \
  X(port_status_refuted, "planes reported down whose EV probe was answered")                       \
  X(plane_suspensions, "planes retired because their paths failed together")                       \
  X(plane_lossy, "planes left because they delivered much less than others")                       \
  X(link_suspicions, "links suspected because their paths failed together")                        \
  X(tx_too_long, "bursts refused by the driver: longer than the path MTU")                         \
  X(mtu_searches, "searches for the path MTU of a plane")                                          \
  X(mtu_failures, "QPs that failed: their packets exceed the path MTU")                            \
  X(wimm_held, "WriteIMMs that waited for a receive work request")                                 \
  X(tx_datagrams, "datagrams sent")                                                                \
  X(rx_datagrams, "datagrams received into receive requests")                                      \
  X(drop_datagram_qkey, "datagrams dropped: Q_Key is not the QP's")                                \
  X(drop_datagram_no_receive, "datagrams dropped: no receive request")                             \
  X(drop_multicast, "packets to multicast groups dropped: no datagram, or no member is here")      \
  X(drop_datagram_length, "datagrams dropped: longer than the receive request or the path MTU")    \
  X(qp_errors, "QPs that went to error")                                                           \
  X(out_of_memory, "packets dropped and transmissions delayed: memory ran out")

struct Counters {
#define MRC_COUNTER_FIELD(name, sentence) uint64_t name = 0;
  MRC_COUNTERS(MRC_COUNTER_FIELD)
#undef MRC_COUNTER_FIELD
};

// Of one plane; every report of a plane has all of them. `losses`: packets sent on it that were taken for lost, by
// inference, timeout or NACK, rightly or not; `ecn_marks`: packets received on it with a CE mark.
#define MRC_PLANE_COUNTERS(X) \
  X(tx_packets)               \
  X(tx_bytes)                 \
  X(rx_packets)               \
  X(rx_bytes)                 \
  X(losses)                   \
  X(retransmits)              \
  X(ecn_marks)

struct PlaneCounters {
#define MRC_COUNTER_FIELD(name) uint64_t name = 0;
  MRC_PLANE_COUNTERS(MRC_COUNTER_FIELD)
#undef MRC_COUNTER_FIELD
};

}  // namespace mrc::core
