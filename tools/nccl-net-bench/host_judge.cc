#include "host_judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <set>

#include "append_item.h"

namespace mrc::net_bench {

namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

constexpr int kConfirmedBy = 3;  // pairs of a slow host that are measured again

// Of an even number the upper one: with two peers, of which one is slow, a host is judged by the other.
double upper_median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}
double lower_median(std::vector<double> values) {
  for (double& v : values) v = -v;
  return -upper_median(std::move(values));
}

template <typename Get>
double median_of(const std::vector<HostSpeed>& hosts, Get get) {
  std::vector<double> values;
  for (const HostSpeed& h : hosts)
    if (h.measured > 0) values.push_back(get(h));
  return upper_median(std::move(values));
}

std::string number(double value) {
  char text[32];
  snprintf(text, sizeof text, value < 10 ? "%.2f" : "%.0f", value);
  return text;
}

struct Norm {
  double sends, receives, rtt_us;
  explicit Norm(const std::vector<HostSpeed>& hosts)
      : sends(median_of(hosts, [](const HostSpeed& h) { return h.sends; })),
        receives(median_of(hosts, [](const HostSpeed& h) { return h.receives; })),
        rtt_us(median_of(hosts, [](const HostSpeed& h) { return h.rtt_us; })) {}

  bool sends_slowly(const HostSpeed& h) const { return h.sends < kSlowShare * sends; }
  bool receives_slowly(const HostSpeed& h) const { return h.receives < kSlowShare * receives; }
  bool answers_slowly(const HostSpeed& h) const {
    return h.rtt_us > kSlowRttFactor * rtt_us && h.rtt_us > rtt_us + kSlowRttExcessUs;
  }
  bool is_bad(const HostSpeed& h) const {
    return h.measured == 0 || sends_slowly(h) || receives_slowly(h) || answers_slowly(h);
  }
  bool are_well(const PairSpeed& p, const std::vector<HostSpeed>& hosts) const {
    return !is_bad(hosts[static_cast<size_t>(p.a)]) && !is_bad(hosts[static_cast<size_t>(p.b)]);
  }
};

// Below the share of what both of its hosts reach with others.
bool is_slow(const PairSpeed& p, const std::vector<HostSpeed>& hosts) {
  const HostSpeed& a = hosts[static_cast<size_t>(p.a)];
  const HostSpeed& b = hosts[static_cast<size_t>(p.b)];
  return p.a_to_b < kSlowShare * std::min(a.sends, b.receives) || p.b_to_a < kSlowShare * std::min(b.sends, a.receives);
}

bool has_host(const PairSpeed& p, int host) {
  return p.a == host || p.b == host;
}

// Of a host that looks slow: its speed by the pairs that were measured again if there are any and they say something
// else: that it is still slow, or twice as fast. Alone, a pair may do better than in the rounds that made the norm.
HostSpeed confirmed(int host, const std::vector<HostSpeed>& hosts, const Norm& norm,
                    const std::vector<PairSpeed>& again) {
  std::vector<PairSpeed> of_host;
  std::copy_if(again.begin(), again.end(), std::back_inserter(of_host),
               [host](const PairSpeed& p) { return has_host(p, host) && p.error.empty(); });
  const auto h = static_cast<size_t>(host);
  const HostSpeed& first = hosts[h];
  if (of_host.empty()) return first;
  const HostSpeed second = host_speeds(of_host, static_cast<int>(hosts.size()))[h];
  const bool better = (!norm.sends_slowly(first) || first.sends < kSlowShare * second.sends) &&
                      (!norm.receives_slowly(first) || first.receives < kSlowShare * second.receives) &&
                      (!norm.answers_slowly(first) || second.rtt_us < kSlowShare * first.rtt_us);
  return norm.is_bad(second) || better ? second : first;
}

std::string partners(size_t tried, size_t others) {
  if (tried >= others) return "any other host";
  return "any host that was tried (" + std::to_string(tried) + " of " + std::to_string(others) + ")";
}

// In what a host is slow; empty: in nothing.
std::string slowness(const HostSpeed& host, const Norm& norm) {
  std::string text;
  const auto add = [&](const char* what, double value, double others, const char* unit) {
    append_item(&text, what + number(value) + unit + " (median of the hosts " + number(others) + unit + ")");
  };
  if (norm.sends_slowly(host)) add("sends at ", host.sends, norm.sends, " Gb/s");
  if (norm.receives_slowly(host)) add("receives at ", host.receives, norm.receives, " Gb/s");
  if (norm.answers_slowly(host)) add("has a round trip of ", host.rtt_us, norm.rtt_us, " us");
  return text;
}

