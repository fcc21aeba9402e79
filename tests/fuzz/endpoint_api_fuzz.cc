// Any sequence of commands on two or three endpoints over a faulty network: queue pairs made, moved between states,
// used and destroyed at any moment, bad keys and ranges, regions removed under traffic, planes down, EVs denied,
// operations started. The bookkeeping here models the contract of each command: a full queue is refused and no other,
// each request completes at most once and only while its queue pair lives, entering error flushes everything at once,
// reset and destroy complete nothing, nothing outside registered memory is written, and in the end a fresh queue pair
// works [MRC-QP-1, MRC-REQ-1].
#include <cstring>
#include <deque>
#include <memory>

#include "fuzz/fuzz_input.h"
#include "harness/fabric.h"

namespace {

using namespace mrc;
using namespace mrc::core;
using mrc::fuzz::Input;
using mrc::fuzz::require;

constexpr size_t kGuard = 256;
constexpr size_t kRegion = 16384;
constexpr uint8_t kQuiet = 0x3D;
constexpr size_t kMaxCommands = 150;
constexpr size_t kMaxQps = 6;
constexpr uint32_t kMtus[] = {256, 1024, 4096, 8192};

struct User {
  int node = 0;
  Qp* qp = nullptr;
  Qpn qpn;
  QpCaps caps;
  QpAttr attr;
  std::deque<uint64_t> sends, receives;  // posted and not completed, in order; unsignalled ones included
  std::deque<bool> signaled;
};

class World {
 public:
  explicit World(Input* in) : in_(*in), fabric_(config(in)) {
    for (int n = 0; n < nodes(); ++n) {
      memory_.emplace_back(kRegion + 2 * kGuard, kQuiet);
      keys_.emplace_back();
      add_region(n);
      fabric_.node(n).on_done = [this, n](const Completion& c) { return done(n, c); };
    }
  }

  void act() {
    switch (in_.below(16)) {
      case 0:
        create();
        break;
      case 1:
        connect_two();
        break;
      case 2:
        if (User* u = pick()) transition(u, static_cast<QpState>(in_.below(5)));
        break;
      case 3:
        if (User* u = pick(); u != nullptr && in_.below(4) == 0) destroy(u);
        break;
      case 4:
      case 5:
      case 6:
      case 7:
        if (User* u = pick()) post(u);
        break;
      case 8:
      case 9:
        if (User* u = pick()) receive(u);
        break;
      case 10:
        administer();
        break;
      case 11:
        memory();
        break;
      case 12:
        network();
        break;
      default:
        fabric_.run_for(Duration::microseconds(in_.below(4) == 0 ? in_.u16() : in_.u8()));
        break;
    }
    check_all();
  }

  void finish() {
    fabric_.net().clear_faults();
    for (int n = 0; n < nodes(); ++n) {
      for (int p = 0; p < fabric_.config().planes; ++p) fabric_.at(n).set_plane_up(fabric_.now(), plane_at(p), true);
      fabric_.at(n).set_receiver_penalty(0, true);
    }
    while (!users_.empty()) destroy(users_.back().get());
    fabric_.run_for(Duration::milliseconds(2));
    check_all();
    const harness::Link fresh = fabric_.connect(0, 1, QpAttr(), {2, 2, 1, 0});
    require(fresh.qa != nullptr && fresh.qb != nullptr, "no queue pair afterwards");
    const PeerId p = fabric_.at(0).qp_status(fresh.qa).peer;
    const PeerId back = fabric_.at(1).qp_status(fresh.qb).peer;
    for (const EvIndex ev : EvRange(16)) {
      fabric_.at(0).set_ev_denied(fabric_.now(), p, ev, false);
      fabric_.at(1).set_ev_denied(fabric_.now(), back, ev, false);
    }
    std::vector<uint8_t> source(9000), target(9000);
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i * 11 + 3);
    const Key lkey = fabric_.register_memory(0, source), rkey = fabric_.register_memory(1, target);
    fresh_ = true;
    require(fabric_.write(0, fresh.qa, 5, source.data(), 9000, lkey, target.data(), rkey) == PostResult::kOk,
            "post refused afterwards");
    require(fabric_.run_until([&] { return fresh_done_; }, Duration::seconds(10)), "a fresh queue pair does not work");
    require(source == target, "wrong bytes on a fresh queue pair");
  }

