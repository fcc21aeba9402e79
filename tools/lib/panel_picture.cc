#include "panel_picture.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "xml_text.h"

namespace mrc::tools {

namespace {

constexpr const char* kColours[] = {"#4878a8", "#e08a3c", "#5a9e5a", "#b05a9e",
                                    "#8a7a50", "#50a0a0", "#c05050", "#707070"};
constexpr const char* kGrid = "#ddd";
constexpr const char* kShade = "#f6dcdc";
constexpr double kLegendLine = 14, kLegendBox = 10;

// An attribute that is a length.
std::string length(const char* name, double value) {
  char text[48];
  std::snprintf(text, sizeof text, " %s=\"%.1f\"", name, value);
  return text;
}

std::string rectangle(double x, double y, double width, double height, const char* colour) {
  return "<rect" + length("x", x) + length("y", y) + length("width", width) + length("height", height) + " fill=\"" +
         colour + "\"/>\n";
}

}  // namespace

const char* series_colour(size_t i) {
  return kColours[i % std::size(kColours)];
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

PanelPicture::PanelPicture(const Layout& layout, double from, double to)
    : layout_(layout), from_(from), span_(to > from ? to - from : 1) {}

double PanelPicture::x(double time) const {
  return layout_.left + (layout_.width - layout_.left - layout_.right) * (time - from_) / span_;
}

void PanelPicture::title(const std::string& words) {
  text(layout_.left, 20, words, " font-size=\"15\" font-weight=\"bold\"");
}

void PanelPicture::shade(double from, double to) {
  shaded_.emplace_back(from, std::min(to, from_ + span_));
}

void PanelPicture::panel(double top, double height, const std::string& title, double max) {
  top_ = top;
  height_ = height;
  max_ = max <= 0 ? 1 : max;
  for (const auto& [from, to] : shaded_) body_ += rectangle(x(from), top, x(to) - x(from), height, kShade);
  for (const double value : {0.0, max_ / 2, max_}) {
    line(layout_.left, y(value), layout_.width - layout_.right, y(value), kGrid, 1);
    text(layout_.left - 6, y(value) + 4, short_number(value), " text-anchor=\"end\"");
  }
  text(layout_.left, top - 6, title, " font-weight=\"bold\"");
}

void PanelPicture::text(double x, double y, const std::string& words, const char* attributes) {
  body_ += "<text" + length("x", x) + length("y", y) + attributes + ">" + support::escape_xml(words) + "</text>\n";
}

void PanelPicture::line(double x1, double y1, double x2, double y2, const char* colour, double width) {
  body_ += "<line" + length("x1", x1) + length("x2", x2) + length("y1", y1) + length("y2", y2) + " stroke=\"" + colour +
           "\"" + length("stroke-width", width) + "/>\n";
}

void PanelPicture::bar(double x, double width, double low, double high, const char* colour) {
  body_ += rectangle(x, y(high), width, y(low) - y(high), colour);
}

void PanelPicture::add_points(const Points& points) {
  for (const auto& [x, y] : points) {
    char text[48];
    std::snprintf(text, sizeof text, "%.1f,%.1f ", x, y);
    body_ += text;
  }
}

void PanelPicture::polyline(const Points& points, const char* colour, double width) {
  body_ +=
      std::string("<polyline fill=\"none\" stroke=\"") + colour + "\"" + length("stroke-width", width) + " points=\"";
  add_points(points);
  body_ += "\"/>\n";
}

void PanelPicture::polygon(const Points& points, const char* colour) {
  body_ += std::string("<polygon fill=\"") + colour + "\" points=\"";
  add_points(points);
  body_ += "\"/>\n";
}

void PanelPicture::legend(size_t row, const std::string& name, const char* colour) {
  const double at = top_ + kLegendLine * static_cast<double>(row), left = layout_.width - layout_.right + 12;
  body_ += rectangle(left, at, kLegendBox, kLegendBox, colour);
  text(left + kLegendBox + 5, at + 9, name);
}

void PanelPicture::tick(double time, double y, const std::string& label) {
  text(x(time), y, label, " text-anchor=\"middle\"");
}

void PanelPicture::axis_name(double y, const std::string& name) {
  text((layout_.left + layout_.width - layout_.right) / 2, y, name, " text-anchor=\"middle\"");
}

std::string PanelPicture::svg() const {
  char head[256];
  std::snprintf(head, sizeof head,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
                "font-family=\"sans-serif\" font-size=\"11\">\n",
                layout_.width, layout_.height, layout_.width, layout_.height);
  return head + rectangle(0, 0, layout_.width, layout_.height, "#fff") + body_ + "</svg>\n";
}

}  // namespace mrc::tools