void judge_hosts(const Names& names, const std::vector<HostSpeed>& hosts, const std::vector<PairSpeed>& again,
                 std::vector<Finding>* found) {
  const Norm norm(hosts);
  for (size_t h = 0; h < hosts.size(); ++h) {
    if (hosts[h].measured + hosts[h].failed == 0) continue;  // it has not come to that
    const HostSpeed one = norm.is_bad(hosts[h]) ? confirmed(static_cast<int>(h), hosts, norm, again) : hosts[h];
    if (one.measured == 0)
      found->push_back({"unreachable host", names[h] + " exchanges no data with " +
                                                partners(static_cast<size_t>(one.failed), names.size() - 1)});
    else if (const std::string slow = slowness(one, norm); !slow.empty())
      found->push_back({"slow host", names[h] + " " + slow});
    else if (const std::string before = slowness(hosts[h], norm); !before.empty())
      found->push_back({kSlowUnderLoad, names[h] + " is slow only while others send: " + before});
  }
}

// Against host 0, with which every host has been a pair.
void judge_clocks(const Names& names, const std::vector<PairSpeed>& pairs, std::vector<Finding>* found) {
  std::vector<double> ahead(names.size(), 0);
  std::vector<double> known;
  for (const PairSpeed& p : pairs)
    if (p.a == 0 && p.error.empty())
      ahead[static_cast<size_t>(p.b)] = p.clock_ahead_us, known.push_back(p.clock_ahead_us);
  known.push_back(0);
  const double norm = upper_median(known);
  for (size_t h = 0; h < names.size(); ++h) {
    const double apart = ahead[h] - norm;
    if (std::fabs(apart) > kClockApartUs)
      found->push_back({"clock", names[h] + ": its clock is " + number(std::fabs(apart) / 1e3) + " ms " +
                                     (apart > 0 ? "ahead of" : "behind") + " the others"});
  }
}

std::string listed(const Names& names, const std::vector<size_t>& which) {
  std::string text;
  for (size_t h : which) append_item(&text, names[h]);
  return text;
}

}  // namespace

std::vector<HostSpeed> host_speeds(const std::vector<PairSpeed>& pairs, int hosts) {
  const size_t n = static_cast<size_t>(hosts);
  std::vector<HostSpeed> speeds(n);
  std::vector<std::vector<double>> sends(n), receives(n), rtts(n);
  for (const PairSpeed& p : pairs) {
    const size_t a = static_cast<size_t>(p.a), b = static_cast<size_t>(p.b);
    if (!p.error.empty()) {
      if (p.tried) ++speeds[a].failed, ++speeds[b].failed;
      continue;
    }
    ++speeds[a].measured, ++speeds[b].measured;
    sends[a].push_back(p.a_to_b), receives[b].push_back(p.a_to_b);
    sends[b].push_back(p.b_to_a), receives[a].push_back(p.b_to_a);
    rtts[a].push_back(p.rtt_us), rtts[b].push_back(p.rtt_us);
  }
  for (size_t h = 0; h < n; ++h) {
    speeds[h].sends = upper_median(sends[h]);
    speeds[h].receives = upper_median(receives[h]);
    speeds[h].rtt_us = lower_median(rtts[h]);
  }
  return speeds;
}

std::vector<bool> given_up(const std::vector<PairSpeed>& pairs, int hosts) {
  const std::vector<HostSpeed> speeds = host_speeds(pairs, hosts);
  std::vector<int> failed(speeds.size());
  const auto works = [&](int host) { return speeds[static_cast<size_t>(host)].measured > 0; };
  for (const PairSpeed& p : pairs) {
    if (p.error.empty() || !p.tried) continue;
    if (works(p.a)) ++failed[static_cast<size_t>(p.b)];
    if (works(p.b)) ++failed[static_cast<size_t>(p.a)];
  }
  std::vector<bool> silent(speeds.size());
  for (size_t h = 0; h < speeds.size(); ++h) silent[h] = speeds[h].measured == 0 && failed[h] >= kGivenUpAfter;
  return silent;
}

