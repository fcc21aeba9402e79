// The holder of a port, a name, a file or a lock, as reported by the kernel.
#include "datapath/holder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <optional>

#include "datapath/local/handshake.h"
#include "datapath/udp/socket.h"

namespace mrc::datapath {
namespace {

void expect_this_process(const std::optional<Holder>& holder) {
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->uid, ::geteuid());
  EXPECT_EQ(holder->pid, ::getpid());
  EXPECT_NE(taken_by(holder).find(", taken by user " + std::to_string(::geteuid()) + ", process " +
                                  std::to_string(::getpid()) + " ("),
            std::string::npos)
      << taken_by(holder);
}

// A socket with a port of the kernel's choice.
class Bound {
 public:
  Bound(const char* address, int type) {
    const IpAddress ip = IpAddress::parse(address).value();
    SockAddr at;
    const socklen_t length = to_sockaddr(ip, 0, 0, 0, &at);
    fd_ = Fd(::socket(at.sa.sa_family, type | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd_.get(), &at.sa, length), 0);
    if (type == SOCK_STREAM) {
      EXPECT_EQ(::listen(fd_.get(), 1), 0);
    }
    socklen_t size = sizeof at;
    EXPECT_EQ(::getsockname(fd_.get(), &at.sa, &size), 0);
    from_sockaddr(at, &address_, &port_);
  }
  const IpAddress& address() const { return address_; }
  uint16_t port() const { return port_; }

 private:
  Fd fd_;
  IpAddress address_;
  uint16_t port_ = 0;
};

TEST(Holder, of_a_udp_port) {
  for (const char* address : {"127.0.0.1", "127.9.8.7", "::1", "0.0.0.0", "::"}) {
    const Bound bound(address, SOCK_DGRAM);
    expect_this_process(holder_of_udp_port(bound.address(), bound.port()));
  }
  const Bound any("0.0.0.0", SOCK_DGRAM), one("127.0.0.1", SOCK_DGRAM);
  expect_this_process(holder_of_udp_port(IpAddress::v4(127, 0, 0, 1), any.port()));
  EXPECT_FALSE(holder_of_udp_port(IpAddress::v4(127, 0, 0, 2), one.port()).has_value());  // it has another address
  EXPECT_FALSE(holder_of_tcp_port(one.address(), one.port()).has_value());
  EXPECT_EQ(taken_by(std::nullopt), "");
}

TEST(Holder, of_a_tcp_port_and_of_a_connection) {
  const Bound bound("127.0.0.1", SOCK_STREAM);
  expect_this_process(holder_of_tcp_port(bound.address(), bound.port()));
  SockAddr to, own;
  const socklen_t length = to_sockaddr(bound.address(), bound.port(), 0, 0, &to);
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(fd.get(), &to.sa, length), 0);
  socklen_t size = sizeof own;
  ASSERT_EQ(::getsockname(fd.get(), &own.sa, &size), 0);
  IpAddress address;
  uint16_t port = 0;
  from_sockaddr(own, &address, &port);
  EXPECT_EQ(user_of_connection(address, port, bound.port()), std::optional(::geteuid()));
  EXPECT_EQ(user_of_connection(address, port, static_cast<uint16_t>(bound.port() ^ 1)), std::nullopt);
  EXPECT_EQ(user_of_connection(IpAddress::v4(127, 0, 0, 2), port, bound.port()), std::nullopt);
}

// Another user's socket at the name that goes with our port: shared memory is off, and a warning names the holder.
TEST(Holder, of_the_name_for_shared_memory) {
  const LocalAddress at{IpAddress::v4(127, 1, 2, 3), 4791};
  EXPECT_EQ(listener_of(at), "");
  const Fd first = listen_local(at);
  ASSERT_TRUE(first);
  EXPECT_FALSE(listen_local(at));
  EXPECT_EQ(errno, EADDRINUSE);
  EXPECT_NE(listener_of(at).find("process " + std::to_string(::getpid())), std::string::npos) << listener_of(at);
}

TEST(Holder, of_a_file_and_of_a_lock) {
  char name[] = "/tmp/mrc-holder-XXXXXX";
  const Fd fd(::mkstemp(name));
  const auto owner = holder_of_file(name);
  ASSERT_TRUE(owner.has_value());
  EXPECT_EQ(owner->uid, ::geteuid());
  EXPECT_EQ(owner->pid, 0);
  EXPECT_EQ(taken_by(owner), ", taken by user " + std::to_string(::geteuid()));
  EXPECT_FALSE(holder_of_lock(fd.get()).has_value());
  ASSERT_EQ(::flock(fd.get(), LOCK_EX), 0);
  expect_this_process(holder_of_lock(fd.get()));
  ::unlink(name);
  EXPECT_FALSE(holder_of_file(name).has_value());
}

}  // namespace
}  // namespace mrc::datapath
