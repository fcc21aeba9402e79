// CQs for EV events: order, merging, what callers of either version get, and events of their channel. [MRC-EVT-1..3]
#include "api/ev_events.h"

#include <cerrno>
#include <vector>

#include "api/context.h"
#include "api/cq.h"
#include "harness/api_pair.h"

namespace mrc::api {
namespace {

ctl::EvChange change(uint64_t profile, uint8_t value, mrc_ctl_ev_state state) {
  ctl::EvChange c{profile, {}, state};
  c.ev.val[0] = value;
  c.ev.port = 1;
  return c;
}

// The struct of a caller of controller API 1.0.0.
struct OldEvent {
  uint64_t profile_id;
  mrc_ctl_ev ev;
  uint32_t drop_count;
};
static_assert(sizeof(OldEvent) == 48 && sizeof(mrc_ctl_ev_event) == 56);

class EvEventsTest : public ApiTest {
 protected:
  // As the device does it.
  void raise(uint64_t profile, uint8_t value, mrc_ctl_ev_state state, uint64_t losses) {
    context->soft().on_ev_change(change(profile, value, state), losses);
  }
};

TEST_F(EvEventsTest, oldest_first_one_per_ev_with_its_latest_state) {
  mrc_cq* cq = mrc_ctl_create_ev_event_cq(context, 1, this, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  mrc_ctl_ev_event events[4];
  EXPECT_EQ(mrc_ctl_poll_ev_event(cq, 4, events), 0);
  raise(1, 10, MRC_CTL_EV_ASSUMED_BAD, 2);
  raise(1, 11, MRC_CTL_EV_ASSUMED_BAD, 0);
  raise(2, 10, MRC_CTL_EV_ASSUMED_BAD, 1);
  raise(1, 10, MRC_CTL_EV_GOOD, 0);
  ASSERT_EQ(mrc_ctl_poll_ev_event(cq, 2, events), 2);
  EXPECT_EQ(events[0].profile_id, 1u);
  EXPECT_EQ(events[0].ev.val[0], 10);
  EXPECT_EQ(events[0].ev.port, 1);
  EXPECT_EQ(events[0].state, MRC_CTL_EV_GOOD);
  EXPECT_EQ(events[0].drop_count, 1u);  // not exact: some or none [MRC-EVT-2]
  EXPECT_EQ(events[1].ev.val[0], 11);
  EXPECT_EQ(events[1].drop_count, 0u);
  ASSERT_EQ(mrc_ctl_poll_ev_event(cq, 4, events), 1);
  EXPECT_EQ(events[0].profile_id, 2u);
  raise(1, 10, MRC_CTL_EV_ASSUMED_BAD, 0);  // taken, so this is a new one
  ASSERT_EQ(mrc_ctl_poll_ev_event(cq, 4, events), 1);
  EXPECT_EQ(events[0].drop_count, 0u);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
}

TEST_F(EvEventsTest, never_overruns) {
  mrc_cq* cq = mrc_ctl_create_ev_event_cq(context, 1, nullptr, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  for (int i = 0; i < 1000; ++i) raise(static_cast<uint64_t>(i), 1, MRC_CTL_EV_GOOD, 0);
  std::vector<mrc_ctl_ev_event> events(2000);
  EXPECT_EQ(mrc_ctl_poll_ev_event(cq, 2000, events.data()), 1000);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
  raise(1, 1, MRC_CTL_EV_GOOD, 0);  // no CQ is subscribed
}

// spec/clients.md rules 6 and 19, [API-CTL-3] [API-VER-3]
TEST_F(EvEventsTest, layout_follows_the_contexts_version) {
  const struct {
    uint32_t given, kept;
  } versions[] = {{0x01000000u, 0x01000000u},
                  {0x01000001u, 0x01000001u},
                  {0, 0x01000001u},
                  {0x00000001u, 0x01000001u},  // the protocol's
                  {0x00FFFFFFu, 0x01000001u},
                  {MRC_API_VER_LATEST, 0x01000001u},
                  {MRC_API_CURRENT_VERSION + 1, MRC_API_CURRENT_VERSION},
                  {0x7F000000u, MRC_API_CURRENT_VERSION}};
  for (const auto& v : versions) {
    mrc_context_attr attr{v.given, 0};
    mrc_context* made = mrc_create_context(verbs, &attr);
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(made->api_version(), v.kept);
    mrc_cq* cq = mrc_ctl_create_ev_event_cq(made, 1, nullptr, nullptr, 0);
    ASSERT_NE(cq, nullptr);
    raise(5, 1, MRC_CTL_EV_GOOD, 0);
    raise(6, 2, MRC_CTL_EV_GOOD, 1);
    const bool old = v.kept == 0x01000000u;
    const size_t used = 2 * (old ? sizeof(OldEvent) : sizeof(mrc_ctl_ev_event));
    alignas(8) uint8_t bytes[4 * sizeof(mrc_ctl_ev_event)];
    std::memset(bytes, 0xA5, sizeof bytes);
    ASSERT_EQ(mrc_ctl_poll_ev_event(cq, 2, reinterpret_cast<mrc_ctl_ev_event*>(bytes)), 2);
    for (size_t i = used; i < sizeof bytes; ++i) ASSERT_EQ(bytes[i], 0xA5) << i;
    OldEvent second;
    std::memcpy(&second, bytes + used / 2, sizeof second);
    EXPECT_EQ(second.profile_id, 6u);
    EXPECT_EQ(second.ev.val[0], 2);
    EXPECT_EQ(second.drop_count, 1u);
    EXPECT_EQ(mrc_destroy_cq(cq), 0);
    EXPECT_EQ(mrc_destroy_context(made), 0);
  }
}

TEST_F(EvEventsTest, an_event_wakes_the_channel_once_for_all_changes) {
  mrc_comp_channel* channel = nullptr;
  ASSERT_EQ(mrc_create_comp_channel(context, &channel), 0);
  mrc_cq* cq = mrc_ctl_create_ev_event_cq(context, 16, this, channel, 0);
  ASSERT_NE(cq, nullptr);
  raise(1, 1, MRC_CTL_EV_GOOD, 0);  // not armed yet: no event
  ASSERT_EQ(mrc_req_notify_cq(cq, 0), 0);
  raise(1, 2, MRC_CTL_EV_GOOD, 0);
  raise(1, 3, MRC_CTL_EV_GOOD, 0);  // one event for both
  mrc_cq* woken = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(mrc_get_cq_event(channel, &woken, &cq_context), 0);
  EXPECT_EQ(woken, cq);
  EXPECT_EQ(cq_context, this);
  mrc_ack_cq_events(cq, 1);
  mrc_ctl_ev_event events[4];
  EXPECT_EQ(mrc_ctl_poll_ev_event(cq, 4, events), 3);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
  EXPECT_EQ(mrc_destroy_comp_channel(channel), 0);
}

// [MRC-EVT-1]
TEST_F(EvEventsTest, is_for_ev_events_alone) {
  mrc_cq* events = mrc_ctl_create_ev_event_cq(context, 16, nullptr, nullptr, 0);
  mrc_cq* plain = mrc_create_cq(context, 16, nullptr, nullptr, 0);
  ASSERT_NE(events, nullptr);
  ASSERT_NE(plain, nullptr);
  ibv_wc wc;
  EXPECT_EQ(mrc_poll_cq(events, 1, &wc), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(mrc_soft_resize_cq(events, 32), EINVAL);
  mrc_ctl_ev_event event;
  EXPECT_EQ(mrc_ctl_poll_ev_event(plain, 1, &event), -EINVAL);
  EXPECT_EQ(mrc_ctl_poll_ev_event(nullptr, 1, &event), -EINVAL);
  EXPECT_EQ(mrc_ctl_poll_ev_event(events, 1, nullptr), -EINVAL);
  EXPECT_EQ(mrc_ctl_poll_ev_event(events, -1, &event), -EINVAL);
  EXPECT_EQ(mrc_ctl_poll_ev_event(events, 0, nullptr), 0);
  mrc_qp_init_attr init{};
  init.send_cq = events;
  init.recv_cq = plain;
  init.pd = pd;
  EXPECT_EQ(mrc_create_qp(context, &init), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(mrc_ctl_create_ev_event_cq(context, 0, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(mrc_ctl_create_ev_event_cq(nullptr, 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(mrc_destroy_cq(events), 0);
  EXPECT_EQ(mrc_destroy_cq(plain), 0);
}

}  // namespace
}  // namespace mrc::api
