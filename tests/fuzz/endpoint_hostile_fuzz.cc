// A connected pair of endpoints with traffic, and an attacker that can forge packets from either: raw bytes, packets
// with chosen fields near the window, genuine ones mutated or repeated, cut ones. ICRCs are made right, so that the
// forgeries get as deep as they can. Whatever comes, nothing outside registered memory changes, no work request
// completes twice, and a fresh queue pair between the two still carries data when the forger has stopped [MRC-WIRE-1,
// MRC-RX-1].
#include <cstring>
#include <deque>
#include <iterator>
#include <set>

#include "core/datagram_receive_queue.h"
#include "fuzz/fuzz_input.h"
#include "harness/fabric.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace {

using namespace mrc;
using namespace mrc::core;
using mrc::fuzz::Input;
using mrc::fuzz::require;

constexpr size_t kGuard = 512;
constexpr size_t kRegion = 8192;
constexpr uint8_t kQuiet = 0x5C;
constexpr size_t kMaxForged = 200;
constexpr Qpn kDatagramQpn = Qpn(0x180);
constexpr uint32_t kQkey = 7;
constexpr IpAddress kGroup = IpAddress::v4(239, 1, 2, 3);

struct Seen {
  int from = 0;
  PlaneId plane;
  wire::Flow flow;
  std::vector<uint8_t> bytes;
};

void put_payload(const std::vector<uint8_t>& payload, wire::Packet* p) {
  p->payload = payload.data();
  p->payload_len = static_cast<uint32_t>(payload.size());
  p->bth.pad = wire::pad_for(p->payload_len);
}

// Fields behind the BTH. `other` is a PSN near that of the packet; `payload` holds the packet's until it is encoded.
void compose_sack(Input& in, Psn other, wire::Packet* p) {
  p->sack = {};
  p->sack.seth.cack_psn = other;
  p->sack.seth.ack_psn_offset = static_cast<int16_t>(in.below(2) ? static_cast<int8_t>(in.u8()) : in.u16());
  p->sack.seth.pr = in.below(3) == 0;
  p->sack.seth.probe_id = in.u8();
  p->sack.seth.m = static_cast<wire::PathVerdict>(in.below(4));
  p->sack.seth.entropy = 49152u + in.u8() % 16;
  p->sack.seth.mpr = in.u8();
  p->sack.seth.sack_offset = static_cast<int16_t>(in.below(2) ? static_cast<int8_t>(in.u8()) : in.u16());
  p->sack.seth.sack_bitmap = static_cast<uint64_t>(in.u32()) << 32 | in.u32();
  p->sack.cc.tx_timestamp = in.u16();
  p->sack.cc.ooo_count = in.u16() & 0x7FFF;
  p->sack.cc.rcvd_bytes = in.u32() & 0xFFFFFF;
  p->sack.cc.rcv_cwnd_pen = in.u8() & 0x7F;
  p->sack.cc.restore_cwnd = in.below(2);
}

void compose_nack(Input& in, Psn other, wire::Packet* p) {
  p->neth = {};
  p->neth.reason = static_cast<wire::NackReason>(in.u8());
  p->neth.nack_psn = other;
  p->neth.entropy = in.u32();
  p->neth.tx_timestamp = in.u16();
}

void compose_datagram(Input& in, wire::Packet* p, std::vector<uint8_t>* payload) {
  p->ud = {};
  if (in.below(8) != 0) p->bth.dqp = kDatagramQpn;
  p->bth.solicited = in.below(2);
  p->ud.deth.qkey = in.below(8) == 0 ? in.u32() : kQkey;
  p->ud.deth.src_qpn = Qpn(in.u16());
  *payload = in.bytes(in.below(2) ? in.below(1100) : in.below(300));
  put_payload(*payload, p);
}

