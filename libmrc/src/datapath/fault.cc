// The decorator behind MRC_FAULT.
//
// A rule with a probability does not draw a number per packet: it draws the distance to its next event from the
// geometric distribution, and counts packets down. A burst that no event hits is passed to the inner datapath
// unchanged. A hit burst is assembled again from the same memory: survivors stay one burst (they are all of one size,
// as GSO requires), marked packets and duplicates become a burst of their own, trimmed packets one each. Only held or
// changed packets are copied.
#include "datapath/fault.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "datapath/burst_parts.h"
#include "datapath/fault_plan.h"
#include "datapath/held_queue.h"
#include "wire/packet.h"

namespace mrc::datapath {

namespace {

constexpr uint32_t kMaxOvertakers = 4;
constexpr Duration kReorderAtMost = Duration::milliseconds(1);

enum SegmentFlag : uint8_t { kLost = 1, kCopied = 2, kHeld = 4, kDamaged = 8, kMarked = 16, kCut = 32 };

class FaultDatapath final : public Datapath {
 public:
  FaultDatapath(std::unique_ptr<Datapath> inner, std::shared_ptr<const FaultPlan> plan, const core::DscpConfig& dscp);

  int rx_burst(Instant now, core::RxBurst* out, int max) override {
    held_.release(now, inner_.get());
    inner_->flush();
    return inner_->rx_burst(now, out, max);
  }
  int tx_burst(Instant now, const core::TxBurst* const* bursts, int n) override;
  void flush() override { inner_->flush(); }
  PlaneSet planes_with_room() override { return inner_->planes_with_room(); }
  int wait_fds(int* out, int max) const override { return inner_->wait_fds(out, max); }
  void before_wait() override { inner_->before_wait(); }
  void after_wait() override { inner_->after_wait(); }
  Instant next_timeout() const override { return std::min(inner_->next_timeout(), held_.next_timeout()); }
  uint32_t max_segments() const override { return inner_->max_segments(); }
  uint32_t max_burst_bytes() const override { return inner_->max_burst_bytes(); }
  uint32_t receive_room() const override { return inner_->receive_room(); }
  std::optional<TooLong> take_too_long() override { return inner_->take_too_long(); }
  const ClosedPlanes& closed_planes() const override { return inner_->closed_planes(); }
  Status open_plane(PlaneId plane, const IpAddress& addr) override { return inner_->open_plane(plane, addr); }
  uint32_t max_groups() const override { return inner_->max_groups(); }
  Result<PerPlane<core::PlaneAddress>> group_sources() override { return inner_->group_sources(); }
  Status join_group(const PerPlane<core::PlaneAddress>& group) override { return inner_->join_group(group); }
  void leave_group(const PerPlane<core::PlaneAddress>& group) override { inner_->leave_group(group); }
  uint32_t take_ended_pipe() override { return inner_->take_ended_pipe(); }
  const DatapathCounters& counters() override;
  std::string describe() const override { return inner_->describe() + "fault injection: " + plan_->text + "\n"; }

 private:
  struct RuleState {
    Rng rng{0};
    uint64_t gap = 0;  // packets until the next event
    uint32_t run = 0;  // packets of a burst loss still to drop
  };

  uint64_t draw_gap(RuleState* state, double p);
  bool send(Instant now, const core::TxBurst& burst);
  void send_damaged(Instant now, const core::TxBurst& burst, Duration delay);
  void mark_segments(const core::TxBurst& burst, Duration since);
  uint8_t* copy(core::TxBurst* part);
  void damage(core::TxBurst* part);
  bool cut(Instant now, const core::TxBurst& part, Duration delay);
  void emit(Instant now, const core::TxBurst& burst, Duration delay);

