// Peers that do not keep to the rules, of this user and of others; copies of descriptors, and none to spare.
// [MRC-LOCAL-3]
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>

#include "local_fixture.h"

namespace mrc::datapath {
namespace {

using LocalInvalidPeers = LocalEnds;

// Packets to a port that this device does not own are dropped.
TEST_F(LocalInvalidPeers, bursts_for_others_are_dropped) {
  End b = open();
  ScriptedPeer s(b.port());
  ASSERT_TRUE(s.request());
  take(b);
  PipeReply reply;
  ASSERT_EQ(receive_pipe_reply(s.socket.get(), &reply), Handshake::kMessage);
  EXPECT_EQ(reply.count, 2u);
  EXPECT_EQ(reply.addresses[1].port, b.port(1));
  TestBurst t(1, 100, 100, 1);
  t.address(*b.path, *b.path, 0_ev, loopback(false));
  t.burst.flow.dst_port = 1;
  s.pipe->write(t.burst);
  t.burst.flow.dst_port = b.port(1);
  s.pipe->write(t.burst);
  core::RxBurst r;
  int n = 0;
  for (int i = 0; i < 10 && n == 0; ++i) n = b.path->rx_burst(now(), &r, 1);
  ASSERT_EQ(n, 1);
  EXPECT_EQ(r.flow.dst_port, b.port(1));
  EXPECT_EQ(r.plane, 1_plane);
  EXPECT_EQ(b.path->counters().rx_errors, 1u);
}

TEST_F(LocalInvalidPeers, invalid_peers_are_disconnected_and_do_no_harm) {
  End a = open(), b = open();
  connect(a, b);
  const auto gone = [&](const ScriptedPeer& s) {
    take(b);
    char byte;
    return ::recv(s.socket.get(), &byte, 1, MSG_DONTWAIT) == 0;
  };
  ScriptedPeer silent(b.port());
  EXPECT_FALSE(gone(silent)) << "it may still send its request";
  ScriptedPeer words(b.port());
  ASSERT_EQ(::send(words.socket.get(), "hello", 5, MSG_NOSIGNAL), 5);
  EXPECT_TRUE(gone(words));
  ScriptedPeer empty_handed(b.port());
  const PipeRequest good{kPipeRequestMagic, sizeof(PipeMemory)};
  ASSERT_EQ(::send(empty_handed.socket.get(), &good, sizeof good, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof good));
  EXPECT_TRUE(gone(empty_handed));
  ScriptedPeer other_version(b.port());
  const PipeRequest bad{kPipeRequestMagic, sizeof(PipeMemory) + 1};
  ASSERT_EQ(::send(other_version.socket.get(), &bad, sizeof bad, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof bad));
  EXPECT_TRUE(gone(other_version));
  ScriptedPeer no_memory(b.port());
  ASSERT_TRUE(send_pipe_request(no_memory.socket.get(), no_memory.socket.get()));
  EXPECT_TRUE(gone(no_memory));
  ScriptedPeer talkative(b.port());
  ASSERT_TRUE(talkative.request());
  take(b);
  PipeReply reply;
  ASSERT_EQ(receive_pipe_reply(talkative.socket.get(), &reply), Handshake::kMessage);
  ASSERT_EQ(::send(talkative.socket.get(), "more than a wake", 16, MSG_NOSIGNAL), 16);
  EXPECT_TRUE(gone(talkative));
  now_ = now_ + Duration::seconds(3);
  EXPECT_TRUE(gone(silent)) << "it has had its time";
  send(a, b, 4);
  EXPECT_EQ(take(b), bytes_of(4));
}

TEST_F(LocalInvalidPeers, descriptors_that_come_unasked_are_closed) {
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  End b = open();
  const auto before = open_descriptors();
  for (int i = 0; i < 5; ++i) {
    ScriptedPeer s(b.port());
    const PipeRequest request{kPipeRequestMagic, sizeof(PipeMemory)};
    const int two[2] = {s.pipe->fd(), s.pipe->fd()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof two)] = {};
    iovec iov{const_cast<PipeRequest*>(&request), sizeof request};
    msghdr msg{};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    msg.msg_control = control;
    msg.msg_controllen = sizeof control;
    cmsghdr* const c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof two);
    std::memcpy(CMSG_DATA(c), two, sizeof two);
    ASSERT_GT(::sendmsg(s.socket.get(), &msg, MSG_NOSIGNAL), 0);
    take(b);
    EXPECT_EQ(b.path->pipes_in(), 0u);
  }
  EXPECT_EQ(open_descriptors(), before);
}

