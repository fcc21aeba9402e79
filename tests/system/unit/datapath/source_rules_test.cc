// Routing rules by source port of this host [MRC-SR-26]. That those of mrc-fabric are found is shown in
// tests/system/lab/test_spray.py.
#include "datapath/udp/source_rules.h"

#include <gtest/gtest.h>

namespace mrc::datapath {
namespace {

TEST(SourceRules, a_host_without_rules_by_port_has_none) {
  for (const PortRange& rule : source_port_rules()) EXPECT_FALSE(rule.contains(33000) && rule.contains(33199));
}

}  // namespace
}  // namespace mrc::datapath