  std::unique_ptr<Datapath> inner_;
  std::shared_ptr<const FaultPlan> plan_;
  core::DscpConfig dscp_;
  std::vector<RuleState> states_;
  bool started_ = false;
  Instant origin_;
  uint64_t bursts_ = 0;
  HeldQueue held_;
  DatapathCounters own_;
  DatapathCounters sum_;
  std::array<uint8_t, core::kMaxSegments> flags_;
  std::vector<uint8_t> scratch_;  // bytes of changed packets of the current burst
  uint32_t scratch_used_ = 0;
  // Bursts are large objects: these are reused.
  core::TxBurst whole_, main_, marked_, copies_, single_;
};

FaultDatapath::FaultDatapath(std::unique_ptr<Datapath> inner, std::shared_ptr<const FaultPlan> plan,
                             const core::DscpConfig& dscp)
    : inner_(std::move(inner)), plan_(std::move(plan)), dscp_(dscp), states_(plan_->rules.size()), scratch_(65536) {
  for (size_t i = 0; i < states_.size(); ++i) {
    states_[i].rng = Rng(plan_->seed * 0x9E3779B97F4A7C15ull + i);
    states_[i].gap = draw_gap(&states_[i], plan_->rules[i].probability);
  }
}

uint64_t FaultDatapath::draw_gap(RuleState* state, double p) {
  if (p >= 1) return 0;
  if (p <= 0) return UINT64_MAX;
  double gap = std::log1p(-state->rng.unit()) / std::log1p(-p);
  return gap < 1e18 ? static_cast<uint64_t>(gap) : UINT64_MAX;
}

int FaultDatapath::tx_burst(Instant now, const core::TxBurst* const* bursts, int n) {
  held_.release(now, inner_.get());
  if (n == 0) inner_->tx_burst(now, nullptr, 0);
  for (int i = 0; i < n; ++i)
    if (!send(now, *bursts[i])) return i;
  return n;
}

bool FaultDatapath::send(Instant now, const core::TxBurst& burst) {
  if (!started_) {
    started_ = true;
    origin_ = now;
  }
  Duration since = now - origin_;
  bool hit = false;
  Duration delay;
  for (size_t i = 0; i < states_.size(); ++i) {
    const FaultRule& rule = plan_->rules[i];
    if (!rule.concerns(burst.plane, burst.ev_index) || !rule.active(since)) continue;
    if (rule.kind == FaultKind::kBlackhole) {
      own_.fault_dropped += burst.segments;
      return true;
    }
    if (rule.kind == FaultKind::kDelay) {
      int64_t span = (rule.delay_most - rule.delay).ns();
      delay = delay + rule.delay +
              Duration::nanoseconds(static_cast<int64_t>(states_[i].rng.unit() * static_cast<double>(span)));
    } else if (states_[i].gap < burst.segments || states_[i].run > 0) {
      hit = true;
    }
  }
  if (hit || delay > Duration()) {
    // Check first: drawn events and changed packets cannot be undone.
    if (!inner_->planes_with_room().contains(burst.plane)) return false;
    mark_segments(burst, since);
    if (!hit) {
      own_.fault_delayed += burst.segments;
      emit(now, burst, delay);
    } else {
      send_damaged(now, burst, delay);
    }
  } else {
    if (!inner_->tx_one(now, burst)) return false;
    mark_segments(burst, since);
  }
  ++bursts_;
  held_.release_overtaken(now, bursts_, inner_.get());
  return true;
}

// Counts every rule's distance down by the burst, and notes which segments its events fall on.
void FaultDatapath::mark_segments(const core::TxBurst& burst, Duration since) {
  std::fill_n(flags_.begin(), burst.segments, uint8_t{0});
  for (size_t i = 0; i < states_.size(); ++i) {
    const FaultRule& rule = plan_->rules[i];
    RuleState& state = states_[i];
    if (rule.kind == FaultKind::kDelay || rule.kind == FaultKind::kBlackhole) continue;
    if (!rule.concerns(burst.plane, burst.ev_index) || !rule.active(since)) continue;
    uint8_t flag = kLost;
    switch (rule.kind) {
      case FaultKind::kDup:
        flag = kCopied;
        break;
      case FaultKind::kReorder:
        flag = kHeld;
        break;
      case FaultKind::kCorrupt:
        flag = kDamaged;
        break;
      case FaultKind::kEcn:
        flag = kMarked;
        break;
      case FaultKind::kTrim:
        flag = kCut;
        break;
      default:
        break;
    }
    uint32_t at = 0;
    while (at < burst.segments) {
      if (state.run > 0) {
        flags_[at++] |= kLost;
        --state.run;
        continue;
      }
      uint32_t left = burst.segments - at;
      if (state.gap >= left) {
        if (state.gap != UINT64_MAX) state.gap -= left;
        break;
      }
      at += static_cast<uint32_t>(state.gap);
      if (rule.kind == FaultKind::kBurstLoss)
        state.run = rule.run;
      else
        flags_[at++] |= flag;
      state.gap = draw_gap(&state, rule.probability);
    }
  }
}

void FaultDatapath::send_damaged(Instant now, const core::TxBurst& burst, Duration delay) {
  for (core::TxBurst* part : {&main_, &marked_, &copies_, &single_}) begin(part, burst);
  marked_.flow.traffic_class |= static_cast<uint8_t>(wire::Ecn::kCe);
  scratch_used_ = 0;
  bool markable = burst.flow.ecn() != wire::Ecn::kNotEct;
  Cutter cutter{.burst = burst};
  for (uint32_t i = 0; i < burst.segments; ++i) {
    uint8_t flags = flags_[i];
    bool last = i + 1 == burst.segments;
    cutter.next(last ? burst.bytes - i * burst.segment_size : burst.segment_size, &single_);
    if ((flags & kLost) != 0) {
      ++own_.fault_dropped;
      continue;
    }
    if ((flags & kDamaged) != 0) damage(&single_);
    // Iovecs that span packets multiply when cut; a packet in one piece always fits.
    if (main_.iov_count + single_.iov_count > core::kMaxIov - core::kMaxSegments && single_.iov_count > 1)
      copy(&single_);
    if ((flags & kCut) != 0 && cut(now, single_, delay)) continue;
    bool mark = (flags & kMarked) != 0 && markable;
    if (mark) ++own_.fault_marked;
    if ((flags & kHeld) != 0) {
      ++own_.fault_reordered;
      whole_ = single_;
      if (mark) whole_.flow = marked_.flow;
      uint32_t overtakers = 1 + static_cast<uint32_t>(states_[0].rng.below(kMaxOvertakers));
      if (!held_.hold(now + kReorderAtMost, whole_, bursts_ + overtakers)) ++own_.fault_dropped;
    } else {
      append(mark ? &marked_ : &main_, single_);
    }
    if ((flags & kCopied) != 0) {
      ++own_.fault_duplicated;
      append(&copies_, single_);
    }
  }
  for (core::TxBurst* part : {&main_, &marked_, &copies_}) {
    if (part->segments == 0) continue;
    if (part->segments == 1) part->segment_size = part->bytes;
    if (delay > Duration()) own_.fault_delayed += part->segments;
    emit(now, *part, delay);
  }
}

// Replaces the packet by a copy in one piece.
uint8_t* FaultDatapath::copy(core::TxBurst* part) {
  uint8_t* bytes = scratch_.data() + scratch_used_;
  flatten(*part, bytes);
  part->iov[0] = {bytes, part->bytes};
  part->iov_count = 1;
  scratch_used_ += part->bytes;
  return bytes;
}

void FaultDatapath::damage(core::TxBurst* part) {
  uint8_t* bytes = copy(part);
  uint32_t bit = states_[0].rng.below(part->bytes * 8);
  bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1u << (bit % 8)));
  ++own_.fault_corrupted;
}

