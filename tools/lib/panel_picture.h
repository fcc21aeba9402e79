// A self-contained SVG picture: panels one below the other over a common time axis. mrclog and mrc-timeline draw with
// it. Coordinates are pixels unless a parameter says otherwise.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mrc::tools {

// Distinguishable colours for series, by number; they repeat after the last.
const char* series_colour(size_t i);

class PanelPicture {
 public:
  using Points = std::vector<std::pair<double, double>>;
  struct Layout {
    double width = 0, height = 0;
    double left = 0, right = 0;  // margins of the panels: values on the left, the legend on the right
  };

  // The time axis runs from `from` to `to`, in the caller's unit.
  PanelPicture(const Layout& layout, double from, double to);

  void title(const std::string& text);
  // A stretch of time that is shaded in the panels begun after it.
  void shade(double from, double to);
  // Begins a panel whose values run from 0 to `max`; everything below draws into the panel begun last.
  void panel(double top, double height, const std::string& title, double max);

  double x(double time) const;
  double y(double value) const { return top_ + height_ * (1 - value / max_); }

  void text(double x, double y, const std::string& text, const char* attributes = "");
  void line(double x1, double y1, double x2, double y2, const char* colour, double width);
  void bar(double x, double width, double low, double high, const char* colour);  // from value `low` to `high`
  void polyline(const Points& points, const char* colour, double width);
  void polygon(const Points& points, const char* colour);
  void legend(size_t row, const std::string& name, const char* colour);
  // A label below the panels, and the name of the axis under it.
  void tick(double time, double y, const std::string& label);
  void axis_name(double y, const std::string& name);

  std::string svg() const;

 private:
  void add_points(const Points& points);

  const Layout layout_;
  const double from_, span_;
  std::vector<std::pair<double, double>> shaded_;
  double top_ = 0, height_ = 1, max_ = 1;
  std::string body_;
};

// "%.4g"
std::string short_number(double value);

}  // namespace mrc::tools
