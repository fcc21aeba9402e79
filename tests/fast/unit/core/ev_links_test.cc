// Links by the T1s that EVs name. [MRC-EVS-13]
#include "core/ev_links.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc::core {
namespace {

using LinkEvs = std::vector<EvIndex>;

LinkEvs evs_over(const EvLinks& links, LinkIndex link) {
  const auto found = links.evs(link);
  return {found.begin(), found.end()};
}

TEST(EvLinks, of__evs_that_name_no_t1_have_none) {
  const EvLinks links({{50000, 0_plane}, {50001, 1_plane}});
  EXPECT_EQ(links.count(), 0u);
  EXPECT_EQ(links.of(0_ev), std::nullopt);
  EXPECT_EQ(links.of(7_ev), std::nullopt);
  EXPECT_EQ(EvLinks({}).count(), 0u);
}

TEST(EvLinks, of__one_t1_of_one_plane_is_one_link) {
  const EvLinks links({{50000, 0_plane, 2},
                       {50001, 1_plane, 2},
                       {50002, 0_plane, 1},
                       {50003, 1_plane, 1},
                       {50004, 0_plane, 2},
                       {50005, 0_plane}});
  EXPECT_EQ(links.count(), 4u);
  EXPECT_EQ(links.of(0_ev), links.of(4_ev));
  EXPECT_NE(links.of(0_ev), links.of(1_ev));  // another plane
  EXPECT_NE(links.of(0_ev), links.of(2_ev));  // another T1
  EXPECT_EQ(links.of(5_ev), std::nullopt);
  EXPECT_EQ(evs_over(links, *links.of(4_ev)), (LinkEvs{0_ev, 4_ev}));
  EXPECT_EQ(evs_over(links, *links.of(3_ev)), LinkEvs{3_ev});
  for (const EvIndex ev : EvRange(5)) EXPECT_EQ(links.plane(*links.of(ev)), ev.value() % 2 == 0 ? 0_plane : 1_plane);
  EXPECT_EQ(links.count_on(0_plane), 2u);
  EXPECT_EQ(links.count_on(2_plane), 0u);
}

TEST(EvLinks, of__neighbours_lie_on_different_planes) {
  const EvLinks links({{1, 0_plane, 9}, {2, 0_plane, 3}, {3, 1_plane, 3}, {4, 1_plane, 9}});
  for (uint16_t i = 0; i + 1u < links.count(); ++i)
    EXPECT_NE(links.plane(LinkIndex(i)), links.plane(LinkIndex(static_cast<uint16_t>(i + 1)))) << i;
}

}  // namespace
}  // namespace mrc::core
