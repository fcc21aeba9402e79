// One entry of `faults`: what breaks, where, when.
//
//   kind   down | stuck | loss | slow | latency | flap | decay | background
//   where  nic_link | spine_link | t0 | t1      and selectors plane, nic, t0, t1 (all by default), sample or count
#include <cmath>
#include <set>

#include "sim/helper/scenario.h"

namespace mrc::sim {
namespace {

// Number of links or switches that match, before sampling.
int64_t matching(const FaultSpec& f, const FabricSpec& fabric) {
  const auto chosen = [](const std::vector<uint32_t>& given, uint32_t all) {
    return given.empty() ? int64_t{all} : static_cast<int64_t>(std::set<uint32_t>(given.begin(), given.end()).size());
  };
  const int64_t planes = chosen(f.planes, fabric.planes);
  if (f.where == "nic_link") return planes * chosen(f.nics, fabric.nics());
  if (f.where == "t0") return planes * chosen(f.t0, fabric.t0);
  if (f.where == "t1") return planes * chosen(f.t1, fabric.t1);
  return planes * chosen(f.t0, fabric.t0) * chosen(f.t1, fabric.t1);
}

}  // namespace

FaultSpec read_fault(const YAML::Node& node, const Source& source, const FabricSpec& fabric) {
  FaultSpec f;
  MapReader m(node, "fault", source);
  const std::vector<std::string> kinds = {"down", "stuck", "loss", "slow", "latency", "flap", "decay", "background"};
  std::string kind;
  if (!m.choice("kind", kinds, &kind)) m.missing("kind");
  for (size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i] == kind) f.kind = static_cast<FaultKind>(i);
  const bool is_switch_only = f.kind == FaultKind::kStuck;
  const bool may_be_switch = is_switch_only || f.kind == FaultKind::kDown || f.kind == FaultKind::kFlap;
  std::vector<std::string> places;
  if (!is_switch_only) places = {"nic_link", "spine_link"};
  if (may_be_switch) places.insert(places.end(), {"t0", "t1"});
  if (!m.choice("where", places, &f.where)) m.missing("where");
  f.planes = read_indices(&m, "plane", fabric.planes);
  if (f.where == "nic_link") f.nics = read_indices(&m, "nic", fabric.nics());
  if (f.where == "spine_link" || f.where == "t0") f.t0 = read_indices(&m, "t0", fabric.t0);
  if (f.where == "spine_link" || f.where == "t1") f.t1 = read_indices(&m, "t1", fabric.t1);
  const int64_t all = matching(f, fabric);
  m.number("sample", &f.sample, 0, 1);
  if (f.sample > 0 && std::llround(f.sample * static_cast<double>(all)) == 0)
    m.bad("sample", "0, or a share that chooses at least one of the " + std::to_string(all) + " that match");
  m.integer("count", &f.count, 1, all);
  m.time("at", &f.at, 0, 3600 * kPsPerSecond);
  m.time("for", &f.duration, 1, 3600 * kPsPerSecond);
  m.time("step", &f.step, 0, 3600 * kPsPerSecond);
  std::string direction = "both";
  const bool directed = f.kind == FaultKind::kLoss || f.kind == FaultKind::kSlow || f.kind == FaultKind::kLatency ||
                        f.kind == FaultKind::kDecay;
  if (directed) m.choice("direction", {"both", "up", "down"}, &direction);
  f.toward_high = direction != "down";
  f.toward_low = direction != "up";
  switch (f.kind) {
    case FaultKind::kLoss:
      if (!m.number("loss", &f.loss, 0, 1)) m.missing("loss");
      break;
    case FaultKind::kDecay:
      m.number("loss", &f.loss, 0, 1);
      if (!m.number("loss_to", &f.loss_to, 0, 1)) m.missing("loss_to");
      if (f.duration == 0) m.missing("for");
      break;
    case FaultKind::kSlow:
      if (!m.rate("rate", &f.rate)) m.missing("rate");
      break;
    case FaultKind::kLatency:
      if (!m.time("extra", &f.extra, 1, kPsPerSecond)) m.missing("extra");
      break;
    case FaultKind::kFlap:
    case FaultKind::kBackground: {
      std::string distribution = "exponential";
      if (!m.time("mean_up", &f.mean_up, kPsPerNs, 3600 * kPsPerSecond)) m.missing("mean_up");
      if (!m.time("mean_down", &f.mean_down, kPsPerNs, 3600 * kPsPerSecond)) m.missing("mean_down");
      m.choice("distribution", {"exponential", "fixed"}, &distribution);
      f.exponential = distribution == "exponential";
      break;
    }
    case FaultKind::kDown:
    case FaultKind::kStuck:
      break;
  }
  m.finish();
  return f;
}

}  // namespace mrc::sim