void compose_plane(Input& in, wire::Packet* p, std::vector<uint8_t>* payload) {
  p->plth = {};
  p->bth.dqp = wire::kEndpointQpn;
  p->plth.version = in.below(8) == 0 ? in.u8() : wire::Plth::kVersion;
  p->plth.plane = in.below(8) == 0 ? in.u8() : static_cast<uint8_t>(in.below(5));
  p->plth.planes = static_cast<uint8_t>(in.below(6));
  p->plth.slot = in.below(8) == 0 ? in.u8() : 0;
  p->plth.nonce = in.u8();
  for (uint8_t& b : p->plth.addr.bytes) b = in.u8();
  p->plth.port = in.u16();
  p->plth.ready = in.below(2) != 0;
  if (in.below(2) != 0) {
    wire::Spth spth;
    spth.total = in.below(2) ? in.u8() : in.u16();
    spth.first = in.below(4) == 0 ? in.u16() : 0;
    spth.set = in.below(2);
    for (uint32_t i = 0; i < wire::Spth::kPorts; ++i)
      spth.ports[i] = in.below(16) == 0 ? in.u16() : static_cast<uint16_t>(49152 + i);
    payload->resize(wire::Spth::kSize);
    spth.encode(std::span(*payload).first<wire::Spth::kSize>());
    p->plth.ports = true;
    p->payload = payload->data();
    p->payload_len = wire::Spth::kSize;
  }
}

