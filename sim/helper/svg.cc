#include "sim/helper/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "append_item.h"
#include "xml_text.h"

namespace mrc::sim {
namespace {

using support::escape_xml;

constexpr double kWidth = 860, kHeight = 260, kLeft = 70, kTop = 30, kBottom = 42;
constexpr size_t kColours = 8;
constexpr size_t kMaxPoints = 2000;
constexpr size_t kMarkTexts = 4;                       // more marks than these are numbered
constexpr size_t kMaxLegend = 60, kLegendColumns = 3;  // of those
constexpr double kLegendLine = 14;

// Steps of 1, 2 or 5 times a power of ten.
double tick_step(double span) {
  const double raw = span / 6;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double m : {1.0, 2.0, 5.0})
    if (raw <= m * power) return m * power;
  return 10 * power;
}

std::string tag(const char* format, double a, double b, double c, double d) {
  char out[200];
  std::snprintf(out, sizeof(out), format, a, b, c, d);
  return out;
}

// Inside each chart, so that it is also valid as a separate file.
const char* const kChartStyle =
    "<style>text{font:11px system-ui,sans-serif}.grid{stroke:#e3e3e3}.mark{stroke:#555;stroke-dasharray:3 "
    "3}</style>";

struct Mark {
  double x;
  std::vector<std::string> texts;  // of what happens at this instant
  std::string text() const {
    return texts[0] + (texts.size() > 1 ? " and " + std::to_string(texts.size() - 1) + " more" : "");
  }
};

std::vector<Mark> marks_between(const Chart& chart, double x0, double x1) {
  std::map<double, std::vector<std::string>> at;
  for (const auto& [x, text] : chart.marks)
    if (x >= x0 && x <= x1) at[x].push_back(text);
  std::vector<Mark> marks;
  for (const auto& [x, texts] : at) marks.push_back({x, texts});
  return marks;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  char out[120];
  std::snprintf(out, sizeof(out), "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  return out + escape_xml(text) + "</text>";
}

// "1  at 1000: down plane 0 T0 0-T1 3", three to a line, below `top`.
std::string mark_legend(const std::vector<Mark>& marks, double top) {
  std::string s;
  for (size_t i = 0; i < std::min(marks.size(), kMaxLegend); ++i) {
    std::string text = std::to_string(i + 1) + "  at " + format_number(marks[i].x) + ": " + marks[i].text();
    if (i + 1 == kMaxLegend && marks.size() > kMaxLegend)
      text = "and " + std::to_string(marks.size() - i) + " more, as far as number " + std::to_string(marks.size());
    const size_t row = i / kLegendColumns, column = i % kLegendColumns;
    s += text_at(kLeft + (kWidth - kLeft) / kLegendColumns * static_cast<double>(column),
                 top + kLegendLine * static_cast<double>(row + 1), "start", text);
  }
  return s;
}

}  // namespace

const char* curve_colour(size_t i) {
  // Okabe and Ito's, which the colour-blind tell apart; yellow, faint on white, is the last.
  static const char* const colours[kColours] = {"#0072B2", "#D55E00", "#009E73", "#E69F00",
                                                "#56B4E9", "#CC79A7", "#000000", "#F0E442"};
  return colours[i % kColours];
}

std::string format_number(double v) {
  char out[40];
  std::snprintf(out, sizeof(out), std::fabs(v) >= 1e6 || (v != 0 && std::fabs(v) < 1e-3) ? "%.3g" : "%.6g", v);
  return out;
}

namespace {

// Units of axes, each a thousand times the one before.
const std::vector<std::vector<std::string>> kUnits = {
    {"ns", "us", "ms", "s"}, {"kb/s", "Mb/s", "Gb/s", "Tb/s"}, {"B", "kB", "MB", "GB"}};

// A label that ends with a unit gets the one in which `max` has one to four figures before the point. Returns by what
// values have to be multiplied.
double fit_unit(double max, std::string* label) {
  for (const auto& ladder : kUnits)
    for (size_t given = 0; given < ladder.size(); ++given) {
      const std::string& unit = ladder[given];
      const size_t at = label->size() - std::min(label->size(), unit.size());
      if (label->compare(at, std::string::npos, unit) != 0 || (at > 0 && (*label)[at - 1] != ' ')) continue;
      size_t fits = given;
      double factor = 1;
      for (; max * factor >= 10000 && fits + 1 < ladder.size(); ++fits) factor /= 1000;
      for (; max > 0 && max * factor < 1 && fits > 0; --fits) factor *= 1000;
      label->replace(at, std::string::npos, ladder[fits]);
      return factor;
    }
  return 1;
}

Chart in_fitting_units(Chart c) {
  double x_max = 0, y_max = 0;
  for (const Curve& curve : c.curves)
    for (const auto& [x, y] : curve.points) {
      x_max = std::max(x_max, x);
      y_max = std::max(y_max, y);
    }
  const double x_factor = fit_unit(x_max, &c.x_label), y_factor = fit_unit(y_max, &c.y_label);
  for (Curve& curve : c.curves)
    for (auto& [x, y] : curve.points) {
      x *= x_factor;
      y *= y_factor;
    }
  for (auto& [x, text] : c.marks) x *= x_factor;
  return c;
}

// What of the plot is where.
struct Axes {
  double x0 = 1e300, x1 = -1e300, y1 = 0;
  double right = 150;  // for the legend: as wide as its longest name, within bounds
  bool log_x = false;

