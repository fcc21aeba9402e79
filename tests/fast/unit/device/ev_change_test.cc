// From the failure of a path to the observer of the device: what an EV profile with an event mask lets a controller
// see. [MRC-EVT-2] [MRC-PROF-7]
#include <algorithm>
#include <cstring>
#include <vector>

#include "device/profiles.h"
#include "virtual_devices.h"

namespace mrc::device {
namespace {

struct Listener final : DeviceObserver {
  struct Reported {
    ctl::EvChange change;
    uint64_t losses;
  };
  void on_port_event(PlaneId, core::AsyncEvent) override {}
  void on_endpoint_response(uint16_t, PlaneId, Duration) override {}
  void on_ev_change(const ctl::EvChange& change, uint64_t losses) override { reported.push_back({change, losses}); }
  std::vector<Reported> reported;
};

TEST(EvChange, a_dead_path_is_reported_once_with_its_losses) {
  VirtualPair pair(virtual_config(), "ev=2:blackhole");
  Device* const a = pair.a.get();
  Listener listener;
  a->add_observer(&listener);
  mrc_ctl_ev dead;
  {
    std::lock_guard lock(a->mutex());
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
    attr.ev_event_mask = MRC_CTL_EV_ASSUMED_BAD;
    ASSERT_EQ(a->profiles().modify_ev(1, attr,
                                      MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE |
                                          MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK),
              0);
    attr.profile_state = MRC_CTL_PROFILE_ONLINE;
    ASSERT_EQ(a->profiles().modify_ev(1, attr, MRC_CTL_EV_PROFILE_STATE), 0);
    dead = a->profiles().name_of(2_ev);
  }
  {
    End from(a, 1), to(pair.b.get(), 1);
    pair.connect(&from, &to);
    const auto reports_of_it = [&] {
      std::lock_guard lock(a->mutex());
      return std::count_if(listener.reported.begin(), listener.reported.end(), [&](const Listener::Reported& h) {
        return std::memcmp(&h.change.ev, &dead, sizeof dead) == 0;
      });
    };
    int done = 0;
    while (reports_of_it() == 0) {
      to.post_recv();
      from.write_imm(to, 1 << 20);
      for (++done; from.completions < done;) pair.step();
    }
    EXPECT_EQ(reports_of_it(), 1);  // a path that stays dead does not come back
  }
  a->remove_observer(&listener);
  const Listener::Reported& first =
      *std::find_if(listener.reported.begin(), listener.reported.end(),
                    [&](const Listener::Reported& h) { return std::memcmp(&h.change.ev, &dead, sizeof dead) == 0; });
  EXPECT_EQ(first.change.profile_id, 1u);
  EXPECT_EQ(first.change.state, MRC_CTL_EV_ASSUMED_BAD);
  EXPECT_GT(first.losses, 0u);
  std::lock_guard lock(a->mutex());
  EXPECT_EQ(a->profiles().store().ev(1)->table().entries()[2].state, MRC_CTL_EV_ASSUMED_BAD);
}

}  // namespace
}  // namespace mrc::device
