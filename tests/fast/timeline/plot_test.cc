#include "plot.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mrc::timeline {
namespace {

// Intervals of 0.1 s, each of one plane at `gbps`.
std::vector<Row> rows_of(const std::vector<double>& gbps) {
  std::vector<Row> rows;
  for (size_t i = 0; i < gbps.size(); ++i) {
    Row row;
    row.t = 0.1 * static_cast<double>(i + 1);
    row.gbps = gbps[i];
    row.plane_gbps = {gbps[i]};
    rows.push_back(row);
  }
  return rows;
}

bool has(const std::string& svg, const std::string& text) {
  return svg.find(text) != std::string::npos;
}

TEST(Retransmits, of_the_interval_of_the_fault_are_not_among_those_before) {
  std::vector<Row> rows = rows_of({1, 1, 1, 1});
  rows[0].retransmits = 2;
  rows[1].retransmits = 15;
  const std::string within = draw("t", rows, {Mark{0.19, 0.3, "dead"}});
  EXPECT_TRUE(has(within, "17 in all, 2 before the interval of the first fault")) << within;
  const std::string behind = draw("t", rows, {Mark{0.21, 0.3, "dead"}});
  EXPECT_TRUE(has(behind, "17 in all, 17 before the interval of the first fault")) << behind;
}

TEST(Retransmits, without_a_fault_are_counted_once) {
  std::vector<Row> rows = rows_of({1, 1});
  rows[1].retransmits = 3;
  EXPECT_TRUE(has(draw("t", rows, {}), "packets sent again, per interval: 3 in all</text>"));
}

// The numbers of the axis are 0, the half and the end.
TEST(ThroughputAxis, ends_at_what_49_of_50_intervals_reach) {
  std::vector<double> gbps(50, 1.9);
  gbps[7] = 22;
  const std::string one = draw("t", rows_of(gbps), {});
  EXPECT_TRUE(has(one, "y=\"48.0\" text-anchor=\"end\">2</text>") && !has(one, ">50</text>")) << one;
  EXPECT_TRUE(has(one, "intervals beyond the axis, cut: 1</text>")) << one;
  gbps[8] = 22;
  const std::string two = draw("t", rows_of(gbps), {});
  EXPECT_TRUE(has(two, ">50</text>") && !has(two, "cut:")) << two;
}

TEST(ThroughputAxis, of_few_intervals_includes_all) {
  std::vector<double> gbps(49, 1.9);
  gbps[7] = 22;
  const std::string svg = draw("t", rows_of(gbps), {});
  EXPECT_TRUE(has(svg, ">50</text>") && !has(svg, "cut:")) << svg;
}

// The top of the panel is at 44 pixels; nothing is drawn above it.
TEST(ThroughputAxis, cuts_areas_and_line_at_its_end) {
  std::vector<double> gbps(50, 1.0);
  gbps[7] = 2;
  const std::string svg = draw("t", rows_of(gbps), {});
  EXPECT_TRUE(has(svg, ",44.0 ")) << svg;
  EXPECT_FALSE(has(svg, ",-")) << svg;
}

}  // namespace
}  // namespace mrc::timeline