// As a worker of a data loader does, which lives on when its parent's connections end.
TEST_F(LocalInvalidPeers, copies_of_descriptors_in_a_child_do_not_wake_the_device) {
  End a = open(), b = open();
  connect(a, b);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char byte;
    ::_exit(::read(ends[0], &byte, 1) == 0 ? 0 : 1);  // until the parent closes
  }
  ::close(ends[0]);
  a.path->request_pipe(now(), loopback(false), b.port(1));
  send(a, b, 1);
  take(b);
  UdpConfig config = loopback_config(false, 2, 4);
  ScriptedPeer s(b.port());
  ASSERT_TRUE(s.request());
  take(b);
  ASSERT_EQ(::send(s.socket.get(), "no wake", 7, MSG_NOSIGNAL), 7);
  take(b);
  EXPECT_EQ(b.path->pipes_in(), 1u);
  int fds[8];
  ASSERT_EQ(b.path->wait_fds(fds, 8), 2);
  pollfd own{fds[1], POLLIN, 0};
  b.path->before_wait();
  EXPECT_EQ(::poll(&own, 1, 0), 0);
  ::close(ends[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(LocalInvalidPeers, without_free_descriptors_it_pauses_and_tries_again) {
  End b = open();
  int fds[8];
  ASSERT_EQ(b.path->wait_fds(fds, 8), 2);
  pollfd own{fds[1], POLLIN, 0};
  take(b);  // a sanitizer needs descriptors to look at types that it has not seen
  b.path->before_wait();
  b.path->after_wait();
  ScriptedPeer s(b.port());
  ASSERT_TRUE(s.request());
  rlimit usual;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  rlimit none = usual;
  none.rlim_cur = 3;  // all those of the test are above
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  take(b);
  b.path->before_wait();
  const int noisy = ::poll(&own, 1, 0);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(noisy, 0) << "it would keep the helper awake";
  EXPECT_EQ(b.path->pipes_in(), 0u);
  now_ = now_ + Duration::seconds(2);
  take(b);
  take(b);
  EXPECT_EQ(b.path->pipes_in(), 1u);
}

TEST_F(LocalInvalidPeers, a_sender_that_breaks_its_pipe_loses_it) {
  End b = open();
  ScriptedPeer s(b.port());
  PipeMapping memory(s.pipe->fd());
  ASSERT_TRUE(s.request());
  take(b);
  EXPECT_EQ(b.path->pipes_in(), 1u);
  memory.get()->written.store(1u << 20);
  take(b);
  EXPECT_EQ(b.path->pipes_in(), 0u);
}

TEST_F(LocalInvalidPeers, an_answer_that_makes_no_sense_ends_the_pipe) {
  End a = open();
  const Listener l;
  PipeReply more{};
  more.magic = kPipeReplyMagic;
  more.count = kMaxLocalAddresses + 1;
  PipeReply other{};
  other.magic = kPipeRequestMagic;
  for (const PipeReply& bad : {more, other}) {
    a.path->request_pipe(now_ = now_ + Duration::seconds(60), l.at.addr, l.at.port);
    EXPECT_EQ(a.path->pipes_out(), 1u);
    Fd s = l.accept();
    ASSERT_TRUE(s);
    ASSERT_TRUE(send_pipe_reply(s.get(), bad));
    take(a);
    EXPECT_EQ(a.path->pipes_out(), 0u);
  }
}

TEST_F(LocalInvalidPeers, an_answer_may_claim_addresses_of_this_host_alone) {
  End a = open();
  const Listener l;
  a.path->request_pipe(now(), l.at.addr, l.at.port);
  Fd s = l.accept();
  ASSERT_TRUE(s);
  PipeReply reply{};
  reply.magic = kPipeReplyMagic;
  reply.count = 2;
  reply.addresses[0] = l.at;
  reply.addresses[1].addr = IpAddress::parse("2001:db8::1").value();
  reply.addresses[1].port = 4791;
  ASSERT_TRUE(send_pipe_reply(s.get(), reply));
  take(a);
  EXPECT_EQ(a.path->pipes_out(), 1u);
  TestBurst t(1, 100, 100, 1);
  t.address(*a.path, *a.path, 0_ev, loopback(false));
  t.burst.flow.dst_port = l.at.port;
  a.path->tx_one(now(), t.burst);
  EXPECT_EQ(a.path->counters().tx_local, 1u);
  t.burst.flow.dst = reply.addresses[1].addr;
  t.burst.flow.dst_port = 4791;
  a.path->tx_one(now(), t.burst);
  EXPECT_EQ(a.path->counters().tx_local, 1u);
}

TEST_F(LocalInvalidPeers, a_peer_that_does_not_answer_is_dropped) {
  End a = open();
  const Listener l;
  a.path->request_pipe(now(), l.at.addr, l.at.port);
  EXPECT_EQ(a.path->pipes_out(), 1u);
  now_ = now_ + Duration::milliseconds(1900);
  take(a);
  EXPECT_EQ(a.path->pipes_out(), 1u);
  now_ = now_ + Duration::milliseconds(200);
  take(a);
  EXPECT_EQ(a.path->pipes_out(), 0u);
}

TEST_F(LocalInvalidPeers, planes_bound_to_an_interface_have_no_pipes) {
  UdpConfig config = loopback_config(false, 1, 1);
  std::unique_ptr<UdpDatapath> driver = open_or_fail(config);
  config.planes[0].interface = "lo";
  const auto path = LocalDatapath::make(std::move(driver), config);
  ASSERT_EQ(path->notes().size(), 1u);
  EXPECT_NE(path->notes()[0].find("plane 1 is bound to an interface"), std::string::npos);
  EXPECT_EQ(path->describe().find("shared memory"), std::string::npos);
  path->request_pipe(now(), loopback(false), path->plane_port(0_plane));
}

// The process of another user listens, or asks.
TEST_F(LocalInvalidPeers, no_pipe_between_users) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  End b = open();
  const LocalAddress at{loopback(false), b.port()};
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    Fd s = connect_local(at);
    ::_exit(!s && errno == EPERM ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it would have sent to root's process";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    ::close(ends[0]);
    if (::setuid(65534) != 0) ::_exit(2);
    const int s = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string text = "mrc-local/::1/" + std::to_string(at.port);
    std::memcpy(name.sun_path + 1, text.data(), text.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    if (::connect(s, reinterpret_cast<sockaddr*>(&name), length) != 0) ::_exit(3);
    if (::write(ends[1], "c", 1) != 1) ::_exit(4);
    char byte;
    ::_exit(::recv(s, &byte, 1, 0) == 0 ? 0 : 1);  // disconnected
  }
  ::close(ends[1]);
  char byte;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  ::close(ends[0]);
  take(b);
  EXPECT_EQ(b.path->pipes_in(), 0u);
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace mrc::datapath
