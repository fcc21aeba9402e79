// Small charts as inline SVG text: everything a report needs without a network or a script.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mrc::sim {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Chart {
  std::string title;
  std::string x_label, y_label;  // those that end with a unit, such as "time, us", get the unit that fits the values
  std::vector<Curve> curves;
  // Vertical lines, such as faults: with their text where they are few, else with a number and a legend below.
  std::vector<std::pair<double, std::string>> marks;
  bool log_x = false;
  bool dots = false;  // draw the points as well
};
std::string line_chart(const Chart& chart);

struct BarChart {
  std::string title;
  std::vector<std::pair<std::string, double>> bars;  // from the top
};
std::string bar_chart(const BarChart& chart);

struct HeatMap {
  std::string title, x_label;
  std::vector<std::string> rows;
  std::vector<std::vector<float>> columns;  // [x][row]; 0..1, negative: blank
  double x_from = 0, x_to = 1;
};
std::string heat_map(const HeatMap& map);

std::string format_number(double v);
const char* curve_colour(size_t i);

}  // namespace mrc::sim
