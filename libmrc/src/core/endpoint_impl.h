// EndpointImpl: what the endpoint is made of. Split by concern: endpoint.cc (commands, QP table, lists), endpoint_rx.cc
// (dispatch of received packets), endpoint_tx.cc (what leaves next), endpoint_ops.cc (EV probes, port status, planes),
// endpoint_learn.cc (a peer's planes asked for), endpoint_ports.cc (a peer's source ports).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "core/endpoint.h"
#include "core/path_meter.h"
#include "core/path_mtu.h"
#include "core/peer_paths.h"
#include "core/qp.h"
#include "core/reply_limiter.h"
#include "core/source_ports.h"
#include "core/timer_heap.h"
#include "core/tx_window.h"
#include "wire/packet.h"

namespace mrc::core {

// A question to a peer that is repeated with a doubling pause until it is answered or the tries are used up [MRC-EXT-2].
struct Question {
  static constexpr uint8_t kMaxTries = 12;
  static constexpr Duration kFirstPause = Duration::milliseconds(5);
  static constexpr uint8_t kMaxDoublings = 7;               // 640 ms between the last ones
  static constexpr Duration kFresh = Duration::seconds(1);  // so long no other QP asks again

  uint64_t nonce = 0;
  uint8_t tries = 0;
  Instant asked = Instant::from_ns(INT64_MIN / 4);
  Instant next = Instant::never();  // when it is asked again
  Instant begun = Instant::from_ns(INT64_MIN / 4);

  void begin(Instant now, uint64_t new_nonce) {
    begun = now;
    nonce = new_nonce;
    tries = 0;
  }
  bool exhausted() const { return tries >= kMaxTries; }
  void count_try(Instant now) {
    asked = now;
    next = now + kFirstPause * (1 << std::min(tries, kMaxDoublings));
    ++tries;
  }
  // No sooner than a first repetition.
  void restart(Instant now) {
    tries = 0;
    next = std::max(now, asked + kFirstPause);
  }
};

// For a peer's planes.
struct Learning : Question {
  uint64_t heard = 0;   // nonce of the peer's latest question
  uint32_t open = 0;    // bit per plane whose answer is missing or says that we are not heard there yet
  uint32_t in_use = 1;  // bit per plane on which both ends hear each other
};

// For a peer's source ports; the tries are those of the part that is due [MRC-EXT-9].
struct PortQuestion : Question {
  bool open = false;
};

struct Peer {
  Peer(PeerId peer_id, const PeerDescription& d, const EndpointConfig& c, const EvNames& names, Counters* counters,
       TraceSink* trace, Rng* rng)
      : id(peer_id),
        interned(d),
        description(d),
        paths(c, names, d, counters, trace, rng),
        meter(c.congestion.line_rate_bps, c.congestion.base_rtt),
        mtu(std::min<size_t>(c.planes.size(), 32), c.ev_probe_interval) {
    timer.owner = this;
  }
  // Is this an address of the peer?
  bool owns(const IpAddress& addr, uint8_t plane) const {
    return any_plane_at(addr, plane, [](uint8_t) { return true; });
  }
  // While shared memory brings what the peer sends to that plane, packets from the network are no packets of the peer's
  // [MRC-LOCAL-8].
  bool comes_by(uint8_t plane, uint32_t pipe) {
    uint32_t& standing = pipes[plane % pipes.size()];
    if (pipe != 0) standing = pipe;
    return standing == pipe;
  }
  // May packets from that address, one of the peer's, have this source port? Ports are compared per address: the same
  // port of another address of that host may be anybody's [MRC-SEC-9].
  bool sends_from(const IpAddress& addr, uint8_t plane, uint16_t port) const {
    return !source_ports.announced() ||
           any_plane_at(addr, plane, [&](uint8_t p) { return source_ports.contains(p, port); });
  }
  // Only records of destroyed QPs refer to it: nothing is sent there but answers.
  bool left() const { return refs == graves; }
  PeerId id;
  uint32_t refs = 0;
  uint32_t graves = 0;          // of refs, those of tombstones
  PeerDescription interned;     // as it was given, by which it is found
  PeerDescription description;  // with what the peer itself has told
  PeerPaths paths;
  TimerNode timer;
  Learning learning;
  PortQuestion port_question;
  PeerSourcePorts source_ports;
  bool reflects = false;  // it repeats the timestamp of an endpoint request [MRC-EVP-4]
  // Round trips that any QP to this peer has seen lately: a QP that has none of its own, or old ones, must not take the
  // queue that its neighbours make for silence.
  Duration recent_rtt;
  PathMeter meter;
  PathMtu mtu;
  std::array<uint32_t, 32> pipes{};          // per plane: RxBurst::pipe that brings the peer's packets; 0: none
  std::array<uint16_t, 32> size_probe_ev{};  // of the round, per plane
  uint32_t path_mtu = 0;                     // largest of any QP to this peer

