#include "compare.h"

#include <algorithm>
#include <cstdio>

#include "print.h"
#include "summary.h"

namespace mrc::log {

namespace {

// Times, ages and random numbers of a process are irrelevant for a decision.
nlohmann::json essence(const Event& e) {
  nlohmann::json d = e.data;
  for (const char* own : {"qpn", "wr_id", "rtt_ns", "age_ns"}) d.erase(own);
  return d;
}

bool alike(const Event& a, const Event& b) {
  return a.name == b.name && a.trigger == b.trigger && essence(a) == essence(b);
}

}  // namespace

Comparison compare(const Log& first, const Log& second) {
  Comparison c;
  const size_t common = std::min(first.events.size(), second.events.size());
  while (c.parts_at < common && alike(first.events[c.parts_at], second.events[c.parts_at])) ++c.parts_at;
  c.same = c.parts_at == first.events.size() && c.parts_at == second.events.size();
  if (c.parts_at < first.events.size()) c.first = to_text(first.events[c.parts_at], first.begin_ns());
  if (c.parts_at < second.events.size()) c.second = to_text(second.events[c.parts_at], second.begin_ns());
  const Summary a = summarise(first), b = summarise(second);
  auto keys = a.counts;
  keys.insert(b.counts.begin(), b.counts.end());
  const auto of = [](const Summary& s, const auto& key) {
    const auto found = s.counts.find(key);
    return found == s.counts.end() ? uint64_t{0} : found->second;
  };
  c.rows = nlohmann::json::array();
  for (const auto& [key, count] : keys)
    c.rows.push_back({{"event", key.first}, {"trigger", key.second}, {"first", of(a, key)}, {"second", of(b, key)}});
  return c;
}

nlohmann::json to_json(const Comparison& c, const Log& first, const Log& second) {
  return {{"same", c.same},
          {"first", to_json(summarise(first))},
          {"second", to_json(summarise(second))},
          {"counts", c.rows},
          {"parts_at", {{"index", c.parts_at}, {"first", c.first}, {"second", c.second}}}};
}

std::string to_text(const Comparison& c, const Log& first, const Log& second) {
  std::string out = "A: " + first.path + "\nB: " + second.path + "\n\n";
  char row[256];
  std::snprintf(row, sizeof row, "%-24s %-18s %9s %9s %9s\n", "event", "why", "A", "B", "B - A");
  out += row;
  for (const auto& r : c.rows) {
    const auto a = r["first"].get<long long>(), b = r["second"].get<long long>();
    const std::string trigger = r["trigger"];
    std::snprintf(row, sizeof row, "%-24s %-18s %9lld %9lld %+9lld\n", r["event"].get<std::string>().c_str(),
                  trigger.empty() ? "-" : trigger.c_str(), a, b, b - a);
    out += row;
  }
  const Summary a = summarise(first), b = summarise(second);
  std::snprintf(row, sizeof row, "\nseconds %.6f and %.6f; median round trip %.1f us and %.1f us\n", a.seconds,
                b.seconds, a.rtt_us(0.5), b.rtt_us(0.5));
  out += row;
  if (c.same) return out + "The same decisions in the same order.\n";
  out += "They part at event " + std::to_string(c.parts_at + 1) + ":\n";
  out += "A: " + (c.first.empty() ? "(ended)" : c.first) + "\nB: " + (c.second.empty() ? "(ended)" : c.second) + "\n";
  return out;
}

}  // namespace mrc::log