std::vector<std::pair<int, int>> suspects(const std::vector<PairSpeed>& pairs, int hosts) {
  const std::vector<HostSpeed> speeds = host_speeds(pairs, hosts);
  const Norm norm(speeds);
  std::vector<std::pair<int, int>> failed, of_hosts, slow;
  for (const PairSpeed& p : pairs) {
    if (!norm.are_well(p, speeds)) continue;
    if (!p.error.empty())
      failed.emplace_back(p.a, p.b);
    else if (is_slow(p, speeds))
      slow.emplace_back(p.a, p.b);
  }
  for (int h = 0; h < hosts; ++h) {
    if (!norm.is_bad(speeds[static_cast<size_t>(h)])) continue;
    int chosen = 0;
    for (const PairSpeed& p : pairs) {
      if (!has_host(p, h) || !p.error.empty() || chosen == kConfirmedBy) continue;
      if (norm.is_bad(speeds[static_cast<size_t>(p.a == h ? p.b : p.a)])) continue;
      of_hosts.emplace_back(p.a, p.b);
      ++chosen;
    }
  }
  failed.resize(std::min(failed.size(), kMaxFailedAgain));
  const auto add = [&failed](const std::vector<std::pair<int, int>>& more, size_t limit) {
    failed.insert(failed.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(std::min(more.size(), limit)));
  };
  add(of_hosts, kMaxOfHostsAgain);
  add(slow, kMaxSlowAgain);
  return failed;
}

bool is_well(const PairSpeed& pair, const std::vector<PairSpeed>& pairs, int hosts) {
  const std::vector<HostSpeed> speeds = host_speeds(pairs, hosts);
  const Norm norm(speeds);
  if (!pair.error.empty() || is_slow(pair, speeds)) return false;
  for (const int h : {pair.a, pair.b})
    if (norm.is_bad(speeds[static_cast<size_t>(h)]) && norm.is_bad(host_speeds({pair}, hosts)[static_cast<size_t>(h)]))
      return false;
  return true;
}

std::vector<Finding> judge_pairs(const Names& names, const std::vector<PairSpeed>& pairs,
                                 const std::vector<PairSpeed>& again) {
  const std::vector<HostSpeed> speeds = host_speeds(pairs, static_cast<int>(names.size()));
  std::vector<Finding> found;
  judge_hosts(names, speeds, again, &found);
  const auto name = [&names](int host) { return names[static_cast<size_t>(host)]; };
  std::set<std::pair<int, int>> twice;
  for (const PairSpeed& p : again) {
    twice.emplace(p.a, p.b);
    if (!p.error.empty())
      found.push_back({"broken pair", name(p.a) + " and " + name(p.b) + ": " + p.error});
    else if (is_slow(p, speeds))
      found.push_back({"slow pair", name(p.a) + " to " + name(p.b) + " at " + number(p.a_to_b) + " Gb/s, back at " +
                                        number(p.b_to_a) +
                                        " Gb/s, also by themselves; both are faster with other hosts"});
  }
  const Norm norm(speeds);
  for (const PairSpeed& p : pairs)
    if (!p.error.empty() && norm.are_well(p, speeds) && !twice.contains({p.a, p.b}))
      found.push_back({"broken pair", name(p.a) + " and " + name(p.b) + ": " + p.error + " (measured once)"});
  judge_clocks(names, pairs, &found);
  return found;
}

std::vector<Finding> judge_facts(const Names& names, const std::vector<Json>& facts) {
  std::vector<Finding> found;
  std::set<std::string> compared;
  std::map<std::string, std::vector<size_t>> owners;  // of an address
  for (size_t h = 0; h < facts.size(); ++h) {
    if (!facts[h].is_object()) continue;  // it has not come so far
    const Json values = facts[h].value("compare", Json::object()),
               addresses = facts[h].value("addresses", Json::object());
    for (const auto& fact : values.items()) compared.insert(fact.key());
    for (const auto& address : addresses.items())
      owners[address.key() + ": " + address.value().get<std::string>()].push_back(h);
  }
  for (const std::string& name : compared) {
    std::map<std::string, std::vector<size_t>> by_value;
    for (size_t h = 0; h < facts.size(); ++h)
      if (facts[h].is_object())
        by_value[facts[h].value("compare", Json::object()).value(name, std::string("unknown"))].push_back(h);
    const auto norm = std::max_element(by_value.begin(), by_value.end(),
                                       [](const auto& x, const auto& y) { return x.second.size() < y.second.size(); });
    for (const auto& [value, hosts] : by_value)
      if (value != norm->first)
        found.push_back({"fact", listed(names, hosts) + ": " + name + " is " + value + ", " + norm->first + " on " +
                                     std::to_string(norm->second.size()) + " of " + std::to_string(names.size()) +
                                     " hosts"});
  }
  for (const auto& [address, hosts] : owners)
    if (hosts.size() > 1) found.push_back({"address", listed(names, hosts) + " have the same address, " + address});
  return found;
}

}  // namespace mrc::net_bench
