#include "plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace mrc::timeline {

namespace {

constexpr double kWidth = 960, kLeft = 70, kRight = 150, kTop = 44;
constexpr const char* kPlaneColours[] = {"#4878a8", "#e08a3c", "#5a9e5a", "#b05a9e",
                                         "#8a7a50", "#50a0a0", "#c05050", "#707070"};

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", v);
  return text;
}

std::string xy(double x, double y) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f,%.1f ", x, y);
  return text;
}

std::string escape(const std::string& in) {
  std::string out;
  for (char c : in)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return out;
}

// The next number of the form 1, 2 or 5 times a power of ten.
double round_up(double v) {
  if (v <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(v)));
  for (double m : {1.0, 2.0, 5.0, 10.0})
    if (m * power >= v) return m * power;
  return 10 * power;
}

struct Panel {
  double top, height, max;
  double end_s;
  double x(double t) const { return kLeft + (kWidth - kLeft - kRight) * t / end_s; }
  double y(double v) const { return top + height * (1 - v / max); }
};

void text(std::string* svg, double x, double y, const std::string& words, const char* more = "") {
  *svg += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" " + more + ">" + escape(words) + "</text>\n";
}

void frame(std::string* svg, const Panel& p, const std::string& name, const std::vector<Mark>& marks) {
  for (const Mark& m : marks)
    *svg += "<rect x=\"" + number(p.x(m.from)) + "\" y=\"" + number(p.top) + "\" width=\"" +
            number(p.x(std::min(m.to, p.end_s)) - p.x(m.from)) + "\" height=\"" + number(p.height) +
            "\" fill=\"#f6dcdc\"/>\n";
  for (double v : {0.0, p.max / 2, p.max}) {
    *svg += "<line x1=\"" + number(kLeft) + "\" x2=\"" + number(kWidth - kRight) + "\" y1=\"" + number(p.y(v)) +
            "\" y2=\"" + number(p.y(v)) + "\" stroke=\"#ddd\"/>\n";
    text(svg, kLeft - 6, p.y(v) + 4, number(v), "text-anchor=\"end\"");
  }
  text(svg, kLeft, p.top - 6, name, "font-weight=\"bold\"");
}

// A stacked area or, with several calls, a stack of them; `base` is raised by the values.
void area(std::string* svg, const Panel& p, const std::vector<Row>& rows, std::vector<double>* base,
          const std::vector<double>& values, const char* colour) {
  std::string up, down;
  double from = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double low = (*base)[i], high = low + values[i];
    up += xy(p.x(from), p.y(high)) + xy(p.x(rows[i].t), p.y(high));
    down = xy(p.x(rows[i].t), p.y(low)) + xy(p.x(from), p.y(low)) + down;
    (*base)[i] = high;
    from = rows[i].t;
  }
  *svg += "<polygon points=\"" + up + down + "\" fill=\"" + colour + "\"/>\n";
}

void legend(std::string* svg, double top, size_t line, const std::string& name, const char* colour) {
  const double y = top + 14 * static_cast<double>(line);
  *svg += "<rect x=\"" + number(kWidth - kRight + 12) + "\" y=\"" + number(y) +
          "\" width=\"10\" height=\"10\" fill=\"" + colour + "\"/>\n";
  text(svg, kWidth - kRight + 27, y + 9, name);
}

void throughput(std::string* svg, Panel p, const std::vector<Row>& rows, const std::vector<Mark>& marks) {
  size_t planes = 0;
  for (const Row& r : rows) {
    planes = std::max(planes, r.plane_gbps.size());
    double sum = 0;
    for (double g : r.plane_gbps) sum += g;
    p.max = std::max({p.max, r.gbps, sum});
  }
  p.max = round_up(p.max);
  frame(svg, p, "Gb/s sent, by plane; line: data acknowledged", marks);
  std::vector<double> base(rows.size(), 0.0);
  for (size_t plane = 0; plane < planes; ++plane) {
    std::vector<double> values;
    for (const Row& r : rows) values.push_back(plane < r.plane_gbps.size() ? r.plane_gbps[plane] : 0);
    const char* colour = kPlaneColours[plane % std::size(kPlaneColours)];
    area(svg, p, rows, &base, values, colour);
    legend(svg, p.top, plane, "plane " + std::to_string(plane + 1), colour);
  }
  std::string line;
  double from = 0;
  for (const Row& r : rows) line += xy(p.x(from), p.y(r.gbps)) + xy(p.x(r.t), p.y(r.gbps)), from = r.t;
  *svg += "<polyline points=\"" + line + "\" fill=\"none\" stroke=\"#111\" stroke-width=\"1.2\"/>\n";
  for (const Mark& m : marks) text(svg, p.x(m.from) + 3, p.top + 12, m.label, "fill=\"#a03030\"");
}

template <typename Value>
void bars(std::string* svg, Panel p, const std::string& name, const std::vector<Row>& rows,
          const std::vector<Mark>& marks, Value value, const char* colour) {
  for (const Row& r : rows) p.max = std::max(p.max, value(r));
  p.max = p.max <= 4 ? 4 : round_up(p.max);
  frame(svg, p, name, marks);
  std::vector<double> base(rows.size(), 0.0), values;
  for (const Row& r : rows) values.push_back(value(r));
  area(svg, p, rows, &base, values, colour);
}

void paths(std::string* svg, Panel p, const std::vector<Row>& rows, const std::vector<Mark>& marks) {
  for (const Row& r : rows) p.max = std::max(p.max, r.good + r.skip + r.assumed_bad + r.denied);
  p.max = std::max(p.max, 1.0);
  frame(svg, p, "active paths (EVs) by state", marks);
  struct State {
    const char* name;
    const char* colour;
    double Row::*value;
  };
  const State states[] = {{"good", "#9cc59c", &Row::good},
                          {"skip", "#e8cf7a", &Row::skip},
                          {"assumed bad", "#cc5a5a", &Row::assumed_bad},
                          {"denied", "#555", &Row::denied}};
  std::vector<double> base(rows.size(), 0.0);
  size_t line = 0;
  for (const State& s : states) {
    std::vector<double> values;
    for (const Row& r : rows) values.push_back(r.*s.value);
    area(svg, p, rows, &base, values, s.colour);
    legend(svg, p.top, line++, s.name, s.colour);
  }
}

}  // namespace

std::string draw(const std::string& title, const std::vector<Row>& rows, const std::vector<Mark>& marks) {
  const double end = rows.empty() ? 1 : rows.back().t;
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 640\" width=\"960\" height=\"640\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"960\" height=\"640\" fill=\"#fff\"/>\n";
  text(&svg, kLeft, 18, title, "font-size=\"15\" font-weight=\"bold\"");
  throughput(&svg, {kTop, 230, 0, end}, rows, marks);
  bars(
      &svg, {304, 60, 0, end}, "planes in use", rows, marks, [](const Row& r) { return r.planes_in_use; }, "#8fb0d0");
  bars(
      &svg, {394, 80, 0, end}, "packets sent again, per interval", rows, marks,
      [](const Row& r) { return r.retransmits; }, "#c98a5a");
  paths(&svg, {504, 90, 0, end}, rows, marks);
  const Panel axis{504, 90, 1, end};
  const double step = round_up(end / 12);
  for (double t = 0; t <= end * 1.0001; t += step) text(&svg, axis.x(t), 610, number(t), "text-anchor=\"middle\"");
  text(&svg, (kLeft + kWidth - kRight) / 2, 628, "seconds", "text-anchor=\"middle\"");
  return svg + "</svg>\n";
}

}  // namespace mrc::timeline
