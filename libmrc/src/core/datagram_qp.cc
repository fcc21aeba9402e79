#include "core/datagram_qp.h"

#include <algorithm>

#include "core/datagram_placement.h"
#include "core/flows.h"
#include "invariant.h"
#include "wire/bytes.h"

namespace mrc::core {

DatagramQp::DatagramQp(EngineContext* engine, PeerTable* peers, const DatagramQpInit& init)
    : engine_(*engine), peers_(*peers), init_(init) {
  sends_.init(init.caps);
}

DatagramQp::~DatagramQp() {
  drop_sends();
}

void DatagramQp::drop_sends() {
  while (!sends_.empty()) {
    peers_.release(sends_.front_peer());
    sends_.pop_front();
  }
}

void DatagramQp::enter(Instant now, QpState to, const DatagramAttr& attr) {
  const QpState from = state_;
  state_ = to;
  if (to == QpState::kError) {
    if (from == QpState::kError) return;
    flush_sends();
    if (!init_.receive->shared()) flush_receives();
  } else {
    attr_ = attr;
    if (to == QpState::kRts && from == QpState::kRtr) first_number_ = sends_.requests().end_seq();
  }
  if (to == QpState::kReset) {
    drop_sends();
    completions_.reset();
    if (!init_.receive->shared()) init_.receive->clear();
  }
  engine_.report(now, init_.qpn, TraceTrigger::kApplication, event::QpState{.state = to});
}

PostResult DatagramQp::post_send(const DatagramWr& wr) {
  if (state_ != QpState::kRts && state_ != QpState::kError) return PostResult::kBadState;
  Peer* const peer = peers_.find(wr.peer);
  if (peer == nullptr) return PostResult::kBadState;
  DatagramWr request = wr;
  if ((wr.qkey & kQkeyOfQp) != 0) request.qkey = attr_.qkey;  // [MRC-UD-5]
  const PostResult posted = sends_.post(request, attr_.path_mtu);
  if (posted == PostResult::kOk) peers_.add_reference(peer);
  return posted;
}

PostResult DatagramQp::post_recv(uint64_t wr_id, const Sge* sges, uint32_t num_sge) {
  const PostResult posted = init_.receive->post(wr_id, sges, num_sge);
  if (posted == PostResult::kOk && state_ == QpState::kError) flush_receives();
  return posted;
}

void DatagramQp::complete_front(WcStatus status) {
  std::optional<Completion> done = completions_.on_finished(sends_.front(), status, init_.qpn);
  const PeerId peer = sends_.front_peer();
  sends_.pop_front();
  peers_.release(peer);
  // A full completion queue has lost the completion, and the application is notified by its event.
  if (done) (void)deliver(*done);
}

bool DatagramQp::deliver(const Completion& done) {
  return init_.sink->on_completion(done);
}

void DatagramQp::complete_sent() {
  while (sends_.has_sent()) complete_front(WcStatus::kSuccess);
}

void DatagramQp::flush_sends() {
  complete_sent();
  while (!sends_.empty()) complete_front(WcStatus::kFlushed);
}

void DatagramQp::flush_receives() {
  while (!init_.receive->empty()) {
    Completion done;
    done.wr_id = init_.receive->front().wr_id;
    done.status = WcStatus::kFlushed;
    done.is_recv = true;
    done.qpn = init_.qpn;
    init_.receive->pop();
    (void)deliver(done);
  }
}

// The application's own error; a peer cannot cause it. The caller has completed the request that failed.
void DatagramQp::fail(Instant now, WcStatus status) {
  if (state_ == QpState::kError) return;
  state_ = QpState::kError;
  ++engine_.counters.qp_errors;
  engine_.report(now, init_.qpn, TraceTrigger::kFatal, event::QpState{.state = QpState::kError, .cause = status});
  flush_sends();
  if (!init_.receive->shared()) flush_receives();
  init_.sink->on_event(AsyncEvent::kQpFatal);
}

uint32_t DatagramQp::write_headers(const Wqe& w, std::span<uint8_t> out) const {
  const DatagramSendQueue::Destination& to = sends_.next_destination();
  wire::Bth bth;
  bth.solicited = to.solicited;
  bth.pad = wire::pad_for(w.length);
  bth.pkey = attr_.pkey;
  bth.dqp = to.qpn;
  bth.psn = attr_.sq_psn + static_cast<int32_t>((sends_.next_number() - first_number_) & 0x7FFFFF);
  wire::Deth deth;
  deth.qkey = to.qkey;
  deth.src_qpn = init_.qpn;
  const uint32_t imm = wire::get32(reinterpret_cast<const uint8_t*>(&w.imm));
  return wire::encode_datagram_headers(out, w.with_imm ? wire::Opcode::kDatagramImm : wire::Opcode::kDatagram, bth,
                                       deth, imm);
}

// False: the burst ends before this one.
bool DatagramQp::add_to(TxBurst* out, BurstBuilder* builder, bool* failed) {
  const Wqe& w = sends_.next();
  const wire::Opcode op = w.with_imm ? wire::Opcode::kDatagramImm : wire::Opcode::kDatagram;
  const uint32_t bytes = wire::packet_bytes(op, false, w.length);
  const uint32_t max_bytes = std::min(std::max<uint32_t>(engine_.config.max_burst_bytes, 9000), kMaxBurstBytes);
  if (out->segments > 0 && (bytes > out->segment_size || out->bytes + bytes > max_bytes)) return false;
  if (!builder->room(w.inline_data ? 1u : w.num_sge)) return false;
  iovec pieces[kMaxIov];
  const int n = sends_.requests().gather(w, 0, w.length, engine_.memory, init_.pd, pieces,
                                         static_cast<int>(kMaxIov - out->iov_count - 2));
  if (n < 0) {
    *failed = out->segments == 0;
    return false;
  }
  builder->add(write_headers(w, builder->header()), pieces, n, w.length);
  sends_.on_sent();
  return bytes == out->segment_size;
}

bool DatagramQp::build(Instant now, Peer* peer, EvIndex ev, TxBurst* out) {
  const EndpointConfig& c = engine_.config;
  const uint8_t traffic_class = sends_.next_destination().traffic_class;
  const uint8_t dscp = traffic_class != 0 ? static_cast<uint8_t>(traffic_class >> 2) : c.dscp.no_trim;
  BurstBuilder builder(out, c.icrc);
  set_flow(c, peer->description, ev, dscp, out);
  // A burst to a group is copied to each member's socket, which segmentation by the kernel does not do everywhere.
  const bool group = peer->description.is_group();
  const uint32_t max_segments = group ? 1 : std::min(std::max<uint32_t>(1, c.max_segments), kMaxSegments);
  out->hop_limit = peer->description.hop_limit;
  bool failed = false;
  while (out->segments < max_segments && sends_.has_unsent()) {
    const DatagramSendQueue::Destination& to = sends_.next_destination();
    if (to.peer != peer->id || to.traffic_class != traffic_class || !add_to(out, &builder, &failed)) break;
  }
  if (!failed) {
    const uint32_t taken = out->segments;
    builder.finish();
    if (builder.unreadable()) {
      // [MRC-UD-12]
      sends_.take_back(taken - out->segments);
      failed = out->segments == 0;
      if (failed) {
        const MemoryFault fault =
            sends_.requests().fault_of(sends_.next(), engine_.memory, builder.unreadable()->address);
        engine_.sink.on_memory_fault(init_.qpn, fault);
      }
    }
  }
  if (failed) {
    complete_sent();
    complete_front(WcStatus::kLocalProtection);
    fail(now, WcStatus::kLocalProtection);
    return false;
  }
  engine_.counters.tx_datagrams += out->segments;
  peer->paths.on_datagrams_sent(ev, out->segments, out->bytes);
  return true;
}

bool DatagramQp::accepts(const wire::Packet& p) const {
  Counters& counters = engine_.counters;
  if (state_ != QpState::kRtr && state_ != QpState::kRts) {
    ++counters.drop_state;
    return false;
  }
  if (p.ud.deth.qkey != attr_.qkey) {  // [MRC-UD-5]
    ++counters.drop_datagram_qkey;
    return false;
  }
  if (init_.receive->empty()) {  // [MRC-UD-7]
    ++counters.drop_datagram_no_receive;
    return false;
  }
  if (p.payload_len > attr_.path_mtu || init_.receive->front().bytes < uint64_t{p.payload_len} + kGrhBytes) {
    ++counters.drop_datagram_length;
    return false;
  }
  return true;
}

void DatagramQp::receive(Instant now, const RxBurst& burst, const wire::Packet& p, uint32_t bytes,
                         const IpAddress& source, const IpAddress& destination) {
  const DatagramReceiveQueue::Request to = init_.receive->front();
  const Grh grh = make_grh(burst.flow, source, destination, bytes);
  Completion done;
  done.wr_id = to.wr_id;
  done.is_recv = true;
  done.qpn = init_.qpn;
  done.src_qpn = p.ud.deth.src_qpn;
  done.v4_header = source.is_v4() && destination.is_v4();
  done.byte_len = p.payload_len + kGrhBytes;
  done.solicited = p.bth.solicited;
  done.with_imm = wire::with_imm(p.bth.opcode);
  if (done.with_imm) wire::put32(reinterpret_cast<uint8_t*>(&done.imm), p.ud.imm.data);
  MemoryFault fault;
  if (!place_datagram(engine_.memory, init_.receive->pd(), to, grh, {p.payload, p.payload_len}, &fault))
    done.status = WcStatus::kLocalProtection;
  if (fault.length != 0) engine_.sink.on_memory_fault(init_.qpn, fault);
  init_.receive->pop();
  const bool delivered = deliver(done);
  if (done.status == WcStatus::kSuccess) ++engine_.counters.rx_datagrams;
  if (done.status != WcStatus::kSuccess || !delivered) fail(now, done.status);
}

void DatagramQp::check() const {
  if constexpr (!kCheckInvariants) return;
  sends_.check();
  init_.receive->check();
  MRC_INVARIANT(sends_.empty() || peers_.find(sends_.front_peer()) != nullptr);
}

}  // namespace mrc::core