 private:
  static harness::FabricConfig config(Input* in) {
    harness::FabricConfig f;
    f.nodes = 2 + static_cast<int>(in->below(2));
    f.planes = 1 + static_cast<int>(in->below(3));
    f.evs_per_plane = 1 + static_cast<int>(in->below(3));
    f.backups_per_plane = static_cast<int>(in->below(2));
    f.endpoint.max_segments = in->below(2) ? 1 : 8;
    f.endpoint.hold_without_recv_wqe = in->below(4) != 0;
    f.endpoint.trimming = in->below(4) == 0;
    f.seed = in->u8();
    f.endpoint.placement = f.seed % 2 == 0 ? core::Placement::kInOrder : core::Placement::kAuto;
    return f;
  }

  int nodes() const { return fabric_.config().nodes; }
  User* pick() { return users_.empty() ? nullptr : users_[in_.below(static_cast<uint32_t>(users_.size()))].get(); }
  uint64_t address(int n) const { return reinterpret_cast<uint64_t>(memory_[static_cast<size_t>(n)].data()) + kGuard; }
  Key key(int n) const { return keys_[static_cast<size_t>(n)]; }
  QpState state(const User& u) { return fabric_.at(u.node).qp_state(u.qp); }

  void add_region(int n) {
    keys_[static_cast<size_t>(n)] =
        fabric_.at(n).memory().add(memory_[static_cast<size_t>(n)].data() + kGuard, address(n), kRegion, 3, 1);
  }

  User* create() {
    if (users_.size() >= kMaxQps) return nullptr;
    auto u = std::make_unique<User>();
    u->node = static_cast<int>(in_.below(static_cast<uint32_t>(nodes())));
    u->caps = {1 + in_.below(8), 1 + in_.below(8), 1 + in_.below(3), in_.below(2) * 64};
    u->qp = fabric_.make_qp(u->node, u->caps);
    require(u->qp != nullptr, "create_qp refused");
    u->qpn = fabric_.at(u->node).qp_status(u->qp).qpn;
    u->attr.path_mtu = kMtus[in_.below(4)];
    u->attr.mpr = static_cast<uint8_t>(in_.below(4));
    u->attr.mpr_dest = static_cast<uint8_t>(in_.below(4));
    u->attr.max_wimm = static_cast<uint16_t>(in_.below(4));
    u->attr.max_wimm_dest = static_cast<uint16_t>(in_.below(4));
    u->attr.dynamic_mpr = in_.below(4) == 0;
    u->attr.timeout = static_cast<uint8_t>(6 + in_.below(8));
    u->attr.retry_linear = static_cast<uint8_t>(in_.below(4));
    u->attr.retry_exp = in_.below(2) ? 25 : static_cast<uint8_t>(in_.below(3));
    u->attr.access = in_.below(8) == 0 ? 0 : 3;
    u->attr.sq_psn = Psn(in_.below(2) ? 0xFFFFFF : in_.u16());
    u->attr.rq_psn = Psn(in_.u8());
    u->attr.dest_qpn = Qpn(0x100 + in_.below(4));
    users_.push_back(std::move(u));
    return users_.back().get();
  }

