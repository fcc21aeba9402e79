#include "wire/udp.h"

#include <gtest/gtest.h>

#include "wire/flow.h"

namespace mrc::wire {
namespace {

TEST(Udp, nominal_size_is_udp_length_plus_40) {  // [MRC-UDP-3]
  EXPECT_EQ(nominal_size(0), 48u);
  EXPECT_EQ(nominal_size(4096 + 40), 4096u + 40 + 8 + 40);
}

TEST(Flow, ev_has_the_flow_label_above) {  // [MRC-EV-1]
  Flow f;
  f.src_port = 0x1234;
  f.flow_label = 0xF0007;  // the label's top four bits are no part of the EV
  EXPECT_EQ(ev_of(f), 0x00071234u);
}

TEST(Flow, traffic_class_splits) {
  Flow f;
  f.traffic_class = 46 << 2 | 3;
  EXPECT_EQ(f.dscp(), 46);
  EXPECT_EQ(f.ecn(), Ecn::kCe);
}

}  // namespace
}  // namespace mrc::wire
