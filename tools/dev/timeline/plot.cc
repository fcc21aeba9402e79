#include "plot.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "panel_picture.h"

namespace mrc::timeline {

namespace {

using tools::PanelPicture;

// The next number of the form 1, 2 or 5 times a power of ten.
double round_up(double v) {
  if (v <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(v)));
  for (double m : {1.0, 2.0, 5.0})
    if (m * power >= v) return m * power;
  return 10 * power;
}

// A step function of the intervals as a filled area above `base`, which is raised by the values.
void area(PanelPicture* p, const std::vector<Row>& rows, std::vector<double>* base, const std::vector<double>& values,
          const char* colour) {
  PanelPicture::Points up, down;
  double from = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double low = (*base)[i], high = low + values[i];
    up.insert(up.end(), {{p->x(from), p->y(high)}, {p->x(rows[i].t), p->y(high)}});
    down.insert(down.end(), {{p->x(from), p->y(low)}, {p->x(rows[i].t), p->y(low)}});
    (*base)[i] = high;
    from = rows[i].t;
  }
  up.insert(up.end(), down.rbegin(), down.rend());
  p->polygon(up, colour);
}

// The end of an axis for `values`: one in fifty may lie beyond, so that a burst of messages that ended together does
// not flatten all the rest.
double axis_end(std::vector<double> values) {
  if (values.empty()) return 1;
  const size_t rank = (values.size() * 49 + 49) / 50;
  const auto last = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), last, values.end());
  return round_up(*last);
}

// The larger of what was sent and what was acknowledged, by interval.
std::vector<double> totals_of(const std::vector<Row>& rows) {
  std::vector<double> totals;
  for (const Row& r : rows) {
    double sum = 0;
    for (double g : r.plane_gbps) sum += g;
    totals.push_back(std::max(r.gbps, sum));
  }
  return totals;
}

void throughput(PanelPicture* p, double top, const std::vector<Row>& rows, const std::vector<Mark>& marks) {
  size_t planes = 0;
  for (const Row& r : rows) planes = std::max(planes, r.plane_gbps.size());
  const std::vector<double> totals = totals_of(rows);
  const double max = axis_end(totals);
  const auto cut = std::count_if(totals.begin(), totals.end(), [max](double total) { return total > max; });
  p->panel(top, 230,
           "Gb/s sent, by plane; line: data acknowledged" +
               (cut == 0 ? "" : "; intervals beyond the axis, cut: " + std::to_string(cut)),
           max);
  std::vector<double> base(rows.size(), 0.0);
  for (size_t plane = 0; plane < planes; ++plane) {
    std::vector<double> values;
    for (size_t i = 0; i < rows.size(); ++i)
      values.push_back(plane < rows[i].plane_gbps.size() ? std::min(rows[i].plane_gbps[plane], max - base[i]) : 0);
    area(p, rows, &base, values, tools::series_colour(plane));
    p->legend(plane, "plane " + std::to_string(plane + 1), tools::series_colour(plane));
  }
  PanelPicture::Points line;
  double from = 0;
  for (const Row& r : rows) {
    const double gbps = std::min(r.gbps, max);
    line.insert(line.end(), {{p->x(from), p->y(gbps)}, {p->x(r.t), p->y(gbps)}});
    from = r.t;
  }
  p->polyline(line, "#111", 1.2);
  for (const Mark& m : marks) p->text(p->x(m.from) + 3, top + 12, m.label, " fill=\"#a03030\"");
}

void bars(PanelPicture* p, double top, double height, const std::string& name, const std::vector<Row>& rows,
          double Row::*value, const char* colour) {
  double max = 0;
  for (const Row& r : rows) max = std::max(max, r.*value);
  p->panel(top, height, name, max <= 4 ? 4 : round_up(max));
  std::vector<double> base(rows.size(), 0.0), values;
  for (const Row& r : rows) values.push_back(r.*value);
  area(p, rows, &base, values, colour);
}

void paths(PanelPicture* p, double top, const std::vector<Row>& rows) {
  double max = 1;
  for (const Row& r : rows) max = std::max(max, r.good + r.skip + r.assumed_bad + r.denied);
  p->panel(top, 90, "active paths (EVs) by state", max);
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
    area(p, rows, &base, values, s.colour);
    p->legend(line++, s.name, s.colour);
  }
}

// Says in numbers what bars of no height show: where nothing went wrong, nothing was sent again. The interval in which
// the fault begins is counted, and drawn, as one: it is not known which part of it came before.
std::string retransmits_title(const std::vector<Row>& rows, const std::vector<Mark>& marks) {
  const auto count = [](double n) { return std::to_string(static_cast<long long>(n)); };
  double all = 0, before = 0;
  for (const Row& r : rows) {
    all += r.retransmits;
    if (!marks.empty() && r.t <= marks[0].from) before += r.retransmits;
  }
  const std::string title = "packets sent again, per interval: " + count(all) + " in all";
  return marks.empty() ? title : title + ", " + count(before) + " before the interval of the first fault";
}

void seconds_axis(PanelPicture* p, double end, double y) {
  const double step = round_up(end / 12);
  for (double t = 0; t <= end * 1.0001; t += step) p->tick(t, y, tools::short_number(t));
  p->axis_name(y + 18, "seconds");
}

}  // namespace

std::string draw(const std::string& title, const std::vector<Row>& rows, const std::vector<Mark>& marks) {
  const double end = rows.empty() ? 1 : rows.back().t;
  PanelPicture p({960, 640, 70, 150}, 0, end);
  p.title(title);
  for (const Mark& m : marks) p.shade(m.from, m.to);
  throughput(&p, 44, rows, marks);
  bars(&p, 304, 60, "planes in use", rows, &Row::planes_in_use, "#8fb0d0");
  bars(&p, 394, 80, retransmits_title(rows, marks), rows, &Row::retransmits, "#c98a5a");
  paths(&p, 504, rows);
  seconds_axis(&p, end, 610);
  return p.svg();
}

std::string draw_panels(const std::string& title, const std::vector<Panel>& panels, const std::vector<Mark>& marks) {
  constexpr double kFirst = 60, kHeight = 150, kEach = 190;
  double end = 0, max = 0;
  for (const Panel& panel : panels)
    for (const Step& step : panel.steps) {
      end = std::max(end, step.to);
      max = std::max(max, step.value);
    }
  const double bottom = kFirst + kEach * static_cast<double>(panels.size());
  PanelPicture p({960, bottom + 10, 70, 30}, 0, end > 0 ? end : 1);
  p.title(title);
  for (const Mark& m : marks) p.shade(m.from, m.to);
  for (size_t i = 0; i < panels.size(); ++i) {
    const double top = kFirst + kEach * static_cast<double>(i);
    p.panel(top, kHeight, panels[i].title, round_up(max));
    PanelPicture::Points line;
    for (const Step& step : panels[i].steps)
      line.insert(line.end(), {{p.x(step.from), p.y(step.value)}, {p.x(step.to), p.y(step.value)}});
    p.polyline(line, tools::series_colour(i), 1.5);
    for (const Mark& m : marks) p.text(p.x(m.from) + 3, top + 12, m.label, " fill=\"#a03030\"");
  }
  seconds_axis(&p, end, bottom - 20);
  return p.svg();
}

}  // namespace mrc::timeline