 private:
  // Does `holds` for a plane of the peer's with that address? It mostly is the plane on which the packet came.
  template <typename Holds>
  bool any_plane_at(const IpAddress& addr, uint8_t likely, const Holds& holds) const {
    const std::vector<PlaneAddress>& planes = description.planes;
    if (likely < planes.size() && planes[likely].addr == addr && holds(likely)) return true;
    for (size_t i = 0; i < planes.size(); ++i)
      if (planes[i].addr == addr && holds(static_cast<uint8_t>(i))) return true;
    return false;
  }
};

// A control packet that belongs to no stream of SACKs: NACK, probe, endpoint request or response. Built when it is due,
// ICRC and all, and sent with the next burst that its plane takes.
inline constexpr uint32_t kControlRoom = 128;  // the largest, SPTH and ICRC included, is as long
struct OneOff {
  wire::Flow flow;
  uint8_t plane = 0;
  uint16_t ev_index = 0;
  uint8_t length = 0;
  uint16_t padding = 0;  // zeros between headers and ICRC
  std::array<uint8_t, kControlRoom> bytes;
};

// Intrusive list of QPs through one of their links.
template <QpLink Qp::*kLink>
class QpList {
 public:
  void push_back(Qp* qp) {
    QpLink& l = qp->*kLink;
    if (l.linked) return;
    l = {tail_, nullptr, true};
    (tail_ != nullptr ? (tail_->*kLink).next : head_) = qp;
    tail_ = qp;
  }
  void remove(Qp* qp) {
    QpLink& l = qp->*kLink;
    if (!l.linked) return;
    (l.prev != nullptr ? (l.prev->*kLink).next : head_) = l.next;
    (l.next != nullptr ? (l.next->*kLink).prev : tail_) = l.prev;
    l = {};
  }
  Qp* front() const { return head_; }
  bool empty() const { return head_ == nullptr; }

 private:
  Qp* head_ = nullptr;
  Qp* tail_ = nullptr;
};

// What remains of a destroyed QP for a while, so that a peer whose last ACK or NAK was lost still gets one
// [MRC-RSP-11].
struct Tombstone {
  TransportAck last;
  PeerId peer = kNoPeer;
  Instant heard;  // the last request
  Instant answered = Instant::from_ns(INT64_MIN / 4);
};

struct EndpointOpRecord {
  uint16_t id = 0;
  PeerId peer = kNoPeer;
  uint16_t ev = 0;
  uint8_t plane = 0;
  uint8_t dscp = 0;
  bool internal = false;
  bool port_status = false;
  uint8_t resends = 0;
  bool size_probe = false;  // of PathMtu, for packets of the path MTU `mtu`
  bool overdue = false;     // an EV probe of ours that was reported as lost; its answer still counts
  uint16_t timestamp = 0;   // in the packet
  uint32_t mtu = 0;
  uint32_t mask = 0;
  Instant sent_at;
  Instant deadline;
};

class EndpointImpl {
 public:
  EndpointImpl(const EndpointConfig& c, Sink* s, TraceSink* t);

