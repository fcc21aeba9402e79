// Privilege to change shared state, for clients that pretend to have more than they do. [MRC-MRCD-2]
#include "peer.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>

#include "other_user.h"

namespace mrc::mrcd {
namespace {

// A process of its own connects, and stays until it was looked at. The two steps are what it does before and after it
// connects; they return an errno value.
class ChangingClient {
 public:
  using Step = std::function<int()>;
  ChangingClient(const Step& before, const Step& after) {
    const int listening = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un at{};  // autobind: the kernel gives it an abstract name
    at.sun_family = AF_UNIX;
    socklen_t length = sizeof at;
    EXPECT_EQ(::bind(listening, reinterpret_cast<sockaddr*>(&at), sizeof at.sun_family), 0);
    EXPECT_EQ(::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &length), 0);
    EXPECT_EQ(::listen(listening, 1), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int to = ::socket(AF_UNIX, SOCK_STREAM, 0);
      auto error = static_cast<uint8_t>(before());
      if (::connect(to, reinterpret_cast<sockaddr*>(&at), length) != 0) ::_exit(1);
      if (error == 0) error = static_cast<uint8_t>(after());
      if (::write(to, &error, 1) != 1) ::_exit(1);
      ::pause();
      ::_exit(0);
    }
    socket_ = ::accept(listening, nullptr, nullptr);
    ::close(listening);
    uint8_t error = 0;
    EXPECT_EQ(::read(socket_, &error, 1), 1);
    error_ = error;
  }
  ~ChangingClient() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(socket_);
  }
  int error() const { return error_; }
  Credentials credentials() const { return credentials_of(socket_).value(); }

 private:
  pid_t pid_ = -1;
  int socket_ = -1, error_ = 0;
};

int nothing() {
  return 0;
}
int own_namespace() {
  return ::unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
}

// The capabilities of this process itself.
bool own_net_admin() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  EXPECT_EQ(::syscall(SYS_capget, &header, data), 0);
  return (data[0].effective >> CAP_NET_ADMIN & 1) != 0;
}

TEST(Peer, a_capability_in_our_user_namespace_counts) {
  const Credentials credentials = ChangingClient(nothing, nothing).credentials();
  EXPECT_EQ(credentials.uid, ::geteuid());
  EXPECT_EQ(credentials.net_admin, own_net_admin());
  EXPECT_EQ(may_control(credentials, ""), own_net_admin());
}

TEST(Peer, a_process_without_capabilities_may_not) {
  const auto drop = [] { return ::setresuid(other_user(), other_user(), other_user()) == 0 ? 0 : errno; };
  const ChangingClient client(drop, nothing);
  ASSERT_EQ(client.error(), 0);
  EXPECT_EQ(client.credentials().uid, other_user());
  EXPECT_FALSE(client.credentials().net_admin);
}

// There it has every capability, which has no meaning here. Also when it enters it after it has connected. Where the
// machine lets it have none, it is still in ours.
TEST(Peer, capabilities_in_a_user_namespace_of_its_own_do_not_count) {
  const ChangingClient first(own_namespace, nothing), then(nothing, own_namespace);
  for (const ChangingClient* client : {&first, &then}) {
    const Credentials credentials = client->credentials();
    EXPECT_EQ(credentials.net_admin, client->error() != 0 && own_net_admin()) << std::strerror(client->error());
    EXPECT_EQ(may_control(credentials, ""), credentials.net_admin);
    EXPECT_TRUE(may_control(credentials, std::to_string(credentials.gid)));
  }
}

// Connects as itself, and is a set-uid program by the time it is looked at.
TEST(Peer, capabilities_of_another_user_than_the_one_that_connected_do_not_count) {
  const uid_t own = ::geteuid();
  const auto drop = [] { return ::seteuid(other_user()) == 0 ? 0 : errno; };
  const auto rise = [own] { return ::seteuid(own) == 0 ? 0 : errno; };
  const ChangingClient client(drop, rise);
  ASSERT_EQ(client.error(), 0);
  EXPECT_EQ(client.credentials().uid, other_user());
  EXPECT_FALSE(client.credentials().net_admin);
}

}  // namespace
}  // namespace mrc::mrcd
