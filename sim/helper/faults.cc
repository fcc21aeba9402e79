#include "sim/helper/faults.h"

#include <algorithm>
#include <cmath>

namespace mrc::sim {
namespace {

constexpr int kDecaySteps = 20;
constexpr size_t kMaxMarks = 200;

bool among(const std::vector<uint32_t>& chosen, uint32_t i) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), i) != chosen.end();
}

std::vector<Port*> ports(const FaultSpec& f, const std::vector<Link*>& links) {
  std::vector<Port*> all;
  for (const Link* l : links) {
    if (f.toward_high) all.push_back(l->up);
    if (f.toward_low) all.push_back(l->down);
  }
  return all;
}

}  // namespace

const char* fault_kind_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::kDown:
      return "down";
    case FaultKind::kStuck:
      return "stuck";
    case FaultKind::kLoss:
      return "loss";
    case FaultKind::kSlow:
      return "slow";
    case FaultKind::kLatency:
      return "latency";
    case FaultKind::kFlap:
      return "flap";
    case FaultKind::kDecay:
      return "decay";
    case FaultKind::kBackground:
      return "background";
  }
  return "";
}

FaultDriver::FaultDriver(const ScenarioSpec& scenario, Network* network)
    : scenario_(scenario), net_(*network), rng_(scenario.seed * 15485863 + 3), down_(network->links().size()) {}

void FaultDriver::at(Ps when, std::function<void()> f) {
  schedule_in(std::max<Ps>(0, when - now_ps()), std::move(f));
}

std::vector<FaultDriver::Target> FaultDriver::targets(const FaultSpec& f) {
  std::vector<Target> all;
  const FabricSpec& spec = net_.spec();
  const auto plane_text = [](uint32_t p) { return "plane " + std::to_string(p); };
  for (uint32_t p = 0; p < spec.planes; ++p) {
    if (!among(f.planes, p)) continue;
    if (f.where == "nic_link") {
      for (uint32_t n = 0; n < spec.nics(); ++n)
        if (among(f.nics, n))
          all.push_back({{&net_.nic_link(p, n)}, nullptr, plane_text(p) + " NIC " + std::to_string(n)});
      continue;
    }
    if (f.where == "spine_link") {
      for (uint32_t a = 0; a < spec.t0; ++a)
        for (uint32_t b = 0; b < spec.t1; ++b)
          if (among(f.t0, a) && among(f.t1, b))
            all.push_back({{&net_.spine_link(p, a, b)},
                           nullptr,
                           plane_text(p) + " T0 " + std::to_string(a) + "-T1 " + std::to_string(b)});
      continue;
    }
    const bool is_t0 = f.where == "t0";
    for (uint32_t i = 0; i < (is_t0 ? spec.t0 : spec.t1); ++i) {
      if (!among(is_t0 ? f.t0 : f.t1, i)) continue;
      Target t;
      t.sw = &net_.sw(p, is_t0 ? Tier::kT0 : Tier::kT1, i);
      t.name = plane_text(p) + (is_t0 ? " T0 " : " T1 ") + std::to_string(i);
      if (is_t0) {
        for (uint32_t h = 0; h < spec.nics_per_t0; ++h) t.links.push_back(&net_.nic_link(p, i * spec.nics_per_t0 + h));
        for (uint32_t k = 0; k < spec.t1; ++k) t.links.push_back(&net_.spine_link(p, i, k));
      } else {
        for (uint32_t k = 0; k < spec.t0; ++k) t.links.push_back(&net_.spine_link(p, k, i));
      }
      all.push_back(std::move(t));
    }
  }
  const size_t keep = f.count != 0 ? std::min<size_t>(f.count, all.size())
                                   : static_cast<size_t>(std::llround(f.sample * static_cast<double>(all.size())));
  if (keep == all.size()) return all;
  for (size_t i = 0; i < keep; ++i) std::swap(all[i], all[i + rng_.below(static_cast<uint32_t>(all.size() - i))]);
  all.resize(keep);
  return all;
}

void FaultDriver::schedule() {
  targets_.resize(scenario_.faults.size());
  for (size_t i = 0; i < scenario_.faults.size(); ++i) {
    const FaultSpec& f = scenario_.faults[i];
    targets_[i] = targets(f);
    for (size_t k = 0; k < targets_[i].size(); ++k) {
      const Target& t = targets_[i][k];
      const Ps begin_at = f.at + static_cast<Ps>(k) * f.step;
      const Ps end_at = f.duration != 0 ? begin_at + f.duration : 0;
      if (f.kind == FaultKind::kFlap || f.kind == FaultKind::kBackground) {
        const Ps first = f.kind == FaultKind::kBackground ? begin_at + draw(f.mean_up, true) : begin_at;
        const Ps stop = end_at != 0 ? end_at : scenario_.limit;
        if (first < stop) at(first, [this, &f, &t, stop] { flap(f, t, true, stop); });
        continue;
      }
      if (begin_at == 0) {
        begin(f, t);
      } else {
        at(begin_at, [this, &f, &t] { begin(f, t); });
      }
      if (f.kind == FaultKind::kDecay) {
        for (int s = 1; s <= kDecaySteps; ++s)
          at(begin_at + f.duration * s / kDecaySteps,
             [this, &f, &t, s] { apply(f, t, f.loss + (f.loss_to - f.loss) * s / kDecaySteps); });
      } else if (end_at != 0) {
        at(end_at, [this, &f, &t] { end(f, t); });
      }
    }
  }
}