  explicit Axes(const Chart& chart) : log_x(chart.log_x) {
    for (const Curve& c : chart.curves) {
      right = std::clamp(30 + 6.3 * static_cast<double>(c.name.size()), right, kWidth / 2);
      for (const auto& [x, y] : c.points) {
        x0 = std::min(x0, x);
        x1 = std::max(x1, x);
        y1 = std::max(y1, y);
      }
    }
    if (x0 == x1) x1 = x0 + 1;
    if (y1 == 0) y1 = 1;
    y1 *= 1.05;
  }
  bool empty() const { return x0 > x1; }
  double x_of(double x) const {
    const double part = log_x ? std::log(x / x0) / std::log(x1 / x0) : (x - x0) / (x1 - x0);
    return kLeft + part * (kWidth - kLeft - right);
  }
  double y_of(double y) const { return kHeight - kBottom - y / y1 * (kHeight - kTop - kBottom); }
};

std::string grid(const Axes& axes) {
  std::string s;
  for (double y = 0; y <= axes.y1; y += tick_step(axes.y1)) {
    s += tag("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>", kLeft, axes.y_of(y),
             kWidth - axes.right, axes.y_of(y));
    s += text_at(kLeft - 6, axes.y_of(y) + 4, "end", format_number(y));
  }
  return s;
}

// On a logarithmic axis every point is named.
std::string x_ticks(const Chart& chart, const Axes& axes) {
  std::string s;
  const double below = kHeight - kBottom + 16;
  if (chart.log_x) {
    std::vector<double> seen;
    for (const Curve& c : chart.curves)
      for (const auto& [x, y] : c.points)
        if (std::find(seen.begin(), seen.end(), x) == seen.end()) {
          seen.push_back(x);
          s += text_at(axes.x_of(x), below, "middle", format_number(x));
        }
    return s;
  }
  const double step = tick_step(axes.x1 - axes.x0);
  for (double x = std::ceil(axes.x0 / step) * step; x <= axes.x1 + step * 1e-6; x += step)
    s += text_at(axes.x_of(x), below, "middle", format_number(std::fabs(x) < step * 1e-6 ? 0 : x));
  return s;
}

std::string mark_lines(const std::vector<Mark>& marks, const Axes& axes, bool numbered) {
  std::string s;
  double free_from = 0;  // where a number does not touch the one before
  for (size_t i = 0; i < marks.size(); ++i) {
    const double x = axes.x_of(marks[i].x);
    std::string title;
    for (const std::string& text : marks[i].texts) append_item(&title, text, "\n");
    s += tag("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"mark\"><title>", x, kTop, x,
             kHeight - kBottom) +
         escape_xml(title) + "</title></line>";
    if (!numbered) {
      s += text_at(x + 3, kTop + 10 + 10 * static_cast<double>(i), "start", marks[i].text());
    } else if (x >= free_from) {
      const std::string number = std::to_string(i + 1);
      s += text_at(x + 2, kTop + 10, "start", number);
      free_from = x + 4 + 7 * static_cast<double>(number.size());
    }
  }
  return s;
}

// The i-th curve, and its line of the legend.
std::string curve(const Curve& c, size_t i, const Axes& axes, bool dots) {
  const std::string colour = curve_colour(i);
  const size_t stride = std::max<size_t>(1, c.points.size() / kMaxPoints);
  const char* const dashes = i / kColours % 2 == 0 ? "" : " stroke-dasharray=\"5 3\"";  // the colours begin anew
  std::string s = "<polyline fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"1.5\"" + dashes + " points=\"";
  for (size_t k = 0; k < c.points.size(); k += stride)
    s += tag("%.1f,%.1f ", axes.x_of(c.points[k].first), axes.y_of(c.points[k].second), 0, 0);
  s += "\"/>";
  if (dots)
    for (const auto& [x, y] : c.points)
      s += tag("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"", axes.x_of(x), axes.y_of(y), 0, 0) + colour + "\"/>";
  const double y = kTop + 8 + 15 * static_cast<double>(i);
  s += tag("<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"", kWidth - axes.right + 10, y - 9, 0, 0) +
       colour + "\"/>";
  return s + text_at(kWidth - axes.right + 25, y, "start", c.name);
}

}  // namespace

std::string line_chart(const Chart& given) {
  const Chart chart = in_fitting_units(given);
  const Axes axes(chart);
  if (axes.empty()) return "";
  const std::vector<Mark> marks = marks_between(chart, axes.x0, axes.x1);
  const bool numbered = marks.size() > kMarkTexts;
  const size_t lines = numbered ? (std::min(marks.size(), kMaxLegend) + kLegendColumns - 1) / kLegendColumns : 0;
  const double height = kHeight + kLegendLine * static_cast<double>(lines) + (numbered ? 8 : 0);
  std::string s =
      tag("<svg viewBox=\"0 0 %.0f %.0f\" xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\">", kWidth, height, 0, 0);
  s += kChartStyle + text_at(kLeft, 16, "start", chart.title) + grid(axes) + x_ticks(chart, axes);
  s += text_at((kLeft + kWidth - axes.right) / 2, kHeight - 6, "middle", chart.x_label);
  s += text_at(4, 28, "start", chart.y_label);
  s += mark_lines(marks, axes, numbered);
  if (numbered) s += mark_legend(marks, kHeight);
  for (size_t i = 0; i < chart.curves.size(); ++i) s += curve(chart.curves[i], i, axes, chart.dots);
  return s + "</svg>\n";
}

std::string bar_chart(const BarChart& chart) {
  constexpr size_t kMaxBars = 60;
  constexpr double kLine = 18, kLabels = 260, kValues = 80;
  double max = 0;
  for (const auto& [label, value] : chart.bars) max = std::max(max, value);
  const size_t shown = std::min(chart.bars.size(), kMaxBars);
  if (shown == 0 || max <= 0) return "";
  const bool more = shown < chart.bars.size();
  const double height = kTop + kLine * static_cast<double>(shown + more) + 8;
  std::string s =
      tag("<svg viewBox=\"0 0 %.0f %.0f\" xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\">", kWidth, height, 0, 0);
  s += kChartStyle + text_at(4, 16, "start", chart.title);
  for (size_t i = 0; i < shown; ++i) {
    const auto& [label, value] = chart.bars[i];
    const double y = kTop + kLine * static_cast<double>(i), width = value / max * (kWidth - kLabels - kValues);
    s += text_at(kLabels - 8, y + 12, "end", label);
    s += tag("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"", kLabels, y + 2, width, kLine - 5) +
         curve_colour(0) + "\"/>";
    s += text_at(kLabels + width + 6, y + 12, "start", format_number(value));
  }
  if (more)
    s += text_at(kLabels - 8, height - 12, "end", "and " + std::to_string(chart.bars.size() - shown) + " more points");
  return s + "</svg>\n";
}

std::string heat_map(const HeatMap& map) {
  if (map.columns.empty() || map.rows.empty()) return "";
  const double row_height = std::clamp(400.0 / static_cast<double>(map.rows.size()), 2.0, 16.0);
  const double height = kTop + kBottom + row_height * static_cast<double>(map.rows.size());
  const size_t stride = std::max<size_t>(1, map.columns.size() / 400);
  const double shown = std::ceil(static_cast<double>(map.columns.size()) / static_cast<double>(stride));
  const double cell = (kWidth - kLeft - 90 - 20) / shown;
  std::string s =
      tag("<svg viewBox=\"0 0 %.0f %.0f\" xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\">", kWidth, height, 0, 0);
  s += kChartStyle + text_at(kLeft, 16, "start", map.title);
  s += tag("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#edf2f7\"/>", kLeft + 90, kTop,
           kWidth - kLeft - 110, row_height * static_cast<double>(map.rows.size()));
  for (size_t r = 0; r < map.rows.size(); ++r) {
    if (row_height >= 8)
      s += text_at(kLeft + 84, kTop + row_height * (static_cast<double>(r) + 0.8), "end", map.rows[r]);
    double x = kLeft + 90;
    for (size_t c = 0; c < map.columns.size(); c += stride, x += cell) {
      float v = -1;  // the worst of the values of one cell
      for (size_t k = c; k < std::min(c + stride, map.columns.size()); ++k) v = std::max(v, map.columns[k][r]);
      if (v <= 0) continue;
      char out[160];
      std::snprintf(
          out, sizeof(out),
          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"#D55E00\" fill-opacity=\"%.2f\"/>", x,
          kTop + row_height * static_cast<double>(r), cell + 0.3, row_height, 0.25 + 0.75 * static_cast<double>(v));
      s += out;
    }
  }
  std::string label = map.x_label;
  const double factor = fit_unit(map.x_to, &label);
  s += text_at(kLeft + 90, height - 20, "start", format_number(map.x_from * factor));
  s += text_at(kWidth - 20, height - 20, "end", format_number(map.x_to * factor));
  s += text_at(kWidth / 2, height - 6, "middle", label);
  return s + "</svg>\n";
}

}  // namespace mrc::sim
