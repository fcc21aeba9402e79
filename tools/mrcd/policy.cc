#include "policy.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "shared_device.h"

namespace mrc::mrcd {

namespace {

bool usid_of(const std::string& text, uint16_t* out) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *out, 16);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && *out != 0;
}

// Planes on which each host would be unreachable behind its T0.
std::map<std::string, std::set<uint32_t>> cut_off(const std::vector<Finding>& findings) {
  std::map<std::string, std::set<uint32_t>> planes;
  for (const Finding& f : findings)
    if (f.part == Finding::Part::kT0)
      for (const std::string& host : f.hosts) planes[host].insert(f.plane);
  return planes;
}

bool same(const ctl::DenyRule& a, const std::vector<ctl::DenyRule>& among) {
  return std::any_of(among.begin(), among.end(), [&](const ctl::DenyRule& b) { return a.same_paths(b); });
}

}  // namespace

std::vector<ctl::DenyRule> denies_for(const std::vector<Finding>& findings, const std::string& host,
                                      const std::vector<OwnPlane>& own) {
  std::vector<ctl::DenyRule> rules;
  std::vector<std::set<uint16_t>> cut(own.size());  // T1s that would be denied
  std::set<uint32_t> planes;                        // that would be denied
  for (uint32_t p = 0; p < own.size(); ++p)
    if (own[p].out) planes.insert(p + 1);
  const std::set<uint32_t> out = planes;
  const auto lost = cut_off(findings);
  const auto unreachable = [&](const std::string& name) {
    std::set<uint32_t> gone = out;
    gone.insert(lost.at(name).begin(), lost.at(name).end());
    return gone.size() >= own.size();
  };
  for (const Finding& f : findings) {
    if (f.plane < 1 || f.plane > own.size()) continue;
    const OwnPlane& here = own[f.plane - 1];
    const bool under_own_t0 = f.t0 == here.t0;
    ctl::DenyRule rule;
    rule.plane = f.plane;
    rule.by = kMonitor;
    rule.why = f.text();
    uint16_t t0 = 0, t1 = 0;
    switch (f.part) {
      case Finding::Part::kHostLink:
        if (f.host != host) continue;
        planes.insert(f.plane);
        break;
      case Finding::Part::kT0:
        if (under_own_t0)
          planes.insert(f.plane);
        else if (usid_of(f.t0, &t0) && std::none_of(f.hosts.begin(), f.hosts.end(), unreachable))
          rule.via = {t0};
        else
          continue;
        break;
      case Finding::Part::kT1:
        if (!usid_of(f.t1, &t1)) continue;
        rule.via = {t1};
        cut[f.plane - 1].insert(t1);
        break;
      case Finding::Part::kLink:
        if (!usid_of(f.t1, &t1) || !usid_of(f.t0, &t0)) continue;
        // The path up from here contains the T1 alone, the path down both.
        rule.via = under_own_t0 ? std::vector<uint16_t>{t1} : std::vector<uint16_t>{t1, t0};
        if (under_own_t0) cut[f.plane - 1].insert(t1);
        break;
    }
    if (!same(rule, rules)) rules.push_back(std::move(rule));
  }
  for (uint32_t p = 0; p < own.size(); ++p)
    if (own[p].t1s != 0 && cut[p].size() >= own[p].t1s) planes.insert(p + 1);
  if (planes.size() >= own.size()) rules.clear();
  return rules;
}

DenyChange change_to(const std::vector<ctl::DenyRule>& wanted, const std::vector<ctl::DenyRule>& there) {
  DenyChange change;
  for (const ctl::DenyRule& rule : wanted)
    if (!same(rule, there)) change.add.push_back(rule);
  for (const ctl::DenyRule& rule : there)
    if (rule.by == kMonitor && !same(rule, wanted)) change.remove.push_back(rule);
  return change;
}

}  // namespace mrc::mrcd