void FaultDriver::apply(const FaultSpec& f, const Target& t, double loss) {
  for (Port* p : ports(f, t.links)) {
    std::vector<InForce>& here = in_force_[p];
    const auto mine = std::find_if(here.begin(), here.end(), [&](const InForce& i) { return i.fault == &f; });
    if (mine != here.end()) {
      mine->loss = loss;
    } else {
      here.push_back({&f, loss});
    }
    update(p);
  }
}

void FaultDriver::lift(const FaultSpec& f, const Target& t) {
  for (Port* p : ports(f, t.links)) {
    std::vector<InForce>& here = in_force_[p];
    here.erase(std::remove_if(here.begin(), here.end(), [&](const InForce& i) { return i.fault == &f; }), here.end());
    update(p);
  }
}

void FaultDriver::update(Port* p) {
  double loss = 0, rate = 0;
  Ps extra = 0;
  for (const InForce& i : in_force_[p]) {
    loss += i.loss - loss * i.loss;
    extra += i.fault->extra;
    if (i.fault->kind == FaultKind::kSlow) rate = rate == 0 ? i.fault->rate : std::min(rate, i.fault->rate);
  }
  p->set_loss(loss);
  p->set_rate(rate == 0 ? p->nominal_rate() : rate);
  p->set_extra_delay(extra);
}

void FaultDriver::set_stuck(const Target& t, bool stuck) {
  uint32_t& holds = stuck_[t.sw];
  holds += stuck ? 1 : -1;
  t.sw->set_stuck(holds != 0);
}

void FaultDriver::set_down(const Target& t, bool down) {
  for (Link* l : t.links) {
    uint32_t& holds = down_[static_cast<size_t>(l - net_.links().data())];
    holds += down ? 1 : -1;
    net_.set_link_up(*l, holds == 0);
  }
}

// A link or switch goes down and up, whatever the fault; the others begin and end.
void FaultDriver::record(const FaultSpec& f, const Target& t, bool begins) {
  if (begins) {
    FaultTally& tally = tallies_[static_cast<size_t>(f.kind)];
    ++tally.times;
    (t.sw != nullptr ? tally.switches : tally.links).insert(t.name);
  }
  if (marks_.size() == kMaxMarks) return;
  const bool goes_down = f.kind == FaultKind::kDown || f.kind == FaultKind::kFlap || f.kind == FaultKind::kBackground;
  const std::string name = fault_kind_name(f.kind);
  marks_.push_back(
      {now_ps(), (goes_down ? (begins ? "down" : "up") : (begins ? name : "end of " + name)) + " " + t.name});
}

void FaultDriver::begin(const FaultSpec& f, const Target& t) {
  record(f, t, true);
  switch (f.kind) {
    case FaultKind::kDown:
      set_down(t, true);
      break;
    case FaultKind::kStuck:
      set_stuck(t, true);
      break;
    case FaultKind::kLoss:
    case FaultKind::kDecay:
    case FaultKind::kSlow:
    case FaultKind::kLatency:
      apply(f, t, f.loss);
      break;
    case FaultKind::kFlap:
    case FaultKind::kBackground:
      break;
  }
}

void FaultDriver::end(const FaultSpec& f, const Target& t) {
  record(f, t, false);
  switch (f.kind) {
    case FaultKind::kDown:
      set_down(t, false);
      break;
    case FaultKind::kStuck:
      set_stuck(t, false);
      break;
    case FaultKind::kLoss:
    case FaultKind::kSlow:
    case FaultKind::kLatency:
      lift(f, t);
      break;
    case FaultKind::kDecay:
    case FaultKind::kFlap:
    case FaultKind::kBackground:
      break;
  }
}

Ps FaultDriver::draw(Ps mean, bool exponential) {
  if (!exponential) return mean;
  return std::max<Ps>(kPsPerNs, static_cast<Ps>(-std::log(1 - rng_.unit()) * static_cast<double>(mean)));
}

void FaultDriver::flap(const FaultSpec& f, const Target& t, bool down, Ps stop) {
  const Ps now = now_ps();
  set_down(t, down);
  record(f, t, down);
  if (!down && now >= stop) return;
  Ps next = now + draw(down ? f.mean_down : f.mean_up, f.exponential);
  if (down) next = std::min(next, std::max(stop, now + 1));  // never left down
  if (!down && next >= stop) return;
  at(next, [this, &f, &t, down, stop] { flap(f, t, !down, stop); });
}

}  // namespace mrc::sim
