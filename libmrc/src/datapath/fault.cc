// The decorator behind MRC_FAULT.
//
// A burst that no event hits is passed to the inner datapath unchanged. A hit burst is assembled again from the same
// memory: survivors stay one burst (they are all of one size, as GSO requires), marked packets and duplicates become a
// burst of their own, trimmed packets one each. Only held or changed packets are copied.
#include "datapath/fault.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "datapath/burst_parts.h"
#include "datapath/fault_plan.h"
#include "datapath/fault_selector.h"
#include "datapath/held_queue.h"
#include "wire/packet.h"

namespace mrc::datapath {

namespace {

constexpr uint32_t kMaxOvertakers = 4;
constexpr Duration kMaxReorderDelay = Duration::milliseconds(1);

// Memory for the changed packets of one burst.
class Scratch {
 public:
  void clear() { used_ = 0; }
  // Replaces the packet by a copy in one piece, which is returned.
  uint8_t* copy(core::TxBurst* packet) {
    uint8_t* bytes = memory_.data() + used_;
    flatten(*packet, bytes);
    packet->iov[0] = {bytes, packet->bytes};
    packet->iov_count = 1;
    used_ += packet->bytes;
    return bytes;
  }

 private:
  std::vector<uint8_t> memory_ = std::vector<uint8_t>(65536);  // a whole burst
  uint32_t used_ = 0;
};

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
  std::string describe() const override {
    return inner_->describe() + "fault injection: " + faults_.plan().text + "\n";
  }

 private:
  bool send(Instant now, const core::TxBurst& burst);
  void send_damaged(Instant now, const core::TxBurst& burst, Duration delay);
  void damage(core::TxBurst* part);
  bool cut(Instant now, const core::TxBurst& part, Duration delay);
  void emit(Instant now, const core::TxBurst& burst, Duration delay);

  std::unique_ptr<Datapath> inner_;
  FaultSelector faults_;
  core::DscpConfig dscp_;
  uint64_t bursts_ = 0;
  HeldQueue held_;
  DatapathCounters own_;
  DatapathCounters sum_;
  Scratch scratch_;
  // Bursts are large objects: these are reused.
  core::TxBurst whole_, main_, marked_, copies_, single_;
};

FaultDatapath::FaultDatapath(std::unique_ptr<Datapath> inner, std::shared_ptr<const FaultPlan> plan,
                             const core::DscpConfig& dscp)
    : inner_(std::move(inner)), faults_(std::move(plan)), dscp_(dscp) {}

int FaultDatapath::tx_burst(Instant now, const core::TxBurst* const* bursts, int n) {
  held_.release(now, inner_.get());
  if (n == 0) inner_->tx_burst(now, nullptr, 0);
  for (int i = 0; i < n; ++i)
    if (!send(now, *bursts[i])) return i;
  return n;
}

bool FaultDatapath::send(Instant now, const core::TxBurst& burst) {
  const FaultSelector::Effect effect = faults_.evaluate(now, burst);
  if (effect.dropped) {
    own_.fault_dropped += burst.segments;
    return true;
  }
  if (effect.affected || effect.delay > Duration()) {
    // Check first: drawn events and changed packets cannot be undone.
    if (!inner_->planes_with_room().contains(burst.plane)) return false;
    faults_.advance(now, burst);
    if (!effect.affected) {
      own_.fault_delayed += burst.segments;
      emit(now, burst, effect.delay);
    } else {
      send_damaged(now, burst, effect.delay);
    }
  } else {
    if (!inner_->tx_one(now, burst)) return false;
    faults_.advance(now, burst);
  }
  ++bursts_;
  held_.release_overtaken(now, bursts_, inner_.get());
  return true;
}

void FaultDatapath::send_damaged(Instant now, const core::TxBurst& burst, Duration delay) {
  using enum FaultSelector::SegmentFlag;
  for (core::TxBurst* part : {&main_, &marked_, &copies_, &single_}) begin(part, burst);
  marked_.flow.traffic_class |= static_cast<uint8_t>(wire::Ecn::kCe);
  scratch_.clear();
  bool markable = burst.flow.ecn() != wire::Ecn::kNotEct;
  Cutter cutter{.burst = burst};
  for (uint32_t i = 0; i < burst.segments; ++i) {
    uint8_t flags = faults_.flags(i);
    bool last = i + 1 == burst.segments;
    cutter.next(last ? burst.bytes - i * burst.segment_size : burst.segment_size, &single_);
    if ((flags & kLost) != 0) {
      ++own_.fault_dropped;
      continue;
    }
    if ((flags & kDamaged) != 0) damage(&single_);
    // Iovecs that span packets multiply when cut; a packet in one piece always fits.
    if (main_.iov_count + single_.iov_count > core::kMaxIov - core::kMaxSegments && single_.iov_count > 1)
      scratch_.copy(&single_);
    if ((flags & kCut) != 0 && cut(now, single_, delay)) continue;
    bool mark = (flags & kMarked) != 0 && markable;
    if (mark) ++own_.fault_marked;
    if ((flags & kHeld) != 0) {
      ++own_.fault_reordered;
      whole_ = single_;
      if (mark) whole_.flow = marked_.flow;
      uint32_t overtakers = 1 + static_cast<uint32_t>(faults_.rng().below(kMaxOvertakers));
      if (!held_.hold(now + kMaxReorderDelay, whole_, bursts_ + overtakers)) ++own_.fault_dropped;
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

void FaultDatapath::damage(core::TxBurst* part) {
  uint8_t* bytes = scratch_.copy(part);
  uint32_t bit = faults_.rng().below(part->bytes * 8);
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
