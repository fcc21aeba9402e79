#include "judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace mrc::mrcd {

namespace {

constexpr double kChance = 7;         // -ln of one in a thousand
constexpr uint32_t kMaxRelapses = 5;  // each doubles what is needed

using Name = std::pair<uint32_t, std::string>;  // plane and name

// Of the paths over one part.
struct Tally {
  uint32_t good = 0, bad = 0;
  double least_loss = 1;
  void add(const Observation& o) {
    ++(o.bad ? bad : good);
    if (o.bad) least_loss = std::min(least_loss, o.loss);
  }
  bool suspect() const { return bad > 0 && good == 0; }
};

std::string percent(double loss) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %% loss", loss * 100);
  return text;
}

}  // namespace

double PathJudge::loss() const {
  return seen_.empty() ? 0 : static_cast<double>(lost_) / static_cast<double>(seen_.size());
}

uint32_t PathJudge::needed() const {
  const double runs = kChance / std::max(worst_, config_.loss);
  return static_cast<uint32_t>(std::ceil(runs)) << relapses_;
}

bool PathJudge::add(Instant now, bool answered) {
  seen_.push_back({now, answered});
  lost_ += !answered;
  lost_run_ = answered ? 0 : lost_run_ + 1;
  good_run_ = answered ? good_run_ + 1 : 0;
  while (seen_.size() > config_.window || now - seen_.front().at > config_.memory) {
    lost_ -= !seen_.front().answered;
    seen_.pop_front();
  }
  if (bad_) {
    if (!answered) worst_ = lost_run_ >= config_.dead ? 1 : std::max(worst_, loss());
    if (good_run_ < needed()) return false;
    bad_ = false;
    good_since_ = now;
    seen_.clear();
    lost_ = 0;
    return true;
  }
  const bool dead = lost_run_ >= config_.dead;
  if (!dead && (lost_ < config_.least_lost || loss() < config_.loss)) return false;
  // The loss ratio is meaningless for small samples: 3 of 5 may be the beginning of 3 of 400.
  if (!dead && seen_.size() < config_.window && lost_ < 2 * config_.least_lost) return false;
  bad_ = true;
  worst_ = dead ? 1 : loss();
  relapses_ = now - good_since_ < config_.relapse ? std::min(relapses_ + 1, kMaxRelapses) : 0;
  return true;
}

std::string Finding::text() const {
  std::string at = "plane " + std::to_string(plane) + ": ";
  switch (part) {
    case Part::kHostLink:
      at += "link of host " + host + " to T0 " + t0 + (alone ? ", or that T0" : "");
      break;
    case Part::kT0:
      at += "T0 " + t0;
      break;
    case Part::kLink:
      at += "link between T0 " + t0 + " and T1 " + t1;
      break;
    case Part::kT1:
      at += "T1 " + t1;
      break;
  }
  return at + " (" + percent(loss) + ")";
}

nlohmann::json finding_json(const Finding& finding) {
  return {{"plane", finding.plane}, {"part", static_cast<int>(finding.part)},
          {"host", finding.host},   {"t0", finding.t0},
          {"t1", finding.t1},       {"loss", finding.loss},
          {"text", finding.text()}};
}

std::vector<Finding> localise(const std::vector<Observation>& observations) {
  std::vector<Finding> findings;
  // Hosts and their T0s.
  std::map<Name, Tally> hosts;
  std::map<Name, std::string> t0_of;
  std::map<Name, const Observation*> near;  // that turns at the T0
  for (const Observation& o : observations) {
    if (o.t1.empty() && o.far_host == o.host) near[{o.plane, o.host}] = &o;
    hosts[{o.plane, o.host}].add(o);
    t0_of[{o.plane, o.host}] = o.t0;
    if (o.far_host == o.host) continue;
    hosts[{o.plane, o.far_host}].add(o);
    t0_of[{o.plane, o.far_host}] = o.far_t0;
  }
  const auto cut = [&](const Name& host) {
    const auto own = near.find(host);
    return hosts[host].suspect() || (own != near.end() && own->second->bad);
  };
  const auto explains = [&](const Name& host, const Observation& o) {
    const auto own = near.find(host);
    return o.bad && own != near.end() && 2 * own->second->loss >= o.loss;
  };
  std::map<Name, std::vector<Name>> below;  // T0 -> its hosts
  for (const auto& [host, t0] : t0_of) below[{host.first, t0}].push_back(host);
  std::set<Name> cut_hosts;
  for (const auto& [t0, all] : below) {
    double loss = 1;
    for (const Name& host : all)
      if (cut(host)) {
        cut_hosts.insert(host);
        loss = std::min(loss, hosts[host].least_loss);
      }
    if (all.size() > 1 && std::all_of(all.begin(), all.end(), cut)) {
      Finding found{Finding::Part::kT0, t0.first, "", t0.second, "", false, loss, {}};
      for (const Name& host : all) found.hosts.push_back(host.second);
      findings.push_back(std::move(found));
      continue;
    }
    for (const Name& host : all)
      if (cut(host))
        findings.push_back({Finding::Part::kHostLink,
                            t0.first,
                            host.second,
                            t0.second,
                            "",
                            all.size() == 1,
                            hosts[host].least_loss,
                            {}});
  }
  // Parts above the T0s, by hosts that are connected.
  std::map<std::tuple<uint32_t, std::string, std::string>, Tally> links;  // plane, T1, T0
  for (const Observation& o : observations) {
    if (o.t1.empty() || cut_hosts.count({o.plane, o.host}) != 0 || cut_hosts.count({o.plane, o.far_host}) != 0)
      continue;
    if (explains({o.plane, o.host}, o) || explains({o.plane, o.far_host}, o)) continue;
    links[{o.plane, o.t1, o.t0}].add(o);
    if (o.far_t0 != o.t0) links[{o.plane, o.t1, o.far_t0}].add(o);
  }
  for (auto at = links.begin(); at != links.end();) {
    const auto [plane, t1, first_t0] = at->first;
    auto end = at;
    size_t all = 0, suspects = 0;
    double loss = 1;
    for (; end != links.end() && std::get<0>(end->first) == plane && std::get<1>(end->first) == t1; ++end) {
      ++all;
      suspects += end->second.suspect();
      if (end->second.suspect()) loss = std::min(loss, end->second.least_loss);
    }
    if (suspects == all && all > 1) {
      findings.push_back({Finding::Part::kT1, plane, "", "", t1, false, loss, {}});
    } else {
      for (auto link = at; link != end; ++link)
        if (link->second.suspect())
          findings.push_back(
              {Finding::Part::kLink, plane, "", std::get<2>(link->first), t1, false, link->second.least_loss, {}});
    }
    at = end;
  }
  std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.plane, a.part, a.t0, a.t1, a.host) < std::tie(b.plane, b.part, b.t0, b.t1, b.host);
  });
  return findings;
}

}  // namespace mrc::mrcd