  // endpoint.cc
  Qp* find_qp(uint32_t qpn) const;
  void make_ready(Qp* qp) { ready_.push_back(qp); }
  void make_control(Qp* qp) { control_.push_back(qp); }
  void enter_error(Instant now, Qp* qp, WcStatus first, AsyncEvent event);
  void forget(Qp* qp);  // out of every list and timer
  bool modify(Instant now, Qp* qp, QpState to, const QpAttr& attr);
  void set_peer(Qp* qp, PeerId id);
  Peer* peer(PeerId id) const { return id < peers_.size() ? peers_[id].get() : nullptr; }
  void release_peer(PeerId id);
  void bury(uint32_t index, const Tombstone& t);
  void trace(Instant now, uint32_t qpn, TraceEvent e, TraceTrigger why, uint64_t a, uint64_t b, uint64_t c = 0,
             uint64_t d = 0) {
    if (__builtin_expect(trace_sink != nullptr, 0)) trace_sink->on_trace({now, a, b, c, d, qpn, e, why});
  }

  // endpoint_rx.cc
  void handle_rx(Instant now, const RxBurst& burst);
  void dispatch(Instant now, const RxBurst& burst, const wire::Packet& p, uint32_t bytes);
  bool is_from(Instant now, Peer* peer, const RxBurst& burst);
  void on_foreign_port(Instant now, Peer* p);  // endpoint_ports.cc
  void answer_for_tombstone(Instant now, const RxBurst& burst, const wire::Packet& p);
  void ack_for_tombstone(Instant now, Tombstone* t);

  // endpoint_tx.cc
  bool poll_tx(Instant now, TxBurst* out, uint32_t planes_with_room);
  bool send_owed(Instant now, TxBurst* out, uint32_t planes_with_room);
  void handle_timeout(Instant now);
  void set_flow(TxBurst* out, const Peer& to, uint16_t ev, uint8_t dscp) const;
  bool fill_flow(wire::Flow* flow, const Peer& to, uint16_t ev, uint8_t dscp) const;
  // Queues a control packet of `length` bytes of headers; appends the ICRC. False, and dropped, when too many wait.
  [[nodiscard]] bool queue_one_off(const wire::Flow& flow, uint16_t ev, const uint8_t* headers, uint32_t length,
                                   uint32_t padding = 0);
  // The same for the answer to a connectionless request of `asked` bytes, whose source is not proven: within the limits
  // of ReplyLimiter, and in a queue of its own [MRC-SEC-11].
  [[nodiscard]] bool queue_reply(Instant now, const wire::Flow& flow, uint16_t ev, const uint8_t* headers,
                                 uint32_t length, uint32_t asked);
  // False: not sent, because there is no path or too many control packets wait.
  bool send_ack(Instant now, const Peer& to, uint16_t ev, const TransportAck& ack);
  bool send_nack(Instant now, Qp* qp, const wire::Flow& from, Psn psn, uint16_t timestamp, wire::NackReason reason);
  void count_tx(const TxBurst& b);

  // endpoint_ops.cc
  template <typename Which>
  void drop_ops(Which which) {
    ops_.erase(std::remove_if(ops_.begin(), ops_.end(), which), ops_.end());
  }
  void leave_peer(Peer* p);
  bool start_op(Instant now, PeerId peer, uint16_t ev, uint16_t id, bool port_status, uint32_t mask, Duration timeout,
                bool internal, uint8_t traffic_class = 0);
  bool send_op(Instant now, EndpointOpRecord* op);  // false: no room in the queue
  uint16_t new_op_id();
  bool on_port_status(Instant now, const wire::Flow& flow, uint32_t mask);  // false: refused, not to be answered
  void on_endpoint_request(Instant now, const wire::Flow& flow, uint8_t plane, const wire::Packet& p, uint32_t bytes);
  void on_endpoint_response(Instant now, const wire::Flow& flow, const wire::Packet& p);
  void handle_op_timeouts(Instant now);
  void probe_paths(Instant now, Peer* p);
  // endpoint_mtu.cc
  void suspect_path_mtu(Instant now, Peer* p, uint8_t plane, uint32_t mtu);
  void on_packet_too_long(Instant now, uint8_t plane, const IpAddress& to);
  void search_path_mtu(Instant now, Peer* p);
  bool take_size_answer(Instant now, const EndpointOpRecord& op);
  void apply_path_mtu(Instant now, Peer* p, uint8_t plane, PathMtu::Verdict verdict);
  uint32_t peer_path_mtu(const Peer& p) const;  // what its planes in use carry; 0: no limit is known
  void rearm_peer(Peer* p);
  void wake_senders();

