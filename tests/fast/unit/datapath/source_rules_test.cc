// Routing rules by source port: whether a part of the ports has one [MRC-SR-26].
#include "datapath/udp/source_rules.h"

#include <gtest/gtest.h>

namespace mrc::datapath {
namespace {

TEST(SourceRules, each_part_needs_a_rule_for_all_its_ports) {
  const PortRange ports{40000, 40199};
  const PortRange first{40000, 40099}, second{40100, 40199};
  EXPECT_EQ(missing_rule({first, second}, ports, 2), "");
  EXPECT_EQ(missing_rule({{1024, 65535}}, ports, 2), "");
  EXPECT_EQ(
      missing_rule({{1, 2}, second}, ports, 2).rfind("no routing rule applies to UDP source ports 40000-40099, ", 0),
      0u);
  for (const PortRange& part : {PortRange{40101, 40199}, PortRange{40100, 40198}, PortRange{40110, 40120}}) {
    const std::string missing = missing_rule({first, part}, ports, 2);
    EXPECT_NE(missing.find("40100-40199, those of path 2 of 2"), std::string::npos) << part.first << " " << missing;
  }
}

}  // namespace
}  // namespace mrc::datapath
