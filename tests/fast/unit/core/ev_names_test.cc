// Names of EVs: labels where there are any, else whole values. [MRC-EVS-9] [MRC-CHOICE-Q2]
#include "core/ev_names.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

using Indices = std::vector<EvIndex>;

Indices indices_of(const EvNames& names, uint32_t value) {
  const auto found = names.indices_of(value);
  return {found.begin(), found.end()};
}

TEST(EvNames, without_labels_the_value_is_the_name) {
  const EvNames names({{50002, 0_plane}, {50001, 1_plane}, {50000, 0_plane}});
  EXPECT_EQ(names.find(50001), 1_ev);
  EXPECT_EQ(names.find(50003), std::nullopt);
  EXPECT_EQ(indices_of(names, 50000), Indices{2_ev});
  EXPECT_EQ(indices_of(names, 49999), Indices{});
  EXPECT_EQ(indices_of(names, 50003), Indices{});
}

TEST(EvNames, a_label_is_the_name_whatever_the_port) {
  const EvNames names({{2u << 16 | 40001, 0_plane}, {1u << 16 | 40002, 1_plane}, {2u << 16 | 40003, 1_plane}});
  EXPECT_EQ(indices_of(names, 2u << 16 | 9), (Indices{0_ev, 2_ev}));
  EXPECT_EQ(indices_of(names, 1u << 16), Indices{1_ev});
  EXPECT_EQ(names.find(2u << 16 | 40003), 2_ev);
  EXPECT_EQ(names.find(2u << 16 | 40002), std::nullopt);
}

TEST(EvNames, of_no_evs) {
  const EvNames names({});
  EXPECT_EQ(names.find(0), std::nullopt);
  EXPECT_EQ(indices_of(names, 1), Indices{});
}

}  // namespace
}  // namespace mrc::core
