// Events of MRC as verbs has them, with functions of the test in place of MRC's.
#include "objects/soft_device.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <deque>

namespace mrc::shim {
namespace {

class SoftDeviceTest : public ::testing::Test {
 protected:
  SoftDeviceTest() {
    events.clear();
    up[0] = up[1] = true;
    acknowledged = 0;
    api.mrc_soft_close_device = [](ibv_context*) { return 0; };
    api.mrc_soft_query_port = [](ibv_context*, uint8_t port, ibv_port_attr* attr) {
      if (port > 2) return EINVAL;
      attr->state = up[port - 1] ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
      return 0;
    };
    api.mrc_get_async_event = [](mrc_context*, mrc_async_event* event) {
      if (events.empty()) return EAGAIN;
      event->event_type = events.front();
      events.pop_front();
      return 0;
    };
    api.mrc_get_qpn = [](mrc_qp*, uint32_t* qpn) {
      *qpn = 0x77 + acknowledged;  // the queue pair may be gone once the event is acknowledged
      return 0;
    };
    api.mrc_ack_async_event = [](mrc_async_event*) { ++acknowledged; };
  }

  Provider api;
  static inline std::deque<ibv_event_type> events;
  static inline bool up[2];
  static inline uint32_t acknowledged;
};

// [VRB-DEV-1]
TEST_F(SoftDeviceTest, the_port_is_down_when_no_plane_is_left) {
  SoftDevice device(api, nullptr);
  EXPECT_FALSE(device.port_change());
  up[0] = false;
  EXPECT_TRUE(device.port_active());
  EXPECT_FALSE(device.port_change());
  up[1] = false;
  EXPECT_EQ(device.port_change(), std::optional(false));
  EXPECT_FALSE(device.port_change());
  up[0] = true;
  EXPECT_EQ(device.port_change(), std::optional(true));
}

TEST_F(SoftDeviceTest, an_event_of_a_queue_pair_has_its_number) {
  SoftDevice device(api, nullptr);
  events = {IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_PORT_ERR};
  const auto first = device.take_event();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(first->qpn, std::optional<uint32_t>(0x77));
  const auto second = device.take_event();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->type, IBV_EVENT_PORT_ERR);
  EXPECT_FALSE(second->qpn);
  EXPECT_EQ(acknowledged, 2u);
  EXPECT_FALSE(device.take_event());
}

}  // namespace
}  // namespace mrc::shim
