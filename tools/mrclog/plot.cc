#include "plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

namespace mrc::log {

namespace {

constexpr double kWidth = 1080, kLeft = 80, kRight = 170;
constexpr size_t kBuckets = 200;     // of the bar charts
constexpr size_t kMaxPoints = 4000;  // of a line: more cannot be distinguished
constexpr const char* kColours[] = {"#4878a8", "#e08a3c", "#5a9e5a", "#b05a9e",
                                    "#8a7a50", "#50a0a0", "#c05050", "#707070"};

const char* colour(size_t i) {
  return kColours[i % std::size(kColours)];
}

class Picture {
 public:
  Picture(int64_t begin, int64_t end) : begin_(begin), span_(std::max<double>(1, static_cast<double>(end - begin))) {}

  template <typename... Args>
  void add(const char* format, Args... args) {
    char text[400];
    std::snprintf(text, sizeof text, format, args...);
    svg_ += text;
  }
  double x(int64_t at) const { return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(at - begin_) / span_; }
  void panel(double top, double height, const char* title, double max) {
    top_ = top;
    height_ = height;
    max_ = max <= 0 ? 1 : max;
    add("<text x='%.0f' y='%.0f' font-weight='bold'>%s</text>\n", kLeft, top - 6, title);
    for (double share : {0.0, 0.5, 1.0})
      add("<line x1='%.0f' x2='%.0f' y1='%.1f' y2='%.1f' stroke='#ddd'/><text x='%.0f' y='%.1f' "
          "text-anchor='end'>%.4g</text>\n",
          kLeft, kWidth - kRight, y(share * max_), y(share * max_), kLeft - 6, y(share * max_) + 4, share * max_);
  }
  double y(double v) const { return top_ + height_ * (1 - v / max_); }
  void legend(size_t row, const char* name, const char* fill) {
    const double at = top_ + 14 * static_cast<double>(row);
    add("<rect x='%.0f' y='%.1f' width='10' height='10' fill='%s'/><text x='%.0f' y='%.1f'>%s</text>\n",
        kWidth - kRight + 12, at, fill, kWidth - kRight + 27, at + 9, name);
  }
  void bar(size_t bucket, double low, double high, const char* fill) {
    const double w = (kWidth - kLeft - kRight) / kBuckets;
    add("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'/>\n", kLeft + w * static_cast<double>(bucket),
        y(high), w, y(low) - y(high), fill);
  }
  void axis(double top) {
    for (int i = 0; i <= 10; ++i) {
      const double at = kLeft + (kWidth - kLeft - kRight) * i / 10;
      add("<text x='%.0f' y='%.0f' text-anchor='middle'>%.4g</text>\n", at, top, span_ * i / 10 / 1e6);
    }
    add("<text x='%.0f' y='%.0f' text-anchor='middle'>milliseconds</text>\n", (kLeft + kWidth - kRight) / 2, top + 18);
  }
  size_t bucket(int64_t at) const {
    return std::min(kBuckets - 1, static_cast<size_t>(static_cast<double>(at - begin_) / span_ * kBuckets));
  }
  std::string& svg() { return svg_; }

 private:
  std::string svg_;
  int64_t begin_;
  double span_;
  double top_ = 0, height_ = 1, max_ = 1;
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
  Buckets base{};
  size_t i = 0;
  for (const auto& [key, row] : rows) {
    for (size_t b = 0; b < kBuckets; ++b) {
      if (row[b] > 0) p->bar(b, base[b], base[b] + row[b], colour(i));
      base[b] += row[b];
    }
    p->legend(i, name(key).c_str(), colour(i));
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
      p->add("<polyline fill='none' stroke='%s' stroke-width='%s' points='", colour(i), window ? "1.4" : "0.4");
      for (size_t k = 0; k < list.size(); k += step) {
        const auto v = static_cast<double>(static_cast<int64_t>(list[k]->number(window ? "cwnd" : "inflight")));
        p->add("%.1f,%.1f ", p->x(list[k]->at_ns), p->y(std::max(0.0, v)));
      }
      p->add("'/>\n");
    }
    char name[32];
    std::snprintf(name, sizeof name, "QP 0x%06llx", static_cast<unsigned long long>(qpn));
    p->legend(i, name, colour(i));
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
    if (!plane && !drawn.emplace(e.number("plane"), state, static_cast<int>(p->x(e.at_ns))).second) continue;
    const auto found = states.find(state);
    const double high = p->y(static_cast<double>(std::min(planes, e.number("plane") + 1)));
    const double low = p->y(static_cast<double>(std::min(planes - 1, e.number("plane"))));
    p->add("<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' stroke='%s' stroke-width='%s'/>\n", p->x(e.at_ns),
           p->x(e.at_ns), high + 2, low - 2, found == states.end() ? "#777" : found->second, plane ? "4" : "1");
  }
  size_t row = 0;
  for (const auto& [name, fill] : states) p->legend(row++, name.c_str(), fill);
}

}  // namespace

std::string draw(const Log& log) {
  Picture p(log.begin_ns(), log.end_ns());
  std::string title = log.header.value("title", std::string("MRC"));
  if (log.header.contains("trace") && log.header["trace"].contains("vantage_point"))
    title += ", " + log.header["trace"]["vantage_point"].value("name", std::string());
  std::string safe;
  for (char c : title) safe += c == '<' ? "&lt;" : c == '&' ? "&amp;" : c == '>' ? "&gt;" : std::string(1, c);
  p.add("<text x='%.0f' y='24' font-size='15' font-weight='bold'>%.200s</text>\n", kLeft, safe.c_str());
  packets(&p, log);
  windows(&p, log);
  repairs(&p, log);
  paths(&p, log);
  p.axis(690);
  return "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1080 720' width='1080' height='720' "
         "font-family='sans-serif' "
         "font-size='11'>\n<rect width='1080' height='720' fill='#fff'/>\n" +
         p.svg() + "</svg>\n";
}

}  // namespace mrc::log
