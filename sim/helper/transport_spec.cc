// The `transport` map. MRC has every setting of the engine that is meaningful without an operating system; defaults
// are those of a NIC rather than of kernel sockets: single packets are sprayed, acknowledgements wait a microsecond.
// The settings of both transports may be given in one map, so that a sweep over `kind` requires no other change.
#include <algorithm>
#include <cmath>

#include "core/congestion/registry.h"
#include "sim/helper/scenario.h"

namespace mrc::sim {
namespace {

Duration to_duration(Ps t) {
  return Duration::nanoseconds(t / kPsPerNs);
}

void read_time(MapReader* m, const char* key, Duration* out, Ps low, Ps high) {
  Ps t = out->ns() * kPsPerNs;
  if (m->time(key, &t, low, high)) *out = to_duration(t);
}

void read_parameter(MapReader* m, const core::CongestionParameter& p, core::CongestionConfig* c) {
  const auto low = static_cast<int64_t>(p.low), high = static_cast<int64_t>(p.high);
  int64_t whole = 0;
  double number = 0;
  bool flag = false;
  switch (p.unit) {
    case core::CongestionUnit::kNumber:
      if (m->number(p.name, &number, p.low, p.high)) c->set(p.name, number);
      break;
    case core::CongestionUnit::kCount:
      if (m->integer(p.name, &whole, low, high)) c->set(p.name, static_cast<double>(whole));
      break;
    case core::CongestionUnit::kBytes:
      if (m->bytes(p.name, &whole, low, high)) c->set(p.name, static_cast<double>(whole));
      break;
    case core::CongestionUnit::kTime:
      if (m->time(p.name, &whole, low * kPsPerNs, high * kPsPerNs)) c->set(p.name, to_duration(whole));
      break;
    case core::CongestionUnit::kFlag:
      if (m->flag(p.name, &flag)) c->set(p.name, flag ? 1 : 0);
      break;
  }
}

// The algorithm, facts of the network, and a map per algorithm: only that of the one that is chosen counts, so that a
// sweep over `congestion` needs nothing else.
void read_congestion(MapReader* m, core::CongestionConfig* c) {
  std::vector<std::string> names;
  for (const core::CongestionAlgorithm* a : core::congestion_algorithms()) names.emplace_back(a->name);
  std::string name = names.front();
  m->choice("congestion", names, &name);
  c->algorithm = core::find_congestion_algorithm(name);
  read_time(m, "base_rtt", &c->base_rtt, kPsPerNs, kPsPerMs);
  m->rate("line_rate", &c->line_rate_bps);
  for (const core::CongestionAlgorithm* a : core::congestion_algorithms()) {
    if (a->parameters.empty()) continue;
    core::CongestionConfig ignored;
    MapReader map(m->get(a->name), a->name, m->source());
    for (const core::CongestionParameter& p : a->parameters) read_parameter(&map, p, a == c->algorithm ? c : &ignored);
    map.finish();
  }
}

void read_mrc(MapReader* m, const FabricSpec& fabric, MrcConfig* c) {
  core::EndpointConfig& e = c->endpoint;
  const Ps rtt = fabric.base_rtt();
  e.max_segments = 1;
  e.icrc = false;
  e.answers_first = true;
  e.trimming = fabric.sw.trimming;
  e.sack_bytes = 16384;
  e.ack_delay = Duration::microseconds(1);
  e.reorder_floor = to_duration(rtt / 2);
  e.probe_floor = to_duration(4 * rtt);
  e.host_delay = Duration();  // a NIC
  e.ev_probe_interval = Duration::microseconds(200);
  e.congestion.base_rtt = to_duration(rtt);
  e.congestion.line_rate_bps = fabric.line_rate();
  core::QpAttr& q = c->qp;
  q.retry_exp = 25;  // a run has its own time limit
  q.path_mtu = fabric.mtu;
  q.timeout = 8;  // 262 us
  // Room for twice the largest window, so that a few late packets do not close the PSN window.
  const double window = 1.5 * fabric.line_rate() / 8 * static_cast<double>(rtt) / kPsPerSecond;
  q.mpr = q.mpr_dest = static_cast<uint8_t>(std::clamp(std::ceil(4 * window / fabric.mtu / 128), 8.0, 255.0));

  m->integer("burst", &e.max_segments, 1, core::kMaxSegments);
  m->flag("trim_nacks", &e.trimming);
  m->flag("timestamps", &e.timestamps);
  int64_t sack_bytes = e.sack_bytes;
  m->bytes("sack_bytes", &sack_bytes, 1, 1 << 24);
  e.sack_bytes = static_cast<uint32_t>(sack_bytes);
  read_time(m, "ack_delay", &e.ack_delay, 0, kPsPerSecond);
  read_time(m, "reorder_floor", &e.reorder_floor, 0, kPsPerSecond);
  read_time(m, "host_delay", &e.host_delay, 0, kPsPerSecond);
  read_time(m, "probe_floor", &e.probe_floor, kPsPerNs, kPsPerSecond);
  read_time(m, "ev_probe_interval", &e.ev_probe_interval, kPsPerUs, 10 * kPsPerSecond);
  m->flag("oblivious", &e.oblivious);
  m->integer("ev_min_active", &e.ev_min_active, 0, 4096);
  m->integer("mpr", &q.mpr, 1, 255);
  q.mpr_dest = q.mpr;
  m->integer("ack_timeout", &q.timeout, 0, 24);
  m->integer("retry_linear", &q.retry_linear, 0, 7);
  m->integer("retry_exp", &q.retry_exp, 0, 25);
  m->time("carrier_delay", &c->carrier_delay, 0, kPsPerSecond);
  read_congestion(m, &e.congestion);
}

void read_roce(MapReader* m, const FabricSpec& fabric, RoceConfig* c, PfcConfig* pfc) {
  std::string recovery = "go_back_n";
  m->choice("roce_recovery", {"go_back_n", "selective"}, &recovery);
  c->recovery = recovery == "selective" ? RoceRecovery::kSelective : RoceRecovery::kGoBackN;
  m->integer("roce_window", &c->window_packets, 1, 1 << 20);
  m->time("roce_timeout", &c->timeout, kPsPerUs, 10 * kPsPerSecond);
  m->integer("roce_ack_every", &c->ack_every, 1, 64);
  m->integer("roce_retries", &c->retries, 0, 1000);
  m->flag("pfc", &pfc->enabled);
  const double bdp = fabric.plane_bdp();
  Size xoff{0.5, true}, xon{0.25, true};
  m->size("pfc_xoff", &xoff);
  m->size("pfc_xon", &xon);
  pfc->xoff = xoff.bytes(bdp);
  pfc->xon = xon.bytes(bdp);
  if (pfc->xon > pfc->xoff) m->bad("pfc_xon", "at most pfc_xoff");
  MapReader d(m->get("dcqcn"), "dcqcn", m->source());
  DcqcnConfig& q = c->dcqcn;
  d.flag("enabled", &q.enabled);
  d.number("g", &q.g, 0, 1);
  d.time("alpha_period", &q.alpha_period, kPsPerUs, kPsPerSecond);
  d.time("rate_period", &q.rate_period, kPsPerUs, kPsPerSecond);
  d.bytes("byte_counter", &q.byte_counter, 1, 1ll << 40);
  d.integer("fast_steps", &q.fast_steps, 1, 100);
  d.number("additive", &q.additive, 0, 1);
  d.number("hyper", &q.hyper, 0, 1);
  d.number("minimum", &q.minimum, 1e-6, 1);
  d.time("cnp_interval", &q.cnp_interval, 0, kPsPerSecond);
  d.finish();
}

}  // namespace

TransportConfig read_transport(const YAML::Node& node, const Source& source, const FabricSpec& fabric) {
  TransportConfig t;
  MapReader m(node, "transport", source);
  std::string kind = "mrc";
  m.choice("kind", {"mrc", "roce"}, &kind);
  t.kind = kind == "mrc" ? TransportKind::kMrc : TransportKind::kRoce;
  m.integer("qps", &t.qps, 1, 64);
  read_mrc(&m, fabric, &t.mrc);
  read_roce(&m, fabric, &t.roce, &t.pfc);
  if (t.kind == TransportKind::kMrc) t.pfc.enabled = false;
  m.finish();
  return t;
}

}  // namespace mrc::sim
