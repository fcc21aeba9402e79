#include "summary.h"

#include <algorithm>
#include <cstdio>

#include "wire/text.h"

namespace mrc::log {

namespace {

using nlohmann::json;

template <typename... Args>
void line(std::string* out, const char* format, Args... args) {
  char text[256];
  std::snprintf(text, sizeof text, format, args...);
  *out += text;
}

void add_path(Summary* s, const Event& e) {
  const auto ev = e.maybe("ev"), plane = e.maybe("plane");
  if (!ev || !plane) return;
  PathSummary& p = s->paths[{*plane, *ev}];
  if (e.name == "packet_sent") ++p.sent;
  if (e.name == "packet_retransmitted") ++p.retransmitted;
  if (e.name == "packet_lost") ++p.lost;
  if (e.name == "ev_chosen") ++p.chosen;
  if (e.name == "ev_state_changed") {
    ++p.state_changes;
    p.state = e.data.value("state", "");
  }
}

void add_window(Summary* s, const Event& e) {
  WindowSummary& w = s->windows[e.number("qpn")];
  const uint64_t cwnd = e.number("cwnd");
  ++w.updates;
  w.min = std::min(w.min, cwnd);
  w.max = std::max(w.max, cwnd);
  w.sum += static_cast<double>(cwnd);
  if (e.data.contains("branches"))
    for (const json& b : e.data["branches"]) ++w.branches[b.get<std::string>()];
  if (const auto rtt = e.maybe("rtt_ns"); rtt && *rtt > 0) s->rtts_ns.push_back(static_cast<int64_t>(*rtt));
}

}  // namespace

uint64_t Summary::of(const std::string& event) const {
  uint64_t n = 0;
  for (const auto& [key, count] : counts)
    if (key.first == event) n += count;
  return n;
}

double Summary::rtt_us(double share) const {
  if (rtts_ns.empty()) return 0;
  const auto i = static_cast<size_t>(share * static_cast<double>(rtts_ns.size() - 1));
  return static_cast<double>(rtts_ns[i]) / 1e3;
}

Summary summarise(const Log& log) {
  Summary s;
  s.path = log.path;
  s.seconds = static_cast<double>(log.end_ns() - log.begin_ns()) / 1e9;
  s.lost = log.lost;
  s.damaged = log.damaged;
  for (const Event& e : log.events) {
    ++s.counts[{e.name, e.trigger}];
    add_path(&s, e);
    if (e.name == "cwnd_updated") add_window(&s, e);
  }
  std::sort(s.rtts_ns.begin(), s.rtts_ns.end());
  return s;
}

json to_json(const Summary& s) {
  json counts = json::object(), paths = json::array(), windows = json::array();
  for (const auto& [key, count] : s.counts) counts[key.first][key.second.empty() ? "-" : key.second] = count;
  for (const auto& [path, p] : s.paths)
    paths.push_back({{"ev", path.second},
                     {"plane", path.first},
                     {"chosen", p.chosen},
                     {"sent", p.sent},
                     {"retransmitted", p.retransmitted},
                     {"lost", p.lost},
                     {"state_changes", p.state_changes},
                     {"state", p.state}});
  for (const auto& [qpn, w] : s.windows)
    windows.push_back({{"qpn", qpn},
                       {"updates", w.updates},
                       {"cwnd_min", w.min},
                       {"cwnd_max", w.max},
                       {"cwnd_mean", w.sum / static_cast<double>(w.updates)},
                       {"branches", w.branches}});
  const json rtt = {
      {"samples", s.rtts_ns.size()}, {"p50_us", s.rtt_us(0.5)}, {"p99_us", s.rtt_us(0.99)}, {"max_us", s.rtt_us(1)}};
  return {{"file", s.path},   {"seconds", s.seconds}, {"events_lost", s.lost}, {"damaged_records", s.damaged},
          {"counts", counts}, {"paths", paths},       {"windows", windows},    {"rtt", rtt}};
}

std::string to_text(const Summary& s) {
  std::string out = s.path;
  line(&out, ": %.6f s\n", s.seconds);
  if (s.lost > 0)
    line(&out, "%llu events were lost in the traced process: numbers below are too low\n",
         static_cast<unsigned long long>(s.lost));
  if (s.damaged > 0) line(&out, "%llu records are damaged\n", static_cast<unsigned long long>(s.damaged));
  out += "\nevent                    why                    count\n";
  for (const auto& [key, count] : s.counts)
    line(&out, "%-24s %-18s %9llu\n", key.first.c_str(), key.second.empty() ? "-" : key.second.c_str(),
         static_cast<unsigned long long>(count));
  if (!s.paths.empty()) out += "\n          EV  plane    chosen      sent     again      lost  state\n";
  for (const auto& [path, p] : s.paths)
    line(&out, "%12s  %5llu %9llu %9llu %9llu %9llu  %s\n", wire::ev_text(static_cast<uint32_t>(path.second)).c_str(),
         static_cast<unsigned long long>(path.first) + 1, static_cast<unsigned long long>(p.chosen),
         static_cast<unsigned long long>(p.sent), static_cast<unsigned long long>(p.retransmitted),
         static_cast<unsigned long long>(p.lost), p.state.empty() ? "-" : p.state.c_str());
  for (const auto& [qpn, w] : s.windows) {
    line(&out, "\nQP 0x%06llx: window %llu to %llu bytes, mean %.0f, in %llu updates\n",
         static_cast<unsigned long long>(qpn), static_cast<unsigned long long>(w.min),
         static_cast<unsigned long long>(w.max), w.sum / static_cast<double>(w.updates),
         static_cast<unsigned long long>(w.updates));
    for (const auto& [name, count] : w.branches)
      line(&out, "  %-18s %9llu\n", name.c_str(), static_cast<unsigned long long>(count));
  }
  if (!s.rtts_ns.empty())
    line(&out, "\nround trips: %zu samples, median %.1f us, 99 %% %.1f us, most %.1f us\n", s.rtts_ns.size(),
         s.rtt_us(0.5), s.rtt_us(0.99), s.rtt_us(1));
  return out;
}

}  // namespace mrc::log
