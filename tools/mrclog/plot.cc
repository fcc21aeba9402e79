#include "plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "panel_picture.h"

namespace mrc::log {

namespace {

using tools::PanelPicture;
using tools::series_colour;

constexpr double kWidth = 1080, kLeft = 80, kRight = 170;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr size_t kBuckets = 200;     // of the bar charts
constexpr size_t kMaxPoints = 4000;  // of a line: more cannot be distinguished

// The picture, and the time that it covers.
struct Picture : PanelPicture {
  Picture(int64_t begin_ns, int64_t end_ns)
      : PanelPicture({kWidth, 720, kLeft, kRight}, static_cast<double>(begin_ns), static_cast<double>(end_ns)),
        begin(begin_ns),
        span(std::max<double>(1, static_cast<double>(end_ns - begin_ns))) {}

  double at(int64_t time_ns) const { return x(static_cast<double>(time_ns)); }
  size_t bucket(int64_t time_ns) const {
    return std::min(kBuckets - 1, static_cast<size_t>(static_cast<double>(time_ns - begin) / span * kBuckets));
  }
  void milliseconds(double top) {
    for (int i = 0; i <= 10; ++i)
      tick(static_cast<double>(begin) + span * i / 10, top, tools::short_number(span * i / 10 / 1e6));
    axis_name(top + 18, "milliseconds");
  }

  const int64_t begin;
  const double span;
};

using Buckets = std::array<double, kBuckets>;

// Bars stacked by key, keys in order.
template <typename Key, typename Name>
void stack(Picture* p, double top, double height, const char* title, const std::map<Key, Buckets>& rows, Name name) {
  double max = 0;
  for (size_t b = 0; b < kBuckets; ++b) {
    double sum = 0;
    for (const auto& [key, row] : rows) sum += row[b];
    max = std::max(max, sum);
  }
  p->panel(top, height, title, max);
  const double width = kPlotWidth / kBuckets;
  Buckets base{};
  size_t i = 0;
  for (const auto& [key, row] : rows) {
    for (size_t b = 0; b < kBuckets; ++b) {
      if (row[b] > 0)
        p->bar(kLeft + width * static_cast<double>(b), width, base[b], base[b] + row[b], series_colour(i));
      base[b] += row[b];
    }
    p->legend(i, name(key), series_colour(i));
    ++i;
  }
}

void packets(Picture* p, const Log& log) {
  std::map<uint64_t, Buckets> planes;
  for (const Event& e : log.events)
    if (e.name == "packet_sent" || e.name == "packet_retransmitted") planes[e.number("plane")][p->bucket(e.at_ns)] += 1;
  stack(p, 60, 150, "packets sent, by plane", planes,
        [](uint64_t plane) { return "plane " + std::to_string(plane + 1); });
}

void windows(Picture* p, const Log& log) {
  double max = 0;
  std::map<uint64_t, std::vector<const Event*>> qps;
  for (const Event& e : log.events) {
    if (e.name != "cwnd_updated") continue;
    // The bytes in flight may fall below 0 for a moment: the receiver counts in units of 256 bytes.
    max = std::max(
        {max, static_cast<double>(e.number("cwnd")), static_cast<double>(static_cast<int64_t>(e.number("inflight")))});
    qps[e.number("qpn")].push_back(&e);
  }
  p->panel(250, 150, "congestion window (line) and bytes in flight (thin), by queue pair", max);
  size_t i = 0;
  for (const auto& [qpn, list] : qps) {
    const size_t step = std::max<size_t>(1, list.size() / kMaxPoints);
    for (const bool window : {true, false}) {
      PanelPicture::Points points;
      for (size_t k = 0; k < list.size(); k += step) {
        const auto v = static_cast<double>(static_cast<int64_t>(list[k]->number(window ? "cwnd" : "inflight")));
        points.emplace_back(p->at(list[k]->at_ns), p->y(std::max(0.0, v)));
      }
      p->polyline(points, series_colour(i), window ? 1.4 : 0.4);
    }
    char name[32];
    std::snprintf(name, sizeof name, "QP 0x%06llx", static_cast<unsigned long long>(qpn));
    p->legend(i, name, series_colour(i));
    ++i;
  }
}

void repairs(Picture* p, const Log& log) {
  std::map<std::string, Buckets> reasons;
  for (const Event& e : log.events)
    if (e.name == "packet_retransmitted") reasons[e.trigger][p->bucket(e.at_ns)] += 1;
  stack(p, 440, 100, "packets sent again, by reason", reasons, [](const std::string& why) { return why; });
}

// One row per plane; each change of a path is a tick in the colour of the new state, each change of the plane a bar.
void paths(Picture* p, const Log& log) {
  const std::map<std::string, const char*> states = {
      {"good", "#5a9e5a"}, {"skip", "#e8cf7a"}, {"assumed_bad", "#cc5a5a"}, {"denied", "#333"}};
  uint64_t planes = 1;
  for (const auto& [ev, known] : log.planes_of_ev) planes = std::max(planes, *known.rbegin() + 1);
  p->panel(580, 90, "paths and planes that changed, one row per plane", static_cast<double>(planes));
  std::set<std::tuple<uint64_t, std::string, int>> drawn;  // once for each pixel
  for (const Event& e : log.events) {
    const bool plane = e.name == "plane_changed";
    if (!plane && e.name != "ev_state_changed") continue;
    const std::string state = plane ? (e.number("up") != 0 ? "good" : "assumed_bad") : e.data.value("state", "good");
    if (!plane && !drawn.emplace(e.number("plane"), state, static_cast<int>(p->at(e.at_ns))).second) continue;
    const auto found = states.find(state);
    const double high = p->y(static_cast<double>(std::min(planes, e.number("plane") + 1)));
    const double low = p->y(static_cast<double>(std::min(planes - 1, e.number("plane"))));
    p->line(p->at(e.at_ns), high + 2, p->at(e.at_ns), low - 2, found == states.end() ? "#777" : found->second,
            plane ? 4 : 1);
  }
  size_t row = 0;
  for (const auto& [name, fill] : states) p->legend(row++, name, fill);
}

}  // namespace

std::string draw(const Log& log) {
  Picture p(log.begin_ns(), log.end_ns());
  std::string title = log.header.value("title", std::string("MRC"));
  if (log.header.contains("trace") && log.header["trace"].contains("vantage_point"))
    title += ", " + log.header["trace"]["vantage_point"].value("name", std::string());
  p.title(title);
  packets(&p, log);
  windows(&p, log);
  repairs(&p, log);
  paths(&p, log);
  p.milliseconds(690);
  return p.svg();
}

}  // namespace mrc::log
