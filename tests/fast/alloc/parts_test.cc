// Memory that runs out in a part beside the engine changes nothing there: each allocation of a call fails in turn,
// until the call succeeds.
#include <gtest/gtest.h>

#include <array>
#include <new>

#include "ctl/profile_store.h"
#include "datapath/held_queue.h"
#include "harness/counted_new.h"
#include "unit/ctl/profiles.h"

namespace mrc::alloc {
namespace {

// False: memory ran out at its allocation number `failing`.
template <typename Call>
bool works(uint64_t failing, const Call& call) {
  set_failures(1, failing);
  try {
    Armed on;
    call();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

TEST(HeldQueue, counts_no_bytes_of_a_burst_for_which_memory_ran_out) {
  std::array<uint8_t, 100> payload{};
  core::TxBurst burst;
  burst.segments = 1;
  burst.bytes = burst.segment_size = payload.size();
  burst.iov[burst.iov_count++] = {payload.data(), payload.size()};
  datapath::HeldQueue held;
  uint64_t failing = 0;
  while (!works(failing, [&] { (void)held.hold(Instant(), burst, 0); })) {
    EXPECT_EQ(held.next_timeout(), Instant::never());
    held.check();
    ++failing;
  }
  held.check();
  EXPECT_EQ(failing, 2u) << "a copy, and a place in the queue";
}

TEST(EvProfile, keeps_settings_and_entries_when_memory_runs_out) {
  ctl::StoreFixture f;
  ctl::EvCall before = ctl::StoreFixture::explicit_offline(4), after;
  ASSERT_EQ(before.fields({{16, 0, 0, 0, 0xFFFF}}).on(&f.store, 7), 0);
  after.count(8).fields({{8, 0, 0, 0, 0xFF}, {8, 0, 0, 0, 0xFF}, {8, 0, 0, 0, 0xFF}});
  uint64_t failing = 0;
  while (!works(failing, [&] { EXPECT_EQ(after.on(&f.store, 7), 0); })) {
    const ctl::EvProfile& profile = *f.store.ev(7);
    ASSERT_EQ(profile.count(), 4u) << failing;
    ASSERT_EQ(profile.table().size(), 4u) << failing;
    ASSERT_EQ(profile.fields().size(), 1u) << failing;
    ++failing;
  }
  EXPECT_GT(failing, 2u);
  EXPECT_EQ(f.store.ev(7)->table().size(), 8u);
  EXPECT_EQ(f.store.ev(7)->fields().size(), 3u);
}

}  // namespace
}  // namespace mrc::alloc
