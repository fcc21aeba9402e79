// The helper thread serves, sleeps and stops. When it parks: tests/fast/unit/device/helper_test.cc.
#include "device/helper.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "device/clock.h"

namespace mrc::device {
namespace {

constexpr HelperTiming kTiming{Duration::microseconds(100), Duration::microseconds(500), Duration::microseconds(0)};

struct Work final : HelperWork {
  int serve() override {
    if (locked.load()) {
      const int n = refusals.load();
      if (n < 4) refused_at[n] = clock_now();
      refusals = n + 1;
      return kBusy;
    }
    uint64_t count = 0;
    const ssize_t n = ::read(fd, &count, sizeof count);
    if (n > 0) served += static_cast<int>(count);
    return n > 0 || always_busy.load() ? 1 : 0;
  }
  void going_to_sleep() override {
    helper->set_wake(clock_now(), Instant::never());
    ++sleeps;
  }
  void woke_up() override {}
  void serve_requests() override {
    uint64_t count = 0;
    if (::read(requests, &count, sizeof count) > 0) ++answers;
  }
  void links_changed() override {
    uint64_t count = 0;
    if (::read(links, &count, sizeof count) > 0) ++link_changes;
  }
  int fd = -1;
  int requests = -1;
  int links = -1;
  std::atomic<bool> always_busy{false};
  std::atomic<bool> locked{false};
  std::atomic<int> refusals{0};
  Instant refused_at[4];
  std::atomic<int> answers{0};
  std::atomic<int> link_changes{0};
  Helper* helper = nullptr;
  std::atomic<int> served{0};
  std::atomic<int> sleeps{0};
};

struct HelperTest : ::testing::Test {
  void SetUp() override {
    work.fd = ::eventfd(0, EFD_NONBLOCK);
    work.helper = &helper;
  }
  void TearDown() override {
    helper.stop();
    ::close(work.fd);
  }
  void signal() {
    const uint64_t one = 1;
    ASSERT_EQ(::write(work.fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  Work work;
  Helper helper;
};

TEST_F(HelperTest, serves_arrivals_while_the_application_does_not_poll) {
  ASSERT_TRUE(helper.start(&work, kTiming, {work.fd}));
  for (int i = 1; i <= 3; ++i) {
    while (work.sleeps.load() < i) {
    }
    signal();
    while (work.served.load() < i) {
    }
  }
}

TEST_F(HelperTest, takes_over_after_the_application_stops_polling) {
  helper.note_poll(clock_now());
  ASSERT_TRUE(helper.start(&work, kTiming, {work.fd}));
  signal();
  while (work.served.load() == 0) {
  }
}

// One call of the application may move so much that it lasts longer than `idle`: no reason to look more often.
TEST_F(HelperTest, parks_longer_while_the_application_holds_the_lock) {
  const HelperTiming timing{Duration::nanoseconds(1), Duration::milliseconds(2), Duration()};
  work.locked = true;
  ASSERT_TRUE(helper.start(&work, timing, {work.fd}));
  while (work.refusals.load() < 4) {
  }
  EXPECT_GE(work.refused_at[1] - work.refused_at[0], timing.park);
  EXPECT_GE(work.refused_at[2] - work.refused_at[1], timing.park * 2);
  EXPECT_GE(work.refused_at[3] - work.refused_at[2], timing.park * 4);
  signal();
  work.locked = false;  // taken over at the next look
  while (work.served.load() == 0) {
  }
}

// How often the helper of this process has gone to sleep.
int sleeps_of_helper() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    if (name != "mrc-helper") continue;
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;)
      if (int count; word == "voluntary_ctxt_switches:" && status >> count) return count;
  }
  return -1;
}

// Without the pushes it wakes twice in each of these seconds. A busy machine may delay some polls for too long.
TEST_F(HelperTest, sleeps_on_while_the_application_polls) {
  const HelperTiming timing{Duration::seconds(3600), Duration::milliseconds(100), Duration()};
  const auto poll_for = [this](Duration time) {
    const Instant start = clock_now();
    for (Instant now = start; now - start < time; now = clock_now()) helper.note_poll(now);
  };
  helper.note_poll(clock_now());
  ASSERT_TRUE(helper.start(&work, timing, {work.fd}));
  bool slept_on = false;
  for (int i = 0; i < 20 && !slept_on; ++i) {
    const int before = sleeps_of_helper();
    poll_for(Duration::seconds(1));
    slept_on = before > 0 && sleeps_of_helper() == before;
  }
  EXPECT_TRUE(slept_on);
}

TEST_F(HelperTest, leaves_a_polling_application_alone_until_a_cq_is_armed) {
  const HelperTiming for_ever{Duration::seconds(3600), Duration::seconds(3600), Duration()};
  helper.note_poll(clock_now());
  ASSERT_TRUE(helper.start(&work, for_ever, {work.fd}));
  signal();
  ::usleep(20000);  // gives a wrong helper its chance; a right one does nothing however long this takes
  EXPECT_EQ(work.served.load(), 0);
  helper.count_armed(1);
  while (work.served.load() == 0) {
  }
  helper.count_armed(-1);
}

// Nothing is served by the helper while a stand-in sleeps, who is told of the work, and of its own descriptors.
TEST_F(HelperTest, a_stand_in_sleeps_on_the_same_descriptors) {
  const HelperTiming for_ever{Duration::seconds(3600), Duration::seconds(3600), Duration()};
  helper.note_poll(clock_now());
  ASSERT_TRUE(helper.start(&work, for_ever, {work.fd}));
  const int own = ::eventfd(0, EFD_NONBLOCK);
  pollfd fds[2] = {{own, POLLIN, 0}, {-1, POLLIN, 0}};
  constexpr timespec kNoTime{};
  {
    const StandIn stand_in(&helper, 2, 1);
    ASSERT_TRUE(stand_in);
    helper.count_armed(1);
    bool has_work = true;
    EXPECT_EQ(stand_in.wait(fds, 2, &kNoTime, Instant::never(), &has_work), 0);
    EXPECT_FALSE(has_work);
    signal();
    EXPECT_EQ(stand_in.wait(fds, 2, nullptr, Instant::never(), &has_work), 0);
    EXPECT_TRUE(has_work);
    const uint64_t one = 1;
    ASSERT_EQ(::write(own, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    EXPECT_EQ(stand_in.wait(fds, 2, nullptr, Instant::never(), &has_work), 1);
    EXPECT_NE(fds[0].revents & POLLIN, 0);
    ::usleep(20000);  // gives a wrong helper its chance
    EXPECT_EQ(work.served.load(), 0);
  }
  helper.count_armed(-1);
  ::close(own);
}

TEST_F(HelperTest, a_stand_in_is_woken_by_the_timer_of_the_engine) {
  const HelperTiming for_ever{Duration::seconds(3600), Duration::seconds(3600), Duration()};
  helper.note_poll(clock_now());
  ASSERT_TRUE(helper.start(&work, for_ever, {work.fd}));
  const StandIn stand_in(&helper, 2, 0);
  const Instant due = clock_now() + Duration::milliseconds(5);
  helper.set_wake(clock_now(), due);
  helper.set_wake(clock_now(), due + Duration::seconds(3600));  // the earlier time stays
  bool has_work = false;
  EXPECT_EQ(stand_in.wait(nullptr, 0, nullptr, Instant::never(), &has_work), 0);
  EXPECT_TRUE(has_work);
  EXPECT_GE(clock_now(), due);
  const Instant until = clock_now() + Duration::milliseconds(5);
  helper.set_wake(clock_now(), Instant::never());  // what has expired is set anew
  constexpr timespec kNoTime{};
  EXPECT_EQ(stand_in.wait(nullptr, 0, &kNoTime, Instant::never(), &has_work), 0);
  EXPECT_FALSE(has_work);
  EXPECT_EQ(stand_in.wait(nullptr, 0, &kNoTime, until, &has_work), 0);
  EXPECT_FALSE(has_work);
  EXPECT_EQ(stand_in.wait(nullptr, 0, nullptr, until, &has_work), 0);  // without a timer
  EXPECT_TRUE(has_work);
  EXPECT_GE(clock_now(), until);
}

// That the time has come does not depend on what else ends the wait.
TEST_F(HelperTest, a_stand_in_has_work_when_it_is_late) {
  ASSERT_TRUE(helper.start(&work, kTiming, {work.fd}));
  const int own = ::eventfd(1, EFD_NONBLOCK);
  const StandIn stand_in(&helper, 1, 0);
  pollfd fds = {own, POLLIN, 0};
  constexpr timespec kNoTime{};
  for (const bool late : {false, true}) {
    const Instant until = clock_now() + (late ? Duration() : Duration::seconds(3600));
    bool has_work = !late;
    EXPECT_EQ(stand_in.wait(&fds, 1, nullptr, until, &has_work), 1);
    EXPECT_EQ(has_work, late);
    has_work = !late;
    EXPECT_EQ(stand_in.wait(nullptr, 0, &kNoTime, until, &has_work), 0);
    EXPECT_EQ(has_work, late);
  }
  ::close(own);
}

// Another thread polls while the helper parks for the first time, beside a stand-in.
TEST_F(HelperTest, a_poll_beside_a_stand_in_does_not_wake_the_helper_at_once) {
  const HelperTiming timing{Duration::seconds(3600), Duration::seconds(1), Duration()};
  ASSERT_TRUE(helper.start(&work, timing, {work.fd}));
  const StandIn stand_in(&helper, 0, 0);
  signal();  // wakes the helper, if it sleeps already; it parks
  ::usleep(20000);
  const int before = sleeps_of_helper();
  for (int i = 0; i < 100; ++i) {
    helper.note_poll(clock_now());
    ::usleep(100);
  }
  EXPECT_LT(sleeps_of_helper() - before, 50);
}

TEST_F(HelperTest, no_thread_stands_in_where_there_is_nothing_to_sleep_on) {
  ASSERT_TRUE(helper.start(&work, kTiming, {}));
  EXPECT_FALSE(StandIn(&helper, 1, 0));
}

// Both wait for packets: the one that is served must not leave the other one to the end of a parked sleep.
TEST_F(HelperTest, serves_while_a_second_thread_waits) {
  const HelperTiming for_ever{Duration::seconds(3600), Duration::seconds(3600), Duration()};
  helper.note_poll(clock_now());
  ASSERT_TRUE(helper.start(&work, for_ever, {work.fd}));
  helper.count_armed(1);
  {
    const StandIn first(&helper, 1, 1);
    ASSERT_TRUE(first);
    const StandIn too_many(&helper, StandIn::kMaxFds + 1, 1);
    EXPECT_FALSE(too_many);
    signal();
    while (work.served.load() == 0) {
    }
  }
  const StandIn alone(&helper, StandIn::kMaxFds, 1);
  EXPECT_TRUE(alone);
  helper.count_armed(-1);
}

TEST_F(HelperTest, only_one_thread_stands_in__and_none_while_a_cq_is_armed_for_another) {
  ASSERT_FALSE(StandIn(&helper, 2, 0));  // no helper
  ASSERT_TRUE(helper.start(&work, kTiming, {work.fd}));
  {
    const StandIn first(&helper, 2, 0);
    EXPECT_TRUE(first);
    EXPECT_FALSE(StandIn(&helper, 2, 0));
  }
  helper.count_armed(1);
  EXPECT_TRUE(StandIn(&helper, 2, 1));
  EXPECT_FALSE(StandIn(&helper, 2, 0));
  helper.count_armed(-1);
  EXPECT_TRUE(StandIn(&helper, 2, 0));
}

TEST_F(HelperTest, serves_beside_a_stand_in_when_another_thread_arms_a_cq) {
  const HelperTiming for_ever{Duration::seconds(3600), Duration::seconds(3600), Duration()};
  helper.note_poll(clock_now());
  ASSERT_TRUE(helper.start(&work, for_ever, {work.fd}));
  const StandIn stand_in(&helper, 2, 1);
  ASSERT_TRUE(stand_in);
  helper.count_armed(1);
  std::thread([this] { helper.count_armed(1); }).join();
  signal();
  while (work.served.load() == 0) {
  }
  helper.count_armed(-2);
}

// A CQ is armed all the time, by the thread that stood in and did not come back.
TEST_F(HelperTest, takes_over_from_a_stand_in) {
  ASSERT_TRUE(helper.start(&work, kTiming, {work.fd}));
  for (int i = 1; i <= 20; ++i) {
    {
      const StandIn stand_in(&helper, 2, 1);
      ASSERT_TRUE(stand_in);
      if (i == 1) helper.count_armed(1);
      ::usleep(static_cast<useconds_t>(i * 100));  // the moment is any
    }
    signal();
    while (work.served.load() < i) {
    }
  }
  helper.count_armed(-1);
}

// A request for an application's counters is not delayed until the application stops polling.
TEST_F(HelperTest, answers_while_it_is_parked_and_while_it_serves) {
  const HelperTiming for_ever{Duration::seconds(3600), Duration::seconds(3600), Duration()};
  work.requests = ::eventfd(0, EFD_NONBLOCK);
  const uint64_t one = 1;
  helper.note_poll(clock_now());
  ASSERT_TRUE(helper.start(&work, for_ever, {work.fd}, work.requests));
  for (int i = 1; i <= 2; ++i) {
    ASSERT_EQ(::write(work.requests, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    while (work.answers.load() < i) {
    }
    EXPECT_EQ(work.sleeps.load(), 0);  // parked all the time
  }
  helper.count_armed(1);  // serves from here on
  work.always_busy = true;
  signal();
  while (work.served.load() == 0) {
  }
  ASSERT_EQ(::write(work.requests, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  while (work.answers.load() < 3) {
  }
  work.always_busy = false;
  helper.count_armed(-1);
  helper.stop();
  ::close(work.requests);
}

TEST_F(HelperTest, reads_link_changes_while_it_is_parked) {
  const HelperTiming for_ever{Duration::seconds(3600), Duration::seconds(3600), Duration()};
  work.links = ::eventfd(0, EFD_NONBLOCK);
  helper.note_poll(clock_now());
  ASSERT_TRUE(helper.start(&work, for_ever, {work.fd}, -1, work.links));
  const uint64_t one = 1;
  ASSERT_EQ(::write(work.links, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  while (work.link_changes.load() == 0) {
  }
  EXPECT_EQ(work.sleeps.load(), 0);
  helper.stop();
  ::close(work.links);
}

TEST_F(HelperTest, stop__ends_a_parked_thread) {
  const HelperTiming for_ever{Duration::seconds(3600), Duration::seconds(3600), Duration()};
  helper.note_poll(clock_now());
  ASSERT_TRUE(helper.start(&work, for_ever, {work.fd}));
  helper.stop();
  EXPECT_FALSE(helper.running());
  helper.stop();
}

}  // namespace
}  // namespace mrc::device