  // endpoint_learn.cc
  void start_learning(Instant now, Peer* p);
  void ask_for_planes(Instant now, Peer* p);
  void on_plane_request(Instant now, const wire::Flow& flow, uint8_t plane, const wire::Packet& p);
  bool hears(const wire::Flow& flow, const wire::Plth& ask) const;
  void ask_back(Instant now, const wire::Flow& flow, const wire::Plth& ask);
  void on_plane_response(Instant now, const wire::Flow& flow, uint8_t plane, const wire::Packet& p);
  bool count_try(Instant now, Question* question, bool open);
  wire::Plth plane_question(const Question& question, uint8_t plane) const;
  bool learn_plane(Peer* to, const wire::Plth& told);
  void use_plane(Instant now, Peer* to, uint8_t plane, bool ready);
  void handle_learn_timeouts(Instant now);

  // endpoint_ports.cc
  void start_port_question(Instant now, Peer* p);
  void open_port_question(Instant now, Peer* p);
  void ask_for_ports(Instant now, Peer* p);
  bool on_announced_ports(Instant now, const wire::Flow& flow, uint8_t plane, const wire::Packet& p);

  void set_plane_up(Instant now, uint8_t plane, bool up);
  uint32_t all_planes() const { return config.planes.size() >= 32 ? UINT32_MAX : (1u << config.planes.size()) - 1; }
  uint16_t ev_index_of(uint32_t value) const;  // UINT16_MAX when unknown

  EndpointConfig config;
  const EvNames ev_names;
  Sink* const sink;
  TraceSink* const trace_sink;
  Rng rng;
  const uint64_t message_secret;  // odd; keeps a sender from making two messages look alike [MRC-SEC-1]
  const OwnSourcePorts own_ports;
  MemoryTable memory;
  Counters counters;
  std::vector<PlaneCounters> plane_counters;
  TimerHeap timers;
  TxWindowPool windows;
  // The least that some peer's planes carry, as far as it was found out lately; new QPs are offered no more.
  uint32_t found_mtu = UINT32_MAX;
  Instant found_mtu_until;
  uint8_t receiver_penalty = 0;
  bool restore_cwnd = false;
  uint32_t planes_up = UINT32_MAX;

 private:
  friend class Endpoint;
  // Ring of control packets that wait for poll_tx.
  struct OneOffQueue {
    explicit OneOffQueue(size_t capacity) : slots(capacity) {}
    bool push(const EndpointConfig& c, const wire::Flow& flow, uint16_t ev, const uint8_t* headers, uint32_t length,
              uint32_t padding);
    std::vector<OneOff> slots;
    size_t head = 0, count = 0;
  };
  bool send_one_off(OneOffQueue* queue, TxBurst* out, uint32_t planes_with_room);
  bool is_peer_address(const IpAddress& addr) const;

  static constexpr size_t kMaxOneOffs = 1024;
  static constexpr size_t kMaxReplies = 256;

  // A QP number, by its low 16 bits, gets a slot when it is used first and keeps it: numbers are scattered, and what is
  // kept per QP is not. 0: none.
  std::vector<uint16_t> slots_;
  uint32_t slot_of(uint32_t qpn) const {
    const uint32_t i = qpn & 0xFFFF;
    return i < slots_.size() ? slots_[i] - 1u : UINT32_MAX;
  }
  std::vector<Qp*> qps_;  // by slot
  uint32_t live_qps_ = 0;
  std::vector<std::unique_ptr<Peer>> peers_;
  QpList<&Qp::ready> ready_;
  QpList<&Qp::control> control_;
  uint32_t data_before_answers_ = 0;  // bursts of data that have gone in front of owed answers
  OneOffQueue one_offs_{kMaxOneOffs};
  OneOffQueue replies_{kMaxReplies};  // to connectionless requests
  ReplyLimiter reply_limiter_;
  Rng nonces_;  // of questions for source ports
  std::vector<uint8_t> padded_;        // the padded one that poll_tx() has handed out
  std::vector<Tombstone> tombstones_;  // by slot like qps_; one goes when its number is used again
  std::vector<EndpointOpRecord> ops_;
  TimerNode op_timer_;
  TimerNode learn_timer_;
};

}  // namespace mrc::core
