// The `transport` map. MRC takes every setting of the engine that means something without an operating system; defaults
// are those of a NIC rather than of kernel sockets: single packets are sprayed, acknowledgements wait a microsecond.
// The settings of both transports may stand in one map, so that a sweep over `kind` needs nothing else.
#include <algorithm>
#include <cmath>

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

void read_nscc(const YAML::Node& node, const Source& source, core::NsccConfig* n) {
  MapReader m(node, "nscc", source);
  m.flag("disabled", &n->disabled);
  std::string mode = "spec";
  m.choice("mode", {"spec", "htsim"}, &mode);
  n->mode = mode == "htsim" ? core::NsccMode::kHtsim : core::NsccMode::kSpec;
  read_time(&m, "base_rtt", &n->base_rtt, kPsPerNs, kPsPerMs);
  m.rate("line_rate", &n->line_rate_bps);
  m.bytes("max_cwnd", &n->max_cwnd, 0, 1ll << 40);
  read_time(&m, "target_delay", &n->target_delay, 0, kPsPerMs);
  m.number("fi", &n->fi, 0, 1e12);
  m.number("fi_scale", &n->fi_scale, 0, 1e6);
  m.number("eta", &n->eta, 0, 1e12);
  m.number("gamma", &n->gamma, 0, 1);
  m.number("max_md_jump", &n->max_md_jump, 0, 1);
  m.integer("qa_gate", &n->qa_gate, 0, 62);
  read_time(&m, "qa_threshold", &n->qa_threshold, 0, kPsPerSecond);
  m.bytes("adjust_bytes", &n->adjust_bytes_threshold, 0, 1ll << 40);
  read_time(&m, "adjust_period", &n->adjust_period_threshold, 0, kPsPerSecond);
  m.flag("disable_qa", &n->disable_qa);
  m.flag("sticky_qa_trigger", &n->sticky_qa_trigger);
  m.finish();
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
  e.ev_probe_interval = Duration::microseconds(200);
  e.nscc.base_rtt = to_duration(rtt);
  e.nscc.line_rate_bps = fabric.line_rate();
  core::QpAttr& q = c->qp;
  q.retry_exp = 25;  // a run has an end of its own
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
  read_nscc(m->get("nscc"), m->source(), &e.nscc);
}

void read_roce(MapReader* m, const FabricSpec& fabric, RoceConfig* c, PfcConfig* pfc) {
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
