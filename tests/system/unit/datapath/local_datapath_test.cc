// The way to processes of this host: when pipes come about and when they end, and what happens to the packets
// meanwhile. [MRC-LOCAL-1..6]
#include "local_fixture.h"

namespace mrc::datapath {
namespace {

using Local = LocalEnds;

TEST_F(Local, the_first_burst_takes_the_driver_and_those_behind_it_the_pipe) {
  End a = open(), b = open();
  send(a, b, 1);
  EXPECT_EQ(take(b), bytes_of(1));
  take(a);
  send(a, b, 2);
  send(a, b, 3, 1_ev);  // the other plane: the same pipe
  std::vector<uint8_t> both = bytes_of(2);
  for (uint8_t byte : bytes_of(3)) both.push_back(byte);
  EXPECT_EQ(take(b), both);
  EXPECT_EQ(a.path->counters().tx_packets, 6u);
  EXPECT_EQ(a.path->counters().tx_local, 4u);
  EXPECT_EQ(b.path->counters().rx_packets, 6u);
  EXPECT_EQ(b.path->counters().rx_local, 4u);
  EXPECT_EQ(a.path->pipes_out(), 1u);
  EXPECT_EQ(b.path->pipes_in(), 1u);
  EXPECT_EQ(b.path->pipes_out(), 0u) << "b has sent nothing";
}

// [MRC-LOCAL-8]
TEST_F(Local, bursts_name_their_pipe_and_its_end_is_reported_once_they_are_read) {
  End a = open(), c = open(), b = open();
  connect(a, b);
  connect(c, b);
  const auto read = [&](End& from) {
    send(from, b, 1);
    core::RxBurst r[8];
    int n = 0;
    for (int i = 0; i < 10 && n == 0; ++i) n = b.path->rx_burst(now(), r, 8);
    EXPECT_EQ(n, 1);
    return r[0].pipe;
  };
  const uint32_t pipe_of_a = read(a), pipe_of_c = read(c);
  EXPECT_NE(pipe_of_a, 0u);
  EXPECT_NE(pipe_of_c, 0u);
  EXPECT_NE(pipe_of_a, pipe_of_c);
  EXPECT_EQ(read(a), pipe_of_a);

  UdpConfig config = loopback_config(false, 2, 4);
  std::unique_ptr<UdpDatapath> other = open_or_fail(config);
  TestBurst by_network(2, 300, 300, 1);
  by_network.address(*other, *b.path, 0_ev, loopback(false));
  ASSERT_TRUE(other->tx_one(now(), by_network.burst));
  core::RxBurst r[8];
  r[0].pipe = 99;  // of an earlier burst
  int n = 0;
  for (int i = 0; i < 10 && n == 0; ++i) n = b.path->rx_burst(now(), r, 8);
  ASSERT_EQ(n, 1);
  EXPECT_EQ(r[0].pipe, 0u);

  send(a, b, 7);
  a.path.reset();
  EXPECT_EQ(b.path->rx_burst(now(), r, 8), 1);
  EXPECT_EQ(b.path->take_ended_pipe(), 0u) << "the last burst has been returned just now";
  take(b);
  EXPECT_EQ(b.path->take_ended_pipe(), pipe_of_a);
  EXPECT_EQ(b.path->take_ended_pipe(), 0u);
}

TEST_F(Local, bursts_on_several_planes_before_the_answer_leave_one_pipe) {
  End a = open(), b = open();
  send(a, b, 1, 0_ev);
  send(a, b, 2, 1_ev);
  for (int i = 0; i < 3; ++i) take(b), take(a);
  EXPECT_EQ(a.path->pipes_out(), 1u);
  EXPECT_EQ(b.path->pipes_in(), 1u);
}

TEST_F(Local, packets_of_the_driver_are_received_before_those_of_the_pipe) {
  End a = open(), b = open();
  connect(a, b);
  // The pipe stands; what lies in b's sockets all the same came before it.
  UdpConfig config = loopback_config(false, 2, 4);
  std::unique_ptr<UdpDatapath> other = open_or_fail(config);
  TestBurst first(2, 300, 300, 1);
  first.address(*other, *b.path, 0_ev, loopback(false));
  ASSERT_TRUE(other->tx_one(now(), first.burst));
  send(a, b, 2);
  std::vector<uint8_t> both = first.payload;
  for (uint8_t byte : bytes_of(2)) both.push_back(byte);
  EXPECT_EQ(take(b), both);
  EXPECT_EQ(b.path->counters().rx_local, 2u);
}

TEST_F(Local, a_process_may_send_to_itself) {
  End a = open();
  send(a, a, 1);
  EXPECT_EQ(take(a), bytes_of(1));
  send(a, a, 2);
  EXPECT_EQ(take(a), bytes_of(2));
  EXPECT_EQ(a.path->counters().tx_local, 2u);
}

TEST_F(Local, packets_sent_before_the_end_arrive) {
  End a = open(), b = open();
  connect(a, b);
  send(a, b, 7);
  a.path.reset();
  EXPECT_EQ(take(b), bytes_of(7));
  EXPECT_EQ(b.path->pipes_in(), 0u);
}

TEST_F(Local, packets_to_a_receiver_that_has_gone_take_the_driver_and_its_successor_gets_a_pipe) {
  End a = open(), b = open();
  const uint16_t port = b.port();
  connect(a, b);
  send(a, port, 1);
  EXPECT_EQ(a.path->counters().tx_local, 2u);
  b.path.reset();
  take(a);
  EXPECT_EQ(a.path->pipes_out(), 0u);
  send(a, port, 2);
  EXPECT_EQ(a.path->counters().tx_local, 2u);
  End next = open(port);
  ASSERT_EQ(next.port(), port);
  for (int i = 0; i < 40; ++i) send(a, port, 3), take(next), take(a);
  EXPECT_GT(a.path->counters().tx_local, 2u);
  EXPECT_EQ(next.path->pipes_in(), 1u);
}

// After 100 ms, 200, 400 and so on: who begins to listen 800 ms after the first try is found 1500 ms after it.
TEST_F(Local, absent_peers_are_asked_ever_more_rarely) {
  End a = open();
  Listener l;
  l.listening = Fd();
  const Instant begin = now_ + Duration::milliseconds(10);
  for (now_ = begin; now_ < begin + Duration::milliseconds(800); now_ = now_ + Duration::milliseconds(10))
    a.path->request_pipe(now_, l.at.addr, l.at.port);
  l.listening = listen_local(l.at);
  for (; now_ < begin + Duration::milliseconds(1500); now_ = now_ + Duration::milliseconds(10))
    a.path->request_pipe(now_, l.at.addr, l.at.port);
  EXPECT_EQ(a.path->pipes_out(), 0u);
  a.path->request_pipe(now_, l.at.addr, l.at.port);
  EXPECT_EQ(a.path->pipes_out(), 1u);
}

TEST_F(Local, a_receiver_that_does_not_read_loses_packets_and_delays_no_other) {
  End a = open(), stuck = open(), b = open();
  connect(a, stuck);
  connect(a, b);
  // Bursts of 600 bytes take the two larger sizes of buffers.
  constexpr uint32_t kMax = kPipeBuffers[1].count + kPipeBuffers[2].count;
  for (uint32_t i = 0; i < kMax; ++i) send(a, stuck, i);
  EXPECT_EQ(a.path->counters().tx_local_full, 0u);
  send(a, stuck, 200);
  EXPECT_EQ(a.path->counters().tx_local_full, 2u);
  EXPECT_EQ(a.path->planes_with_room(), 0b11_planes);
  send(a, b, 5);
  EXPECT_EQ(take(b), bytes_of(5));
  EXPECT_EQ(take(stuck).size(), 600u * kMax);
  send(a, stuck, 6);
  EXPECT_EQ(take(stuck), bytes_of(6));
}

TEST_F(Local, a_burst_wakes_a_sleeping_receiver) {
  End a = open(), b = open();
  connect(a, b);
  int fds[8];
  const int n = b.path->wait_fds(fds, 8);
  ASSERT_EQ(n, 2);
  pollfd waits[2] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};
  const auto readable = [&] { return ::poll(waits, 2, 0) > 0; };
  b.path->before_wait();
  EXPECT_FALSE(readable());
  send(a, b, 1);
  EXPECT_TRUE(readable());
  take(b);
  b.path->before_wait();
  EXPECT_FALSE(readable()) << "nothing is left that would keep it awake";
  send(a, b, 2);
  b.path->before_wait();
  EXPECT_TRUE(readable()) << "what came before it fell asleep";
}

TEST_F(Local, a_wake_read_by_another_thread_leaves_the_sleeper_wakeable) {
  End a = open(), b = open();
  connect(a, b);
  int fds[8];
  pollfd own{-1, POLLIN, 0};
  ASSERT_EQ(b.path->wait_fds(fds, 8), 2);
  own.fd = fds[1];
  const auto readable = [&] { return ::poll(&own, 1, 0) > 0; };
  b.path->before_wait();  // one thread sleeps
  send(a, b, 1);
  EXPECT_TRUE(readable());
  EXPECT_EQ(take(b), bytes_of(1));  // another has polled meanwhile
  EXPECT_FALSE(readable());
  send(a, b, 2);
  EXPECT_TRUE(readable());
  take(b);
  b.path->after_wait();
  send(a, b, 3);
  take(b);
  for (int i = 0; i < 3; ++i) send(a, b, 4);
  EXPECT_FALSE(readable()) << "nobody sleeps: no call per burst";
}

TEST_F(Local, a_new_pipe_wakes_a_receiver_that_slept_before_it) {
  End a = open(), b = open();
  int fds[8];
  pollfd own{-1, POLLIN, 0};
  ASSERT_EQ(b.path->wait_fds(fds, 8), 2);
  own.fd = fds[1];
  b.path->before_wait();
  connect(a, b);
  EXPECT_EQ(::poll(&own, 1, 0), 0);
  send(a, b, 1);
  EXPECT_EQ(a.path->counters().tx_local, 2u);
  EXPECT_EQ(::poll(&own, 1, 0), 1);
}

TEST_F(Local, a_pipe_becomes_readable_though_the_sockets_are_never_empty) {
  End a = open(), old = open(), b = open();
  connect(old, b);
  send(old, b, 1);
  take(b);
  connect(a, b);
  UdpConfig config = loopback_config(false, 2, 4);
  std::unique_ptr<UdpDatapath> other = open_or_fail(config);
  TestBurst flood(1, 100, 100, 1);
  flood.address(*other, *b.path, 0_ev, loopback(false));
  int from_new = 0, from_old = 0;
  for (int i = 0; i < 400; ++i) {
    ASSERT_TRUE(other->tx_one(now(), flood.burst));
    send(a, b, 2, 0_ev);
    send(old, b, 3, 1_ev);
    core::RxBurst r;
    if (b.path->rx_burst(now(), &r, 1) == 0) continue;
    from_new += r.bytes == 600 && r.plane == 0_plane;
    from_old += r.bytes == 600 && r.plane == 1_plane;
    if (i == 20) {
      EXPECT_GT(from_old, 5) << "readable pipes are read meanwhile";
    }
  }
  EXPECT_GT(from_new, 50);
}

}  // namespace
}  // namespace mrc::datapath