class World {
 public:
  World(uint8_t shape, uint8_t options) : fabric_(config(shape)), now_(fabric_.now()) {
    for (int n = 0; n < 2; ++n) {
      memory_[n].assign(kRegion + 2 * kGuard, kQuiet);
      key_[n] = fabric_.at(n).memory().add(memory_[n].data() + kGuard, address(n), kRegion, 3, 1);
      // Memory that may be read locally only: no remote byte may land here.
      locked_[n].assign(kRegion, kQuiet);
      locked_key_[n] = fabric_.at(n).memory().add(locked_[n].data(), reinterpret_cast<uint64_t>(locked_[n].data()),
                                                  kRegion, kAccessLocalWrite, 1);
      fabric_.node(n).on_done = [this, n](const Completion& c) { return done(n, c); };
      datagrams_[n] = std::make_unique<DatagramReceiveQueue>(16, 1, 1, false);
      datagram_qp_[n] = fabric_.at(n).create_datagram_qp(
          DatagramQpInit{&fabric_.node(n), kDatagramQpn, 1, {16, 16, 1, 0}, datagrams_[n].get()});
      for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts})
        require(fabric_.at(n).modify_datagram_qp(now_, datagram_qp_[n], s, {kQkey, 1024, Psn(0), 0xFFFF}),
                "a transition failed");
      require(fabric_.at(n).attach_datagram_qp(datagram_qp_[n], kGroup) == Attached::kNow, "no room in a group");
    }
    QpAttr attr;
    attr.path_mtu = options & 1 ? 1024 : 256;
    attr.mpr = attr.mpr_dest = static_cast<uint8_t>(1 + (options >> 1) % 4);
    attr.max_wimm = attr.max_wimm_dest = static_cast<uint16_t>(1 + (options >> 3) % 8);
    attr.dynamic_mpr = options >> 6 & 1;
    attr.timeout = 8;
    attr.sq_psn = Psn(0xFFFFF0);
    attr.rq_psn = Psn(100);
    attr_ = attr;
    link_ = fabric_.connect(0, 1, attr, {16, 16, 2, 0});
    pump();
  }

  void act(Input& in) {
    switch (in.below(10)) {
      case 0: {
        const size_t n = in.below(300);
        forge(in, in.bytes(n));
        break;
      }
      case 1:
      case 2:
        forge(in, composed(in));
        break;
      case 3:
      case 4:
        if (const Seen* s = pick(in)) {
          std::vector<uint8_t> b = s->bytes;
          for (uint32_t i = in.below(4); i > 0; --i) b[in.u16() % std::min<size_t>(b.size(), 52)] = in.u8();
          if (in.below(8) == 0) b.resize(in.u16() % (b.size() + 1));
          inject(1 - s->from, s->plane, s->flow, std::move(b), true);
        }
        break;
      case 5:
        if (const Seen* s = pick(in)) inject(1 - s->from, s->plane, s->flow, s->bytes, false);
        break;
      case 6:
        if (const Seen* s = pick(in)) {  // as a trimming switch would, or would not
          Seen cut = *s;
          cut.flow.traffic_class = static_cast<uint8_t>((in.below(2) ? 12 : 16) << 2 | 2);
          cut.bytes.resize(std::min<size_t>(cut.bytes.size(), 8 + in.below(40)));
          if (in.below(2)) cut.bytes[in.u8() % cut.bytes.size()] = in.u8();
          inject(1 - cut.from, cut.plane, cut.flow, std::move(cut.bytes), false);
        }
        break;
      case 7:
        post(in);
        break;
      case 8:
        post_receive(in.below(2));
        break;
      default:
        run_for(Duration::microseconds(in.below(4) == 0 ? in.u16() : in.u8()));
        break;
    }
  }

  void finish() {
    for (int p = 0; p < fabric_.config().planes; ++p)
      for (int n = 0; n < 2; ++n) fabric_.at(n).set_plane_up(now_, plane_at(p), true);
    run_for(Duration::milliseconds(3));
    check_guards();
    for (int n = 0; n < 2; ++n) {
      fabric_.at(n).destroy_qp(n == 0 ? link_.qa : link_.qb);
      require(completions_[n] <= posted_[n], "more completions than work requests");
    }
    // A fresh pair of queue pairs: the forgeries must not have broken the endpoints.
    QpAttr attr;
    attr.path_mtu = 1024;
    const harness::Link fresh = fabric_.connect(0, 1, attr, {4, 4, 1, 0});
    std::vector<uint8_t> source(5000), target(5000);
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i * 7 + 1);
    const Key lkey = fabric_.register_memory(0, source);
    const Key rkey = fabric_.register_memory(1, target);
    fresh_ = true;
    fresh_done_ = false;
    require(fabric_.write(0, fresh.qa, 77, source.data(), 5000, lkey, target.data(), rkey) == PostResult::kOk,
            "post refused afterwards");
    for (int i = 0; i < 400 && !fresh_done_; ++i) run_for(Duration::milliseconds(10));
    require(fresh_done_ && source == target, "a fresh queue pair no longer works");
    check_guards();
  }

 private:
  static harness::FabricConfig config(uint8_t shape) {
    harness::FabricConfig f;
    f.planes = 1 + shape % 3;
    f.evs_per_plane = 2;
    f.backups_per_plane = shape >> 2 & 1;
    f.endpoint.max_segments = shape & 8 ? 1 : 6;
    f.endpoint.trimming = shape & 16;
    f.endpoint.hold_without_recv_wqe = !(shape & 32);
    f.endpoint.timestamps = !(shape & 64);
    f.endpoint.placement = shape & 128 ? core::Placement::kInOrder : core::Placement::kAuto;
    return f;
  }

  uint64_t address(int n) const { return reinterpret_cast<uint64_t>(memory_[n].data()) + kGuard; }

  bool done(int n, const Completion& c) {
    if (fresh_) {
      if (!c.is_recv && c.wr_id == 77) {
        require(c.status == WcStatus::kSuccess, "failure on the fresh queue pair");
        fresh_done_ = true;
      }
      return true;
    }
    ++completions_[n];
    require(outstanding_[n].erase(c.wr_id) == 1, "completion twice or of nothing");
    return true;
  }

  const Seen* pick(Input& in) { return genuine_.empty() ? nullptr : &genuine_[in.u8() % genuine_.size()]; }

  void compose_request(Input& in, wire::Packet* p, std::vector<uint8_t>* payload) const {
    p->meth.msn = in.u16();
    p->meth.rqmsn = in.u8();
    p->tseth.tx_timestamp = in.u16();
    *payload = in.bytes(in.below(2) ? attr_.path_mtu : in.below(300));
    put_payload(*payload, p);
    const bool only = p->bth.opcode == wire::Opcode::kWriteOnly || p->bth.opcode == wire::Opcode::kWriteOnlyImm;
    p->req.reth.dmalen = in.below(8) == 0 ? in.u32() : only ? p->payload_len : p->payload_len + 1 + in.u16();
    const uint64_t start = in.below(6) == 0 ? reinterpret_cast<uint64_t>(locked_[victim_].data()) : address(victim_);
    p->req.reth.va = start + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(in.u16()) / 2));
    if (in.below(16) == 0) p->req.reth.va = UINT64_MAX - in.u8();
    p->req.reth.rkey =
        in.below(6) == 0 ? locked_key_[victim_] : Key(key_[victim_].value() + (in.below(16) == 0 ? in.u16() : 0u));
    p->req.imm.data = in.u8();
  }

  // A packet with chosen fields, from the peer of a chosen node.
  std::vector<uint8_t> composed(Input& in) {
    victim_ = static_cast<int>(in.below(2));
    wire::Packet p;
    p.bth.opcode = wire::kLayouts[in.below(std::size(wire::kLayouts))].opcode;
    p.bth.dqp = Qpn(0x100 + (in.below(8) == 0 ? in.u8() : 0u));
    p.bth.ack_req = in.below(4) == 0;
    p.bth.rtx = in.below(4) == 0;
    p.bth.ts = in.below(2);
    // The PSN that the victim sends or expects next, give or take.
    const bool request = wire::is_request(p.bth.opcode) || p.bth.opcode == wire::Opcode::kProbe;
    const Psn base = (victim_ == 0) == request ? attr_.rq_psn : attr_.sq_psn;
    const int32_t near = in.below(4) == 0 ? static_cast<int32_t>(in.u32()) : static_cast<int8_t>(in.u8());
    p.bth.psn = base + near;
    const Psn other = p.bth.psn + static_cast<int8_t>(in.below(4) == 0 ? in.u8() : 0);
    std::vector<uint8_t> payload;
    switch (p.bth.opcode) {
      case wire::Opcode::kAck:
        p.aeth = {};
        p.aeth.syndrome = in.below(2) ? 0x1F : in.u8();
        p.aeth.msn = in.u8();
        break;
      case wire::Opcode::kSack:
        compose_sack(in, other, &p);
        break;
      case wire::Opcode::kNack:
        compose_nack(in, other, &p);
        break;
      case wire::Opcode::kDatagram:
      case wire::Opcode::kDatagramImm:
        compose_datagram(in, &p, &payload);
        break;
      case wire::Opcode::kProbe:
        p.peth = {};
        p.peth.probe_id = in.u16();
        break;
      case wire::Opcode::kEndpointRequest:
        p.erth = {};
        p.bth.dqp = wire::kEndpointQpn;
        p.erth.op = static_cast<wire::EndpointOp>(in.below(4));
        p.erth.port_status_mask = in.u32();
        p.erth.vendor_info = in.u8();
        break;
      case wire::Opcode::kEndpointResponse:
        p.eeth = {};
        p.bth.dqp = wire::kEndpointQpn;
        p.bth.psn = Psn(0x8000 + in.u8());
        p.eeth.op = static_cast<wire::EndpointOp>(in.below(4));
        break;
      case wire::Opcode::kPlaneRequest:
      case wire::Opcode::kPlaneResponse:
        compose_plane(in, &p, &payload);
        break;
      default:
        compose_request(in, &p, &payload);
        break;
    }
    std::vector<uint8_t> out(wire::packet_bytes(p.bth.opcode, p.bth.ts, p.payload_len));
    wire::encode_packet(out, p);
    return out;
  }

  void forge(Input& in, std::vector<uint8_t> bytes) {
    const PlaneId plane(static_cast<uint8_t>(in.u8() % fabric_.config().planes));
    wire::Flow flow;
    flow.src = fabric_.describe(1 - victim_).planes[plane].addr;
    flow.dst = fabric_.describe(victim_).planes[plane].addr;
    const uint8_t port = in.u8();
    flow.src_port = static_cast<uint16_t>(49152 + port % 8);
    if (port >= 224) flow.dst = kGroup;
    if (port >= 240 && bytes.size() >= 8) std::fill_n(bytes.begin() + 5, 3, uint8_t{0xFF});  // the multicast number
    flow.dst_port = 4791;
    flow.traffic_class = static_cast<uint8_t>(in.below(8) == 0 ? in.u8() : in.below(4) == 0 ? 3 : 2);
    inject(victim_, plane, flow, std::move(bytes), true);
  }

  void inject(int to, PlaneId plane, const wire::Flow& flow, std::vector<uint8_t> bytes, bool seal) {
    if (bytes.empty()) return;
    if (seal && bytes.size() >= 16) wire::icrc_store(bytes.data() + bytes.size() - 4, wire::icrc_compute(flow, bytes));
    // An exact allocation: a read behind the packet is found.
    std::vector<uint8_t> exact(bytes);
    exact.shrink_to_fit();
    RxBurst burst;
    burst.flow = flow;
    burst.plane = plane;
    burst.data = exact.data();
    burst.bytes = burst.segment_size = static_cast<uint32_t>(exact.size());
    fabric_.at(to).handle_rx(now_, burst);
    pump();
  }

  void post(Input& in) {
    const int n = static_cast<int>(in.below(2));
    Qp* qp = n == 0 ? link_.qa : link_.qb;
    Sge sges[2];
    const uint32_t length = in.u16() % 3000;
    const uint32_t first = in.below(2) ? length : length / 2;
    sges[0] = {address(n), first, key_[n]};
    sges[1] = {address(n) + first, length - first, key_[n]};
    if (in.below(16) == 0) sges[0].lkey = Key(sges[0].lkey.value() ^ 0x100);
    SendWr wr;
    wr.wr_id = next_wr_++;
    wr.op = in.below(3) == 0 ? SendOp::kWriteImm : SendOp::kWrite;
    wr.signaled = true;
    wr.sges = sges;
    wr.num_sge = 2;
    wr.remote_addr = address(1 - n) + in.u8();
    wr.rkey = in.below(16) == 0 ? locked_key_[1 - n] : key_[1 - n];
    outstanding_[n].insert(wr.wr_id);
    ++posted_[n];
    if (fabric_.at(n).post_send(now_, qp, wr) != PostResult::kOk) {
      outstanding_[n].erase(wr.wr_id);
      --posted_[n];
    }
    pump();
  }

  void post_receive(int n) {
    outstanding_[n].insert(next_wr_);
    ++posted_[n];
    if (fabric_.at(n).post_recv(now_, n == 0 ? link_.qa : link_.qb, next_wr_) != PostResult::kOk) {
      outstanding_[n].erase(next_wr_);
      --posted_[n];
    }
    ++next_wr_;
    const Sge sge{address(n), 400, key_[n]};
    outstanding_[n].insert(next_wr_);
    ++posted_[n];
    if (fabric_.at(n).post_datagram_recv(datagram_qp_[n], next_wr_, &sge, 1) != PostResult::kOk) {
      outstanding_[n].erase(next_wr_);
      --posted_[n];
    }
    ++next_wr_;
    pump();
  }

  void pump() {
    for (int n = 0; n < 2; ++n) {
      Endpoint& e = fabric_.at(n);
      if (e.next_timeout() <= now_) e.handle_timeout(now_);
      for (int i = 0; e.poll_tx(now_, &burst_); ++i) {
        require(i < 10000, "poll_tx never ends");
        note(n);
        fabric_.net().send(now_, n, burst_);
      }
    }
  }

  void note(int n) {
    Seen s{n, burst_.plane, burst_.flow, {}};
    for (uint32_t i = 0; i < burst_.iov_count; ++i) {
      const auto* p = static_cast<const uint8_t*>(burst_.iov[i].iov_base);
      s.bytes.insert(s.bytes.end(), p, p + burst_.iov[i].iov_len);
    }
    s.bytes.resize(std::min<size_t>(s.bytes.size(), burst_.segment_size));
    genuine_.push_back(std::move(s));
    if (genuine_.size() > 16) genuine_.pop_front();
  }

  void run_for(Duration time) {
    const Instant end = now_ + time;
    for (int steps = 0;; ++steps) {
      require(steps < 200000, "time does not pass");
      while (const auto due = fabric_.net().take(now_)) fabric_.at(due->node).handle_rx(now_, due->burst);
      pump();
      Instant next = fabric_.net().next_delivery();
      for (int n = 0; n < 2; ++n) next = std::min(next, fabric_.at(n).next_timeout());
      if (next > end) break;
      now_ = std::max(now_ + Duration::nanoseconds(1), next);
    }
    now_ = end;
  }

  void check_guards() const {
    for (int n = 0; n < 2; ++n) {
      for (size_t i = 0; i < kGuard; ++i)
        require(memory_[n][i] == kQuiet && memory_[n][kGuard + kRegion + i] == kQuiet, "a write outside the region");
      for (uint8_t b : locked_[n]) require(b == kQuiet, "a write into memory without remote access");
    }
  }

  std::unique_ptr<DatagramReceiveQueue> datagrams_[2];
  DatagramQp* datagram_qp_[2] = {};
  harness::Fabric fabric_;
  Instant now_;
  TxBurst burst_;
  std::vector<uint8_t> memory_[2], locked_[2];
  Key key_[2] = {}, locked_key_[2] = {};
  QpAttr attr_;
  harness::Link link_;
  std::deque<Seen> genuine_;
  std::set<uint64_t> outstanding_[2];
  size_t completions_[2] = {}, posted_[2] = {};
  uint64_t next_wr_ = 1000;
  int victim_ = 1;
  bool fresh_ = false, fresh_done_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  const uint8_t shape = in.u8();
  World world(shape, in.u8());
  for (size_t i = 0; i < kMaxForged && !in.empty(); ++i) world.act(in);
  world.finish();
  return 0;
}
