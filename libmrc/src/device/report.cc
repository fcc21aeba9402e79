// Reports of a device: counters as "name value" lines, the resolved configuration as JSON.
#include <absl/strings/str_split.h>
#include <errno.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "device/device.h"

namespace mrc::device {

namespace {

// Empty: not known yet.
std::string text_of(const IpAddress& addr) {
  return addr.is_zero() ? "" : addr.to_string();
}

template <typename Number>
void line(std::string* text, const std::string& name, Number value) {
  *text += name + " " + std::to_string(value) + "\n";
}
void line(std::string* text, const std::string& name, Duration value) {
  line(text, name + "_ns", value.ns());
}

const char* name_of(core::EvState state) {
  switch (state) {
    case core::EvState::kGood:
      return "GOOD";
    case core::EvState::kSkip:
      return "SKIP";
    case core::EvState::kAssumedBad:
      return "ASSUMED_BAD";
    case core::EvState::kDenied:
      return "DENIED";
  }
  return "?";
}

const char* name_of(core::QpState state) {
  constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "ERROR"};
  return kNames[static_cast<int>(state)];
}

// Name, value and sentence of every counter.
nlohmann::ordered_json counters_json(const core::Counters& e, const datapath::DatapathCounters& d) {
  nlohmann::ordered_json rows;
#define MRC_COUNTER_ROW(name, sentence) rows.push_back({{"name", #name}, {"value", e.name}, {"sentence", sentence}});
  MRC_COUNTERS(MRC_COUNTER_ROW)
#undef MRC_COUNTER_ROW
#define MRC_COUNTER_ROW(name, sentence) \
  rows.push_back({{"name", "driver." #name}, {"value", d.name}, {"sentence", sentence}});
  MRC_DATAPATH_COUNTERS(MRC_COUNTER_ROW)
#undef MRC_COUNTER_ROW
  return rows;
}

nlohmann::ordered_json plane_json(const core::PlaneCounters& p) {
  nlohmann::ordered_json json;
#define MRC_COUNTER_MEMBER(name) json[#name] = p.name;
  MRC_PLANE_COUNTERS(MRC_COUNTER_MEMBER)
#undef MRC_COUNTER_MEMBER
  return json;
}

}  // namespace

std::string text_of(const Statistics& lines) {
  std::string text;
  for (const Statistic& l : lines) line(&text, l.name, l.value);
  return text;
}

Statistics Device::statistics() {
  const DeviceLock lock(mutex_);
  Statistics lines;
  const core::Counters& c = engine_.endpoint->counters();
#define MRC_STATS_LINE(name, sentence) lines.push_back({#name, c.name});
  MRC_COUNTERS(MRC_STATS_LINE)
#undef MRC_STATS_LINE
  lines.push_back({"qps", qpns_.in_use()});
  const datapath::DatapathCounters& d = engine_.datapath->counters();
#define MRC_STATS_LINE(name, sentence) lines.push_back({"driver." #name, d.name});
  MRC_DATAPATH_COUNTERS(MRC_STATS_LINE)
#undef MRC_STATS_LINE
  for (const PlaneId p : PlaneSet::all(planes())) {
    const core::PlaneCounters& plane = engine_.endpoint->plane_counters(p);
    const std::string prefix = "plane." + std::to_string(p.value() + 1) + ".";
    lines.push_back({prefix + "up", engine_.endpoint->plane_up(p), false});
#define MRC_STATS_LINE(name) lines.push_back({prefix + #name, plane.name});
    MRC_PLANE_COUNTERS(MRC_STATS_LINE)
#undef MRC_STATS_LINE
  }
  return lines;
}

std::string Device::stats_text() {
  return text_of(statistics());
}

std::string Device::qp_stats_text(const core::Qp* qp) {
  if (qp == nullptr) return "";
  const DeviceLock lock(mutex_);
  const core::QpStatus s = engine_.endpoint->qp_status(qp);
  std::string text;
  line(&text, "qpn", s.qpn.value());
  line(&text, "dest_qpn", s.dest_qpn.value());
#define MRC_QP_LINE(type, name) line(&text, #name, s.name);
  MRC_QP_VALUES(MRC_QP_LINE)
#undef MRC_QP_LINE
  if (const core::DelayHistogram* delays = engine_.endpoint->retransmission_delays(qp)) {
    line(&text, "retransmission_delay.count", delays->count());
    line(&text, "retransmission_delay.max", delays->max());
    for (size_t i = 0; i < core::DelayHistogram::kBuckets; ++i)
      if (delays->in_bucket(i) != 0)
        line(&text, "retransmission_delay.le_" + std::to_string(core::DelayHistogram::upper_end(i).ns()),
             delays->in_bucket(i));
  }
  for (const core::EvStatus& ev : engine_.endpoint->ev_status(qp))
    text += "ev." + std::to_string(ev.value) + " plane " + std::to_string(port_of(ev.plane)) + " state " +
            name_of(ev.state) + " active " + (ev.active ? "1" : "0") + " tx " + std::to_string(ev.tx_packets) +
            " loss " + std::to_string(ev.losses) + " ecn " + std::to_string(ev.ecn_marks) + "\n";
  return text;
}

// The helper thread must survive a lack of memory: mrcd and the tools ask again.
void Device::serve_requests() try {
  shared_.serve();
  take_shard_reports();
  publisher_.answer([this] {
    const DeviceLock lock(mutex_);
    nlohmann::ordered_json j = {{"pid", ::getpid()},
                                {"program", program_invocation_short_name},
                                {"name", config().name},
                                {"process_slot", slot()},
                                {"qps", qpns_.in_use()}};
    j["counters"] = counters_json(engine_.endpoint->counters(), engine_.datapath->counters());
    for (const PlaneId p : PlaneSet::all(config().planes.size())) {
      nlohmann::ordered_json plane = {{"plane", p.value() + 1},
                                      {"up", engine_.endpoint->plane_up(p)},
                                      {"out", engine_.datapath->closed_planes().why(p)}};
      plane.update(plane_json(engine_.endpoint->plane_counters(p)));
      j["planes"].push_back(std::move(plane));
    }
    // Not every program's name is UTF-8.
    return j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  });
} catch (const std::bad_alloc&) {
}

namespace {

// Content of the report: plain values, so that the lock is held for copying only.
struct ReportValues {
  struct PeerValues {
    core::PeerId id;
    PerPlane<core::PlaneAddress> planes;
    PerEv<core::EvStatus> evs;
    core::PeerLatency latency;
  };
  struct PortValues {
    core::PlaneCounters counters;
    bool up;
    std::string address, out;
  };
  std::vector<PortValues> ports;
  std::vector<core::QpStatus> qps;
  std::vector<PeerValues> peers;
};

ctl::PortReport port_report(uint32_t port, const ReportValues::PortValues& values) {
  const core::PlaneCounters& c = values.counters;
  return {port,         values.up,  values.address, values.out,    c.tx_packets, c.tx_bytes,
          c.rx_packets, c.rx_bytes, c.losses,       c.retransmits, c.ecn_marks};
}

ctl::QpReport qp_report(const core::QpStatus& qp) {
  return {qp.qpn.value(), qp.dest_qpn.value(), name_of(qp.state), qp.peer,        qp.cwnd,    qp.inflight,
          qp.srtt.ns(),   qp.tx_packets,       qp.rx_packets,     qp.retransmits, qp.timeouts};
}

ctl::EvReport ev_report(const core::EvStatus& ev) {
  return {ev.value,      port_of(ev.plane), name_of(ev.state), ev.active,   ev.rtt.ns(),
          ev.tx_packets, ev.tx_bytes,       ev.losses,         ev.ecn_marks};
}

static_assert(std::tuple_size_v<core::DelayHistogram::Octaves> == ctl::DelayReport::kCounts);

ctl::DelayReport delay_report(const core::DelayHistogram& delays) {
  ctl::DelayReport report;
  if (delays.count() == 0) return report;
  report.sum_ns = delays.sum_ns();
  const core::DelayHistogram::Octaves octaves = delays.octaves();
  report.counts.assign(octaves.begin(), octaves.end());
  return report;
}

ctl::PeerReport peer_report(core::PeerId id, const PerPlane<core::PlaneAddress>& planes,
                            const core::PeerLatency& latency) {
  ctl::PeerReport peer;
  peer.peer = id;
  for (const core::PlaneAddress& at : planes) peer.addresses.push_back(at.addr.is_zero() ? "" : at.addr.to_string());
  peer.completion = delay_report(latency.completion);
  peer.retransmission = delay_report(latency.retransmission);
  return peer;
}

}  // namespace

void Device::release_peer_locked(core::PeerId id) {
  std::optional<ctl::PeerReport> last;
  if (!inherited_ && shared_.has_daemon() && engine_.endpoint->has_peer(id)) {
    try {
      const core::PeerLatency latency = engine_.endpoint->peer_latency(id);
      if (latency.completion.count() + latency.retransmission.count() > 0)
        last = peer_report(id, engine_.endpoint->peer_description(id).planes, latency);
    } catch (const std::bad_alloc&) {  // its last figures are lost
    }
  }
  engine_.endpoint->release_peer(id);
  if (last && !engine_.endpoint->has_peer(id)) shared_.on_peer_released_locked(*std::move(last));
}

// Round trips are those of data packets and probes, 0 where none was measured. The lock is released after each peer:
// a process with many of them must not be stopped by a report.
ctl::DeviceReport Device::report() {
  ReportValues values;
  std::vector<core::PeerId> peers;
  {
    const DeviceLock lock(mutex_);
    for (const PlaneId p : PlaneSet::all(config().planes.size()))
      values.ports.push_back({engine_.endpoint->plane_counters(p), engine_.endpoint->plane_up(p),
                              text_of(planes_[p].addr), engine_.datapath->closed_planes().why(p)});
    values.qps = engine_.endpoint->all_qp_status();
    peers = engine_.endpoint->peers();
  }
  for (core::PeerId id : peers) {
    const DeviceLock lock(mutex_);
    if (engine_.endpoint->has_peer(id))
      values.peers.push_back({id, engine_.endpoint->peer_description(id).planes, engine_.endpoint->ev_status(id),
                              engine_.endpoint->peer_latency(id)});
  }
  ctl::DeviceReport report;
  report.pid = ::getpid();
  report.uid = static_cast<int64_t>(::geteuid());
  report.program = program_invocation_short_name;
  report.device = config().name;
  report.slot = slot();
  report.ev_mode = word_of(config().settings.ev_mode);
  for (const IpAddress& gid : config().gids)
    if (!gid.is_zero()) report.gids.push_back(gid.to_string());
  for (uint32_t p = 0; p < values.ports.size(); ++p) report.ports.push_back(port_report(p + 1, values.ports[p]));
  for (const core::QpStatus& qp : values.qps) report.qps.push_back(qp_report(qp));
  for (const ReportValues::PeerValues& p : values.peers) {
    ctl::PeerReport& peer = report.peers.emplace_back(peer_report(p.id, p.planes, p.latency));
    for (const core::EvStatus& ev : p.evs) peer.evs.push_back(ev_report(ev));
  }
  return report;
}

std::string Device::describe_json() {
  const DeviceLock lock(mutex_);
  const DeviceConfig& c = config();
  nlohmann::ordered_json j;
  j["name"] = c.name;
  j["process_slot"] = slot();
  j["mtu"] = max_mtu();
  // The values in force, while `settings` has the configured ones: 0 is a measured rate, and then no plane has a card.
  j["line_rate_gbps"] = c.line_rate_gbps;
  for (const IpAddress& gid : c.gids) j["gids"].push_back(gid.is_zero() ? "" : gid.to_string());
  for (size_t p = 0; p < c.planes.size(); ++p) {
    const core::PlaneAddress& at = engine_.config.planes[p];
    j["planes"].push_back({{"plane", p + 1},
                           {"address", text_of(at.addr)},
                           {"port", at.port},
                           {"interface", c.planes[p].interface},
                           {"up", engine_.endpoint->plane_up(plane_at(p))},
                           {"out", engine_.datapath->closed_planes().why(plane_at(p))}});
  }
  j["ev_mode"] = word_of(c.settings.ev_mode);
  j["ev_active"] = engine_.config.ev_active;
  for (const core::EvEntry& ev : evs()) j["evs"].push_back({{"value", ev.value}, {"plane", port_of(ev.plane)}});
  j["peer_template"] = c.peer_template.text();
  j["learn_peers"] = c.learn_peers;
  j["listed_peers"] = c.peers.size();
  j["limits"] = {{"max_qps", c.settings.max_qps}, {"mpr", c.settings.mpr}, {"max_wimm", c.settings.max_wimm}};
  const std::string driver = engine_.datapath->describe();
  j["driver"] = std::vector<std::string>(absl::StrSplit(driver, '\n', absl::SkipEmpty()));
  j["advice"] = facts_.advice;
  j["counters"] = counters_json(engine_.endpoint->counters(), engine_.datapath->counters());
  nlohmann::ordered_json& settings = j["settings"];
  for (const Setting& s : setting_table()) settings[s.name] = s.show(c.settings);
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace mrc::device
