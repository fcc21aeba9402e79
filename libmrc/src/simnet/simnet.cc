#include "simnet/simnet.h"

#include <algorithm>

#include "invariant.h"
#include "wire/bth.h"
#include "wire/meth.h"
#include "wire/tseth.h"

namespace mrc::simnet {

namespace {
// The rest of a packet after trimming: BTH, METH and, if present, TSETH.
constexpr size_t kTrimBytes = wire::Bth::kSize + wire::Meth::kSize + wire::Tseth::kSize;
constexpr size_t kMaxCoalesced = 15;
}  // namespace

void SimNet::clear_faults() {
  for (LinkConfig& l : links_) {
    const LinkConfig clean;
    l.loss = l.burst_loss = l.duplicate = l.reorder = l.corrupt = 0;
    l.jitter = Duration();
    l.queue_bytes = std::max(l.queue_bytes, clean.queue_bytes);
  }
  outages_.clear();
  ev_loss_.clear();
  filter_ = nullptr;
  in_burst_loss_.clear();
}

bool SimNet::silent(Instant now, int plane, int node) const {
  for (const Outage& o : outages_)
    if ((o.plane < 0 || o.plane == plane) && (o.node < 0 || o.node == node) && now >= o.from && now < o.to) return true;
  return false;
}

void SimNet::send(Instant now, int node, const core::TxBurst& burst) {
  std::vector<uint8_t> flat;
  flat.reserve(burst.bytes);
  for (uint32_t i = 0; i < burst.iov_count; ++i) {
    const auto* p = static_cast<const uint8_t*>(burst.iov[i].iov_base);
    flat.insert(flat.end(), p, p + burst.iov[i].iov_len);
  }
  for (size_t at = 0; at < flat.size(); at += burst.segment_size) {
    const size_t n = std::min<size_t>(burst.segment_size, flat.size() - at);
    const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(at);
    send_packet(now, node, burst, std::vector<uint8_t>(begin, begin + static_cast<std::ptrdiff_t>(n)));
  }
  check();
}

void SimNet::send_packet(Instant now, int node, const core::TxBurst& burst, std::vector<uint8_t> bytes) {
  ++counters_.sent;
  const auto host = hosts_.find(burst.flow.dst);
  if (host == hosts_.end()) {
    ++counters_.unroutable;
    return;
  }
  if (filter_ && filter_(node, burst.plane.value(), burst.flow, bytes)) {
    ++counters_.lost;
    return;
  }
  LinkConfig& link = links_[burst.plane.value()];
  const std::pair<int, int> key{node, burst.plane.value()};
  const auto ev_loss = ev_loss_.find(burst.flow.src_port);
  uint32_t& in_burst = in_burst_loss_[key];
  if (in_burst == 0 && rng_.chance(link.burst_loss)) in_burst = link.burst_length;
  const bool in_run = in_burst > 0;
  if (in_run) --in_burst;
  if (silent(now, burst.plane.value(), node) || in_run || rng_.chance(link.loss) ||
      (ev_loss != ev_loss_.end() && rng_.chance(ev_loss->second))) {
    ++counters_.lost;
    return;
  }

  Packet p{host->second.node, host->second.plane, burst.flow, std::move(bytes)};
  int64_t& busy = busy_until_[key];
  const int64_t start = std::max(busy, now.ns());
  const double waiting_bytes = static_cast<double>(start - now.ns()) * link.rate_bps / 8e9;
  if (waiting_bytes > link.queue_bytes) {
    const bool control = p.flow.dscp() == 46 || p.bytes.size() <= kTrimBytes;
    if (!link.trim || control) {
      ++counters_.queue_drops;
      return;
    }
    ++counters_.trimmed;
    p.bytes.resize(kTrimBytes);
    p.flow.traffic_class = static_cast<uint8_t>(link.trimmed_dscp << 2 | (p.flow.traffic_class & 3));
    // Trimmed packets overtake: they have a class of their own.
    enqueue(now + link.latency, std::move(p));
    return;
  }
  if (link.ecn_bytes != 0 && waiting_bytes > link.ecn_bytes && p.flow.ecn() != wire::Ecn::kNotEct) {
    ++counters_.marked;
    p.flow.traffic_class |= 3;
  }
  busy = start + static_cast<int64_t>(static_cast<double>(p.bytes.size() + 66) * 8e9 / link.rate_bps);
  Instant at = Instant::from_ns(busy) + link.latency;
  if (link.jitter.ns() > 0)
    at = at + Duration::nanoseconds(static_cast<int64_t>(rng_.next() % static_cast<uint64_t>(link.jitter.ns())));
  if (rng_.chance(link.reorder)) {
    ++counters_.reordered;
    at = at + link.reorder_delay;
  }
  if (rng_.chance(link.corrupt)) {
    ++counters_.corrupted;
    p.bytes[rng_.below(static_cast<uint32_t>(p.bytes.size()))] ^= static_cast<uint8_t>(1 + rng_.below(255));
  }
  if (rng_.chance(link.duplicate)) {
    ++counters_.duplicated;
    enqueue(at + Duration::nanoseconds(static_cast<int64_t>(rng_.below(200000))), p);
  }
  enqueue(at, std::move(p));
}

void SimNet::inject(Instant at, int to_node, int plane, const wire::Flow& flow, const std::vector<uint8_t>& bytes) {
  enqueue(at, Packet{to_node, plane, flow, bytes});
  ++injected_;
}

void SimNet::enqueue(Instant at, Packet p) {
  for (const Pause& pause : pauses_) {
    const Instant read = pause.to + pause.per_plane * (p.plane + 1);
    if (pause.node == p.node && at >= pause.from && at < read) at = read;
  }
  queue_.emplace(Key{at.ns(), order_++}, std::move(p));
}

std::optional<Delivery> SimNet::take(Instant now) {
  if (queue_.empty() || queue_.begin()->first.at > now.ns()) return std::nullopt;
  Packet first = std::move(queue_.begin()->second);
  queue_.erase(queue_.begin());
  Delivery due;
  due.node = first.node;
  due.burst.flow = first.flow;
  due.burst.plane = plane_at(first.plane);
  due.burst.segment_size = static_cast<uint32_t>(first.bytes.size());
  due.bytes = std::move(first.bytes);
  size_t count = 1;
  auto same_flow = [&](const Packet& p) {
    return p.node == due.node && p.plane == due.burst.plane.value() && p.flow.src == due.burst.flow.src &&
           p.flow.src_port == due.burst.flow.src_port && p.flow.traffic_class == due.burst.flow.traffic_class &&
           p.bytes.size() <= due.burst.segment_size;
  };
  while (coalesce_ && count < kMaxCoalesced && !queue_.empty() && queue_.begin()->first.at <= now.ns() &&
         same_flow(queue_.begin()->second)) {
    const std::vector<uint8_t>& more = queue_.begin()->second.bytes;
    const bool shorter = more.size() < due.burst.segment_size;
    due.bytes.insert(due.bytes.end(), more.begin(), more.end());
    queue_.erase(queue_.begin());
    ++count;
    if (shorter) break;
  }
  counters_.delivered += count;
  due.burst.data = due.bytes.data();
  due.burst.bytes = static_cast<uint32_t>(due.bytes.size());
  check();
  return due;
}

// Every packet is delivered, under way, or counted as lost for one reason.
void SimNet::check() const {
  MRC_INVARIANT(counters_.sent + counters_.duplicated + injected_ ==
                counters_.delivered + queue_.size() + counters_.lost + counters_.queue_drops + counters_.unroutable);
}

}  // namespace mrc::simnet
