#include "judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
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
  double min_loss = 1;
  void add(const Observation& o) {
    ++(o.bad ? bad : good);
    if (o.bad) min_loss = std::min(min_loss, o.loss);
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
  if (!dead && (lost_ < config_.min_lost || loss() < config_.loss)) return false;
  // The loss ratio is meaningless for small samples: 3 of 5 may be the beginning of 3 of 400.
  if (!dead && seen_.size() < config_.window && lost_ < 2 * config_.min_lost) return false;
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

namespace {

// The T0/T1 rule in its steps, over one set of observations.
class Localiser {
 public:
  explicit Localiser(const std::vector<Observation>& observations) : observations_(observations) {}
  std::vector<Finding> run() {
    add_hosts();
    for (const auto& [t0, hosts] : below_) judge_t0(t0, hosts);
    add_links();
    for (auto first = links_.begin(); first != links_.end();) {
      const auto end =
          std::find_if(first, links_.end(), [&](const auto& link) { return t1_of(link) != t1_of(*first); });
      judge_t1(first, end);
      first = end;
    }
    std::sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
      return std::tie(a.plane, a.part, a.t0, a.t1, a.host) < std::tie(b.plane, b.part, b.t0, b.t1, b.host);
    });
    return std::move(findings_);
  }

 private:
  using Links = std::map<std::tuple<uint32_t, std::string, std::string>, Tally>;  // plane, T1, T0

  static Name t1_of(const Links::value_type& link) { return {std::get<0>(link.first), std::get<1>(link.first)}; }

  void add_host(uint32_t plane, const std::string& host, const std::string& t0, const Observation& o) {
    hosts_[{plane, host}].add(o);
    t0_of_[{plane, host}] = t0;
  }
  void add_hosts() {
    for (const Observation& o : observations_) {
      if (o.t1.empty() && o.far_host == o.host) near_[{o.plane, o.host}] = &o;
      add_host(o.plane, o.host, o.t0, o);
      if (o.far_host != o.host) add_host(o.plane, o.far_host, o.far_t0, o);
    }
    for (const auto& [host, t0] : t0_of_) below_[{host.first, t0}].push_back(host);
  }

  // Its own link to the T0 carries nothing, or the T0 does not.
  bool is_cut(const Name& host) const {
    const auto own = near_.find(host);
    return hosts_.at(host).suspect() || (own != near_.end() && own->second->bad);
  }
  // The loss of the host's own link accounts for that of the path.
  bool explains(const Name& host, const Observation& o) const {
    const auto own = near_.find(host);
    return o.bad && own != near_.end() && 2 * own->second->loss >= o.loss;
  }

  void judge_t0(const Name& t0, const std::vector<Name>& hosts) {
    std::vector<Name> cut;
    std::copy_if(hosts.begin(), hosts.end(), std::back_inserter(cut), [&](const Name& host) { return is_cut(host); });
    cut_.insert(cut.begin(), cut.end());
    if (hosts.size() > 1 && cut.size() == hosts.size()) {
      Finding found{Finding::Part::kT0, t0.first, "", t0.second, "", false, 1, {}};
      for (const Name& host : hosts) {
        found.loss = std::min(found.loss, hosts_.at(host).min_loss);
        found.hosts.push_back(host.second);
      }
      findings_.push_back(std::move(found));
      return;
    }
    for (const Name& host : cut)
      findings_.push_back({Finding::Part::kHostLink,
                           t0.first,
                           host.second,
                           t0.second,
                           "",
                           hosts.size() == 1,
                           hosts_.at(host).min_loss,
                           {}});
  }

  // Parts above the T0s, by hosts that are connected.
  void add_links() {
    for (const Observation& o : observations_) {
      const Name host{o.plane, o.host}, far{o.plane, o.far_host};
      if (o.t1.empty() || cut_.count(host) != 0 || cut_.count(far) != 0 || explains(host, o) || explains(far, o))
        continue;
      links_[{o.plane, o.t1, o.t0}].add(o);
      if (o.far_t0 != o.t0) links_[{o.plane, o.t1, o.far_t0}].add(o);
    }
  }

  // All links of one T1.
  void judge_t1(Links::const_iterator first, Links::const_iterator end) {
    const auto [plane, t1] = t1_of(*first);
    const auto suspect = [](const auto& link) { return link.second.suspect(); };
    if (std::distance(first, end) > 1 && std::all_of(first, end, suspect)) {
      double loss = 1;
      for (auto link = first; link != end; ++link) loss = std::min(loss, link->second.min_loss);
      findings_.push_back({Finding::Part::kT1, plane, "", "", t1, false, loss, {}});
      return;
    }
    for (auto link = first; link != end; ++link)
      if (suspect(*link))
        findings_.push_back(
            {Finding::Part::kLink, plane, "", std::get<2>(link->first), t1, false, link->second.min_loss, {}});
  }

  const std::vector<Observation>& observations_;
  std::map<Name, Tally> hosts_;
  std::map<Name, std::string> t0_of_;        // by host
  std::map<Name, const Observation*> near_;  // the path of each host that turns at its T0
  std::map<Name, std::vector<Name>> below_;  // T0 -> its hosts
  std::set<Name> cut_;                       // hosts
  Links links_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> localise(const std::vector<Observation>& observations) {
  return Localiser(observations).run();
}

}  // namespace mrc::mrcd