  // Two new queue pairs that fit each other, both to RTS.
  void connect_two() {
    User* a = create();
    User* b = create();
    if (a == nullptr || b == nullptr || a->node == b->node) return;
    b->attr = a->attr;
    std::swap(b->attr.sq_psn, b->attr.rq_psn);
    a->attr.mpr_dest = b->attr.mpr_dest = a->attr.mpr;
    a->attr.max_wimm_dest = b->attr.max_wimm_dest = a->attr.max_wimm;
    a->attr.dest_qpn = b->qpn;
    b->attr.dest_qpn = a->qpn;
    for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      move(a, s, b->node);
      move(b, s, a->node);
    }
  }

  bool move(User* u, QpState to, int peer_node) {
    if (to == QpState::kRtr) u->attr.peer = fabric_.peer(u->node, peer_node);
    const bool ok = fabric_.to_state(u->node, u->qp, to, u->attr);
    if (to == QpState::kRtr) {
      fabric_.at(u->node).release_peer(u->attr.peer);
      u->attr.peer = kNoPeer;
    }
    return ok;
  }

  void transition(User* u, QpState to) {
    const QpState from = state(*u);
    const bool legal = to == QpState::kReset || to == QpState::kError ||
                       (from == QpState::kReset && to == QpState::kInit) ||
                       (from == QpState::kInit && (to == QpState::kInit || to == QpState::kRtr)) ||
                       (from == QpState::kRtr && to == QpState::kRts) || (from == QpState::kRts && to == QpState::kRts);
    if (to == QpState::kReset) forget(u);
    const int other = (u->node + 1) % nodes();
    require(move(u, to, other) == legal, "a transition that should not be, or one refused");
    require(state(*u) == (legal ? to : from), "state after a transition");
    if (to == QpState::kError && from != QpState::kError)
      require(settled(*u), "error left requests without completion");
  }

  // Nothing outstanding except unsignalled successes, which have no completion.
  static bool settled(const User& u) {
    return u.receives.empty() && std::find(u.signaled.begin(), u.signaled.end(), true) == u.signaled.end();
  }

  static void forget(User* u) {
    u->sends.clear();
    u->signaled.clear();
    u->receives.clear();
  }

  void destroy(User* u) {
    forget(u);
    fabric_.at(u->node).destroy_qp(u->qp);
    users_.erase(std::find_if(users_.begin(), users_.end(), [u](const auto& x) { return x.get() == u; }));
  }

  void post(User* u) {
    Sge sges[4];
    SendWr wr;
    wr.num_sge = in_.below(5);
    uint32_t length = 0;
    for (uint32_t i = 0; i < wr.num_sge; ++i) {
      const uint32_t at = in_.u16() % kRegion;
      sges[i] = {address(u->node) + at, in_.below(4) == 0 ? 0 : in_.u16() % static_cast<uint32_t>(kRegion - at + 1),
                 key(u->node)};
      if (in_.below(4) == 0) sges[i].length %= 64;
      length += sges[i].length;
      if (in_.below(64) == 0) sges[i].lkey = Key(sges[i].lkey.value() + 0x100);
    }
    wr.wr_id = next_id_++;
    wr.op = in_.below(3) == 0 ? SendOp::kWriteImm : SendOp::kWrite;
    wr.signaled = in_.below(4) != 0;
    wr.inline_data = in_.below(6) == 0;
    wr.sges = sges;
    const int to = (u->node + 1) % nodes();
    wr.remote_addr = address(to) + in_.u16() % 512;
    wr.rkey = key(to);
    if (in_.below(32) == 0) wr.remote_addr -= 512;
    wr.imm = in_.u8();
    const QpState s = state(*u);
    u->sends.push_back(wr.wr_id);
    u->signaled.push_back(wr.signaled);
    const bool was_full = u->sends.size() > u->caps.max_send_wr;
    const PostResult r = fabric_.at(u->node).post_send(fabric_.now(), u->qp, wr);
    if (r == PostResult::kOk) {
      require(s == QpState::kRts || s == QpState::kError, "post_send in a state without a send queue");
      require(wr.num_sge <= u->caps.max_send_sge || wr.inline_data, "too many elements taken");
      require(!wr.inline_data || length <= u->caps.max_inline, "too much inline data taken");
      if (s == QpState::kError)
        require(u->sends.empty() || u->sends.back() != wr.wr_id, "a request posted in error did not come back at once");
      return;
    }
    u->sends.pop_back();
    u->signaled.pop_back();
    if (r == PostResult::kQueueFull) require(was_full, "a queue with room refused");
    if (r == PostResult::kBadState) require(s != QpState::kRts && s != QpState::kError, "post_send refused in RTS");
  }

  void receive(User* u) {
    const QpState s = state(*u);
    u->receives.push_back(next_id_);
    const bool full = u->receives.size() > u->caps.max_recv_wr;
    const PostResult r = fabric_.at(u->node).post_recv(fabric_.now(), u->qp, next_id_++);
    if (r == PostResult::kOk) {
      require(!full && s != QpState::kReset, "post_recv took too much");
      return;
    }
    u->receives.pop_back();
    require(r == PostResult::kQueueFull ? full : s == QpState::kReset, "post_recv refused without reason");
  }

  bool done(int node, const Completion& c) {
    if (fresh_) {
      if (!c.is_recv) {
        require(c.wr_id == 5 && c.status == WcStatus::kSuccess && !fresh_done_, "completion on the fresh queue pair");
        fresh_done_ = true;
      }
      return true;
    }
    const auto it =
        std::find_if(users_.begin(), users_.end(), [&](const auto& u) { return u->node == node && u->qpn == c.qpn; });
    require(it != users_.end(), "completion for a queue pair that is gone");
    User& u = **it;
    if (c.is_recv) {
      require(!u.receives.empty() && u.receives.front() == c.wr_id, "receive completion out of order or twice");
      u.receives.pop_front();
      return true;
    }
    // Unsignalled ones before it are done with it, as shown by the number of slots.
    uint32_t slots = 0;
    for (;;) {
      require(!u.sends.empty(), "send completion out of order or twice");
      const bool signaled = u.signaled.front();
      const uint64_t id = u.sends.front();
      u.sends.pop_front();
      u.signaled.pop_front();
      ++slots;
      if (id == c.wr_id) break;
      require(!signaled, "a signalled request without completion");
    }
    require(slots == c.slots, "slots of a send completion");
    return true;
  }

  void administer() {
    const int n = static_cast<int>(in_.below(static_cast<uint32_t>(nodes())));
    Endpoint& e = fabric_.at(n);
    const Instant now = fabric_.now();
    const PeerId peer = in_.below(3);
    switch (in_.below(6)) {
      case 0:
        e.set_plane_up(now, plane_at(in_.below(4)), in_.below(2));
        break;
      case 1:
        e.set_ev_denied(now, peer, ev_at(in_.below(12)), in_.below(2));
        break;
      case 2:
        e.set_receiver_penalty(in_.u8(), in_.below(2));
        break;
      case 3:
        e.flush_all_acks();
        break;
      case 4:
        e.start_endpoint_op(now, peer, ev_at(in_.below(12)), in_.u16(), in_.below(2), PlaneSet::from_mask(in_.u8()),
                            Duration::microseconds(in_.u16()));
        break;
      default:
        e.ev_status(peer);
        break;
    }
  }

  void memory() {
    const int n = static_cast<int>(in_.below(static_cast<uint32_t>(nodes())));
    if (in_.below(4) != 0) return;
    require(fabric_.at(n).memory().remove(key(n)), "a region that was there");
    require(fabric_.at(n).memory().find(key(n)) == nullptr, "a removed region is found");
    add_region(n);
  }

  void network() {
    simnet::SimNet& net = fabric_.net();
    if (in_.below(3) == 0) return net.clear_faults();
    simnet::LinkConfig& l = net.link(static_cast<int>(in_.below(static_cast<uint32_t>(net.planes()))));
    l.loss = in_.u8() / 600.0;
    l.duplicate = in_.u8() / 1000.0;
    l.reorder = in_.u8() / 500.0;
    l.corrupt = in_.u8() / 2000.0;
    l.queue_bytes = 3000u << in_.below(8);
    l.trim = in_.below(2);
    if (in_.below(4) == 0)
      net.add_outage({static_cast<int>(in_.below(4)) - 1, static_cast<int>(in_.below(3)) - 1, fabric_.now(),
                      fabric_.now() + Duration::microseconds(in_.u16())});
  }

  void check_all() {
    for (const auto& m : memory_)
      for (size_t i = 0; i < kGuard; ++i)
        require(m[i] == kQuiet && m[kGuard + kRegion + i] == kQuiet, "a write outside the region");
    for (const auto& u : users_)
      if (state(*u) == QpState::kError) require(settled(*u), "requests outstanding on a queue pair in error");
  }

  Input& in_;
  harness::Fabric fabric_;
  std::vector<std::vector<uint8_t>> memory_;
  std::vector<Key> keys_;
  std::vector<std::unique_ptr<User>> users_;
  uint64_t next_id_ = 1000;
  bool fresh_ = false, fresh_done_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  World world(&in);
  for (size_t i = 0; i < kMaxCommands && !in.empty(); ++i) world.act();
  world.finish();
  return 0;
}
