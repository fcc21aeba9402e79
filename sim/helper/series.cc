#include "sim/helper/series.h"

#include <cstring>

namespace mrc::sim {
namespace {

constexpr size_t kMaxPairs = 8;
constexpr size_t kMaxEvRows = 256;

uint64_t retransmits_of(const NicBase& nic) {
  uint64_t n = 0;
  nic.each_counter([&](const char* name, uint64_t v) {
    if (std::strcmp(name, "retransmits") == 0) n = v;
  });
  return n;
}

}  // namespace

PortTotals port_totals(Network& network) {
  PortTotals t;
  for (const Link& l : network.links())
    for (const Port* p : {l.up, l.down}) {
      const PortCounters& c = p->counters();
      t.trimmed += c.trimmed;
      t.queue_drops += c.queue_drops;
      t.marked += c.marked;
      t.lost += c.lost;
      t.lost_down += c.lost_down;
    }
  network.each_switch([&](Switch& s) {
    t.stuck += s.counters().stuck;
    t.unroutable += s.counters().unroutable;
    t.pauses += s.counters().pauses;
  });
  return t;
}

void Sampler::watch(uint32_t src, uint32_t dst) {
  if (pairs_.size() < kMaxPairs && net_.transport().kind == TransportKind::kMrc) pairs_.push_back({src, dst});
}

void Sampler::start() {
  plane_bytes_.assign(net_.spec().planes, 0);
  job_bytes_.assign(receivers_.size(), 0);
  const FabricSpec& f = net_.spec();
  if (f.planes * f.t1 <= kMaxEvRows)
    for (uint32_t p = 0; p < f.planes; ++p)
      for (uint32_t k = 0; k < f.t1; ++k)
        ev_map_.rows.push_back("plane " + std::to_string(p) + " T1 " + std::to_string(k));
  event_.schedule_in(interval_);
}

void Sampler::sample_evs(Row* row) {
  std::vector<float> good(ev_map_.rows.size()), bad(ev_map_.rows.size());
  const FabricPlan& plan = net_.plan();
  for (const auto& [src, dst] : pairs_) {
    MrcNic* nic = net_.mrc_nic(src);
    const core::PeerId peer = nic->peer_of(dst);
    if (peer == core::kNoPeer) continue;
    for (const core::EvStatus& e : nic->endpoint().ev_status(peer)) {
      const bool is_bad = e.state == core::EvState::kAssumedBad;
      row->bad_evs += is_bad;
      if (good.empty()) continue;
      (is_bad ? bad : good)[e.plane.value() * net_.spec().t1 + plan.t1_of(e.value)] += 1;
    }
  }
  if (good.empty() || pairs_.empty()) return;
  for (size_t i = 0; i < good.size(); ++i) good[i] = good[i] + bad[i] > 0 ? bad[i] / (good[i] + bad[i]) : -1;
  ev_map_.columns.push_back(std::move(good));
}

void Sampler::sample() {
  if (stopped_) return;
  Row row;
  row.at = now_ps();
  const FabricSpec& f = net_.spec();
  const double seconds = static_cast<double>(interval_) / kPsPerSecond;
  uint64_t retransmits = 0;
  std::vector<uint64_t> bytes(f.planes);
  for (uint32_t n = 0; n < f.nics(); ++n) {
    const NicBase& nic = net_.nic(n);
    for (uint32_t p = 0; p < f.planes; ++p) bytes[p] += nic.plane_counters(p).rx_data_bytes;
    retransmits += retransmits_of(nic);
  }
  for (uint32_t p = 0; p < f.planes; ++p)
    row.plane_gbps.push_back(static_cast<double>(bytes[p] - plane_bytes_[p]) * 8 / seconds / 1e9);
  plane_bytes_ = bytes;
  for (size_t job = 0; job < receivers_.size(); ++job) {
    uint64_t accepted = 0;
    for (const uint32_t n : receivers_[job]) accepted += net_.nic(n).goodput_bytes();
    row.receivers_gbps.push_back(static_cast<double>(accepted - job_bytes_[job]) * 8 / seconds / 1e9);
    job_bytes_[job] = accepted;
  }
  for (const Link& l : net_.links()) {
    const bool nic = l.kind == Link::Kind::kNic;
    int64_t& down = row.peak_queue[nic ? 0 : 2];
    down = std::max(down, l.down->take_peak_queue());
    if (!nic) row.peak_queue[1] = std::max(row.peak_queue[1], l.up->take_peak_queue());
  }
  const PortTotals t = port_totals(net_);
  const uint64_t dropped = t.queue_drops + t.lost + t.lost_down + t.stuck;
  row.retransmits = retransmits - retransmits_;
  row.trimmed = t.trimmed - trimmed_;
  row.dropped = dropped - dropped_;
  row.marked = t.marked - marked_;
  retransmits_ = retransmits;
  trimmed_ = t.trimmed;
  dropped_ = dropped;
  marked_ = t.marked;
  sample_evs(&row);
  rows_.push_back(std::move(row));
  event_.schedule_in(interval_);
}

}  // namespace mrc::sim