// Sends the head of a request packet or probe as a trimming switch does. False: not a trimmable packet.
bool FaultDatapath::cut(Instant now, const core::TxBurst& part, Duration delay) {
  uint8_t head[core::kHeaderRoom];
  uint32_t have = 0;
  for (uint32_t i = 0; i < part.iov_count && have < sizeof(head); ++i) {
    uint32_t take = std::min<uint32_t>(static_cast<uint32_t>(part.iov[i].iov_len), sizeof(head) - have);
    std::memcpy(head + have, part.iov[i].iov_base, take);
    have += take;
  }
  wire::Packet packet;
  if (wire::decode_trimmed({head, have}, &packet) != wire::DecodeError::kOk) return false;
  uint32_t keep = wire::Bth::kSize;
  if (wire::is_request(packet.bth.opcode)) keep += wire::Meth::kSize + (packet.bth.ts ? wire::Tseth::kSize : 0);
  begin(&whole_, part);
  whole_.flow.traffic_class = static_cast<uint8_t>(dscp_.trimmed << 2 | (part.flow.traffic_class & 3));
  whole_.segments = 1;
  whole_.segment_size = whole_.bytes = keep;
  whole_.iov_count = 1;
  whole_.iov[0] = {head, keep};
  ++own_.fault_trimmed;
  emit(now, whole_, delay);
  return true;
}

void FaultDatapath::emit(Instant now, const core::TxBurst& burst, Duration delay) {
  // Packets without room at this point wait with the delayed ones.
  if (delay == Duration() && inner_->tx_one(now, burst)) return;
  if (!held_.hold(now + delay, burst, 0)) own_.fault_dropped += burst.segments;
}

const DatapathCounters& FaultDatapath::counters() {
  sum_ = inner_->counters();
  return sum_ += own_;
}

}  // namespace

std::unique_ptr<Datapath> make_fault_datapath(std::unique_ptr<Datapath> inner, std::shared_ptr<const FaultPlan> plan,
                                              const core::DscpConfig& dscp) {
  return std::make_unique<FaultDatapath>(std::move(inner), std::move(plan), dscp);
}

}  // namespace mrc::datapath
