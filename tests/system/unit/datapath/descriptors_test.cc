// Descriptors and the guards of source ports under the limits of descriptors that processes have [MRC-SEC-12].
#include "datapath/udp/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>

#include "datapath/udp/socket.h"
#include "in_child.h"
#include "udp_fixture.h"

namespace mrc::datapath {
namespace {

constexpr rlim_t kEvs = 272;  // ev_count 256 and 16 backups
constexpr rlim_t kUsual = 1024, kMuch = 4096;

void limit(rlim_t soft, rlim_t hard) {
  const rlimit limits{soft, hard};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limits), 0);
}

rlimit limits() {
  rlimit limits{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limits), 0);
  return limits;
}

// The number that the application's next file would get.
int next_number() {
  return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get();
}

// Runs the test in a process of its own: without a privilege a hard limit is never raised again.
void under_limits(rlim_t soft, rlim_t hard, void (*test)()) {
  if (hard > limits().rlim_max) GTEST_SKIP() << "the hard limit of descriptors is below " << hard;
  harness::in_child([&] {
    limit(soft, hard);
    test();
  });
}

// In a process of another user, each port at addresses with and without a socket of ours. Returns how many were bound.
int bound_by_another_user(const UdpDatapath& dp) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(255);
    int bound = 0;
    for (const core::EvEntry& ev : dp.evs())
      for (const char* other : {"127.0.0.9", "127.0.0.1", "::1", "0.0.0.0", "::"})
        for (const bool reuse : {false, true})
          if (open_udp(kernel_syscalls(),
                       {IpAddress::parse(other).value(), static_cast<uint16_t>(ev.value), "", reuse, reuse}))
            ++bound;
    ::_exit(std::min(bound, 254));
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void expect_no_port_for_another_user() {
  const auto dp = open_or_fail(loopback_config(true, 4, kEvs));
  ASSERT_NE(dp, nullptr);
  EXPECT_EQ(dp->exposure(), "");
  if (::geteuid() == 0) {
    EXPECT_EQ(bound_by_another_user(*dp), 0);
  }
}

void expect_no_port_for_another_user_under(rlim_t soft, rlim_t hard) {
  under_limits(soft, hard, expect_no_port_for_another_user);
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root; the ports are held";
}

TEST(Descriptors, other_users_bind_no_source_port_under_the_usual_limit) {
  expect_no_port_for_another_user_under(kUsual, kMuch);
}

TEST(Descriptors, other_users_bind_no_source_port_where_the_limit_cannot_be_raised) {
  expect_no_port_for_another_user_under(kUsual, kUsual);
}

// A program that uses select() can use all the numbers that it could use before, and gets no others.
TEST(Descriptors, the_limit_is_raised_by_what_the_sockets_take) {
  under_limits(kUsual, kMuch, [] {
    const int before = next_number();
    const auto dp = open_or_fail(loopback_config(true, 4, kEvs));
    EXPECT_EQ(limits().rlim_cur, kUsual + 2 * kEvs);
    EXPECT_LT(next_number(), before + 32);  // sockets to receive from, epoll
    int highest = 0;
    for (int fd; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) highest = fd;
    EXPECT_EQ(errno, EMFILE);
    EXPECT_EQ(static_cast<rlim_t>(highest), kUsual - 1);
  });
}

TEST(Descriptors, the_limit_stays_where_half_of_it_remains) {
  under_limits(kUsual, kMuch, [] {
    const auto dp = open_or_fail(loopback_config(true, 4, 80));
    EXPECT_EQ(limits().rlim_cur, kUsual);
    EXPECT_EQ(dp->exposure(), "");
  });
}

// Each makes room for itself, and knows of those that follow it.
TEST(Descriptors, engines_of_one_device_have_room_together) {
  under_limits(kUsual, kMuch, [] {
    UdpConfig config = loopback_config(true, 4, 80);
    std::vector<std::unique_ptr<UdpDatapath>> engines;
    for (config.engines = 8; config.engines > 0; --config.engines) engines.push_back(open_or_fail(config));
    EXPECT_GT(limits().rlim_cur, kUsual);
    EXPECT_LE(limits().rlim_cur, kUsual + 8 * 2 * 80);
    for (const auto& engine : engines) EXPECT_EQ(engine->exposure(), "");
  });
}

// As far as the hard limit permits: what does not get a number there has one below.
TEST(Descriptors, the_limit_is_raised_to_the_hard_one_at_most) {
  under_limits(kUsual, kUsual + 100, [] {
    const auto dp = open_or_fail(loopback_config(true, 4, kEvs));
    EXPECT_EQ(limits().rlim_cur, kUsual + 100);
    EXPECT_EQ(dp->exposure(), "");
    EXPECT_GT(next_number(), static_cast<int>(2 * kEvs - 100));
  });
}

TEST(Descriptors, ports_that_are_not_held_are_reported) {
  under_limits(2 * kEvs, 2 * kEvs, [] {
    const auto dp = open_or_fail(loopback_config(true, 4, kEvs));
    ASSERT_NE(dp, nullptr);
    const std::string exposure = dp->exposure();
    for (const char* part : {"272 of 272 source ports", "is 544", "ulimit -n 1024", "ev_count"})
      EXPECT_NE(exposure.find(part), std::string::npos) << exposure;
  });
}

TEST(Descriptors, one_moves_where_there_is_a_number) {
  under_limits(kUsual, kMuch, [] {
    Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const int first = fd.get();
    fd = move_descriptor(std::move(fd), 700);
    EXPECT_GE(fd.get(), 700);
    EXPECT_EQ(::fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(next_number(), first);
    const int second = fd.get();
    fd = move_descriptor(std::move(fd), kUsual);  // the limit
    EXPECT_EQ(fd.get(), second);
    EXPECT_FALSE(move_descriptor(Fd(), 700));
  });
}

}  // namespace
}  // namespace mrc::datapath
