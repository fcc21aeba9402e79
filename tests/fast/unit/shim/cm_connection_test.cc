// Connections in virtual time: every order, loss, refusal and timer. [CM-RTX-*] [CM-LIM-*] [CM-GONE-1] [CM-COOKIE-*]
#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include "cm_pair.h"

namespace mrc::shim::cm {
namespace {

using EventType = Event::Type;

TEST(CmConnection, exchanges_numbers_gids_depths_and_private_data) {
  Pair pair;
  pair.listen();
  const uint64_t client = pair.connect(text("question"));
  const Event* request = pair.until(1, EventType::kRequest);
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->listener, kListener);
  EXPECT_STREQ(reinterpret_cast<const char*>(request->private_data.bytes.data()), "question");
  const uint64_t server = request->connection;
  const Connection* at_server = pair.sides[1].find(server);
  EXPECT_EQ(at_server->peer().qpn, 11u);
  EXPECT_EQ(at_server->peer().psn, 1011u);
  EXPECT_EQ(at_server->peer().gid[15], 11);
  EXPECT_EQ(at_server->peer().responder_resources, 4);
  EXPECT_EQ(at_server->client_port(), 1234);
  EXPECT_EQ(at_server->path().remote, address(1, 40000));
  EXPECT_EQ(at_server->path().local, address(2, 7000));

  ASSERT_TRUE(pair.accept(server, text("answer")));
  const Event* response = pair.until(0, EventType::kResponse);
  ASSERT_NE(response, nullptr);
  EXPECT_STREQ(reinterpret_cast<const char*>(response->private_data.bytes.data()), "answer");
  EXPECT_EQ(pair.sides[0].find(client)->peer().qpn, 22u);
  EXPECT_EQ(pair.sides[0].find(client)->path().remote, address(2, 40000));
  EXPECT_EQ(pair.count(1, EventType::kEstablished), 0u);
  ASSERT_TRUE(pair.confirm(client));
  ASSERT_NE(pair.until(1, EventType::kEstablished), nullptr);
  EXPECT_EQ(pair.state(0, client), State::kEstablished);
  EXPECT_EQ(pair.state(1, server), State::kEstablished);
  EXPECT_EQ(pair.sides[1].half_open(), 0u);
}

TEST(CmConnection, smaller_mtu_is_used_by_both) {
  Pair pair;
  pair.listen();
  const uint64_t client = pair.connect();
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  Parameters small = parameters(22);
  small.mtu = 3;
  pair.sides[1].command(server, [&](Connection* c) { return c->accept(pair.now, small, {}); });
  ASSERT_NE(pair.until(0, EventType::kResponse), nullptr);
  EXPECT_EQ(pair.sides[0].find(client)->peer().mtu, 3);
  EXPECT_EQ(pair.sides[1].find(server)->peer().mtu, 3);
}

TEST(CmConnection, disconnect_reaches_both_and_timewait_ends) {
  for (int side = 0; side < 2; ++side) {
    Pair pair;
    pair.listen();
    const auto [client, server] = pair.establish();
    ASSERT_NE(client, 0u);
    ASSERT_TRUE(pair.disconnect(side, side == 0 ? client : server));
    ASSERT_NE(pair.until(0, EventType::kDisconnected), nullptr);
    ASSERT_NE(pair.until(1, EventType::kDisconnected), nullptr);
    EXPECT_EQ(pair.events[0].back().status, 0);
    EXPECT_TRUE(pair.disconnect(1 - side, side == 0 ? server : client));  // what applications do on that event
    ASSERT_NE(pair.until(0, EventType::kTimewaitExit), nullptr);
    ASSERT_NE(pair.until(1, EventType::kTimewaitExit), nullptr);
    EXPECT_EQ(pair.count(0, EventType::kDisconnected), 1u);
    EXPECT_EQ(pair.count(1, EventType::kDisconnected), 1u);
    EXPECT_EQ(pair.sides[0].connections() + pair.sides[1].connections(), 0u);
  }
}

TEST(CmConnection, both_disconnect_at_once) {
  Pair pair;
  pair.listen();
  const auto [client, server] = pair.establish();
  pair.disconnect(0, client);
  pair.disconnect(1, server);
  pair.run(10'000 * kMs);
  for (int side = 0; side < 2; ++side) {
    EXPECT_EQ(pair.count(side, EventType::kDisconnected), 1u);
    EXPECT_EQ(pair.count(side, EventType::kTimewaitExit), 1u);
    EXPECT_EQ(pair.sides[side].connections(), 0u);
  }
}

TEST(CmConnection, server_rejects_with_private_data) {
  Pair pair;
  pair.listen();
  const uint64_t client = pair.connect();
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  pair.sides[1].command(server, [&](Connection* c) { return c->reject(pair.now, kReasonConsumer, text("no")); });
  const Event* rejected = pair.until(0, EventType::kRejected);
  ASSERT_NE(rejected, nullptr);
  EXPECT_EQ(rejected->status, kReasonConsumer);
  EXPECT_STREQ(reinterpret_cast<const char*>(rejected->private_data.bytes.data()), "no");
  EXPECT_EQ(pair.state(0, client), State::kClosed);
  EXPECT_FALSE(pair.accept(server));
  pair.run(kAnswerRepeatTime + kMs);
  EXPECT_EQ(pair.sides[1].connections(), 0u);
}

TEST(CmConnection, client_rejects_the_reply) {
  Pair pair;
  pair.listen();
  const uint64_t client = pair.connect();
  pair.accept(pair.until(1, EventType::kRequest)->connection);
  ASSERT_NE(pair.until(0, EventType::kResponse), nullptr);
  pair.sides[0].command(client, [&](Connection* c) { return c->reject(pair.now, kReasonConsumer, {}); });
  ASSERT_NE(pair.until(1, EventType::kRejected), nullptr);
  EXPECT_EQ(pair.count(1, EventType::kEstablished), 0u);
}

TEST(CmConnection, a_request_without_an_answer_is_unreachable_after_all_attempts) {
  Pair pair;  // does not listen: the datagram is dropped, as by a firewall
  const uint64_t start = pair.now;
  const uint64_t client = pair.connect();
  const Event* event = pair.until(0, EventType::kUnreachable);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->status, ETIMEDOUT);
  EXPECT_EQ(pair.sent[Type::kHello], kMaxAttempts);
  EXPECT_GT(pair.now - start, 20'000 * kMs);
  EXPECT_LT(pair.now - start, 40'000 * kMs);
  EXPECT_EQ(pair.state(0, client), State::kClosed);
  EXPECT_EQ(pair.sides[1].connections(), 0u);
}

// [CM-GONE-1]
TEST(CmConnection, closed_port_is_rejected) {
  Pair pair;
  pair.closed[1] = true;
  pair.connect();
  const uint64_t start = pair.now;
  const Event* event = pair.until(0, EventType::kRejected);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->status, kReasonInvalidService);
  EXPECT_GE(pair.now - start, kListenerAbsent);
  EXPECT_LT(pair.now - start, kListenerAbsent + 500 * kMs);
}

TEST(CmConnection, listener_that_opens_late_is_reached) {
  Pair pair;
  pair.closed[1] = true;
  pair.connect();
  pair.run(kListenerAbsent - 500 * kMs);
  EXPECT_EQ(pair.events[0].size(), 0u);
  pair.closed[1] = false;
  pair.listen();
  const uint64_t start = pair.now;
  EXPECT_NE(pair.until(1, EventType::kRequest), nullptr);
  EXPECT_LT(pair.now - start, 500 * kMs);
}

// The listener's socket may be closed as soon as the connection is accepted.
TEST(CmConnection, refusal_of_a_repeated_req_is_not_final) {
  Pair pair;
  pair.listen();
  const uint64_t client = pair.connect();
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  Message req;
  req.type = Type::kReq;
  req.source = client;
  const std::vector<uint8_t> bytes = encode(req);
  pair.sides[0].on_refused(pair.now, bytes.data(), bytes.size());
  ASSERT_TRUE(pair.accept(server));
  EXPECT_NE(pair.until(0, EventType::kResponse), nullptr);
}

TEST(CmConnection, listener_that_ends_before_its_answer_is_rejected) {
  Pair pair;
  pair.listen();
  pair.connect();
  ASSERT_NE(pair.until(1, EventType::kRequest), nullptr);
  pair.closed[1] = true;
  const Event* event = pair.until(0, EventType::kRejected);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->status, kReasonInvalidService);
}

// [CM-GONE-1]
TEST(CmConnection, ended_process_disconnects_its_peers) {
  for (int side = 0; side < 2; ++side) {
    Pair pair;
    pair.listen();
    ASSERT_NE(pair.establish().first, 0u);
    pair.closed[1 - side] = true;
    const uint64_t start = pair.now;
    ASSERT_NE(pair.until(side, EventType::kDisconnected), nullptr);
    EXPECT_LT(pair.now - start, 5'000 * kMs);
  }
}

TEST(CmConnection, silent_peer_stays_connected) {
  Pair pair;
  pair.listen();
  const auto [client, server] = pair.establish();
  pair.drops = [](int, const Message&) { return true; };  // stopped, or cut off
  pair.run(600'000 * kMs);
  EXPECT_EQ(pair.state(0, client), State::kEstablished);
  EXPECT_EQ(pair.state(1, server), State::kEstablished);
}

TEST(CmConnection, peer_that_forgot_the_connection_disconnects_it) {
  Pair pair;
  pair.listen();
  ASSERT_NE(pair.establish().first, 0u);
  pair.sides[1].~Endpoint();  // another process has its port now
  new (&pair.sides[1]) Endpoint({8, 9});
  ASSERT_NE(pair.until(0, EventType::kDisconnected), nullptr);
  EXPECT_EQ(pair.sides[1].connections(), 0u);
}

TEST(CmConnection, disconnect_without_answer_ends) {
  Pair pair;
  pair.listen();
  const auto [client, server] = pair.establish();
  pair.drops = [](int, const Message&) { return true; };
  pair.disconnect(0, client);
  const Event* event = pair.until(0, EventType::kDisconnected);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->status, ETIMEDOUT);
  EXPECT_EQ(pair.sent[Type::kDreq], kMaxAttempts);
}

TEST(CmConnection, each_message_may_be_lost_once) {
  for (int lost = 1; lost <= 9; ++lost) {
    Pair pair;
    pair.listen();
    bool done = false;
    pair.drops = [&](int, const Message& m) {
      const bool drop = !done && m.type == static_cast<Type>(lost);
      done |= drop;
      return drop;
    };
    const auto [client, server] = pair.establish();
    ASSERT_NE(client, 0u) << lost;
    pair.disconnect(0, client);
    ASSERT_NE(pair.until(0, EventType::kTimewaitExit), nullptr) << lost;
    ASSERT_NE(pair.until(1, EventType::kTimewaitExit), nullptr) << lost;
    for (const EventType type : {EventType::kRequest, EventType::kEstablished, EventType::kDisconnected})
      EXPECT_EQ(pair.count(1, type), 1u) << lost;
    EXPECT_EQ(pair.count(0, EventType::kResponse), 1u) << lost;
    EXPECT_EQ(pair.count(0, EventType::kDisconnected), 1u) << lost;
  }
}

TEST(CmConnection, lost_reject_is_asked_for_again) {
  Pair pair;
  pair.listen();
  bool done = false;
  pair.drops = [&](int, const Message& m) { return m.type == Type::kRej && !std::exchange(done, true); };
  pair.connect();
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  pair.sides[1].command(server, [&](Connection* c) { return c->reject(pair.now, kReasonConsumer, {}); });
  EXPECT_NE(pair.until(0, EventType::kRejected), nullptr);
}

TEST(CmConnection, every_message_twice_is_one_connection) {
  Pair pair;
  pair.listen();
  const auto [client, server] = pair.establish();
  ASSERT_NE(client, 0u);
  // All datagrams of the connection once more, from a recording of a second one.
  Pair twice;
  twice.listen();
  std::vector<Pair::Flight> copies;
  const uint64_t again = twice.connect();
  for (int i = 0; i < 200; ++i) {
    twice.flush();
    std::multimap<uint64_t, Pair::Flight> doubled;
    for (const auto& [at, flight] : twice.wire) {
      doubled.emplace(at, flight);
      doubled.emplace(at, flight);
    }
    twice.wire = std::move(doubled);
    if (!twice.step(twice.now + 300 * kMs)) break;
    for (const Event& e : std::exchange(twice.events[1], {}))
      EXPECT_TRUE(e.type != EventType::kRequest || twice.accept(e.connection));
    for (const Event& e : std::exchange(twice.events[0], {}))
      EXPECT_TRUE(e.type != EventType::kResponse || twice.confirm(again));
  }
  EXPECT_EQ(twice.sides[1].connections(), 1u);
  EXPECT_EQ(twice.state(0, again), State::kEstablished);
}

// [CM-RTX-2]
TEST(CmConnection, slow_application_is_waited_for) {
  Pair pair;
  pair.listen();
  const uint64_t client = pair.connect();
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  pair.run(100'000 * kMs);
  EXPECT_EQ(pair.state(0, client), State::kReqSent);
  ASSERT_TRUE(pair.accept(server));
  ASSERT_NE(pair.until(0, EventType::kResponse), nullptr);
  pair.run(100'000 * kMs);
  EXPECT_EQ(pair.state(1, server), State::kRepSent);
  ASSERT_TRUE(pair.confirm(client));
  EXPECT_NE(pair.until(1, EventType::kEstablished), nullptr);
}

// [CM-RTX-2]
TEST(CmConnection, quick_applications_need_no_mra) {
  Pair quick;
  quick.listen();
  ASSERT_NE(quick.establish().first, 0u);
  quick.run(1000 * kMs);
  EXPECT_EQ(quick.sent[Type::kMra], 0);
  EXPECT_EQ(quick.sent[Type::kReq] + quick.sent[Type::kRep] + quick.sent[Type::kRtu], 3);

  for (const uint64_t takes : {kMraDelay - kMs, kMraDelay + kMs}) {
    Pair slow;
    slow.listen();
    const uint64_t client = slow.connect();
    const uint64_t server = slow.until(1, EventType::kRequest)->connection;
    slow.run(takes);
    EXPECT_EQ(slow.sent[Type::kMra], takes < kMraDelay ? 0 : 1);
    ASSERT_TRUE(slow.accept(server));
    ASSERT_NE(slow.until(0, EventType::kResponse), nullptr);
    slow.run(takes);
    EXPECT_EQ(slow.sent[Type::kMra], takes < kMraDelay ? 0 : 2);
    ASSERT_TRUE(slow.confirm(client));
    ASSERT_NE(slow.until(1, EventType::kEstablished), nullptr);
    EXPECT_EQ(slow.sent[Type::kReq] + slow.sent[Type::kRep], 2);
  }
}

TEST(CmConnection, application_that_never_decides_is_given_up) {
  Pair pair;
  pair.listen();
  pair.connect();
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  pair.run(kDecisionLimit + 3000 * kMs);
  EXPECT_EQ(pair.count(0, EventType::kUnreachable), 1u);
  EXPECT_EQ(pair.count(1, EventType::kRejected), 1u);
  EXPECT_FALSE(pair.accept(server));
}

TEST(CmConnection, abandoned_connections_tell_the_peer) {
  for (int when = 0; when < 5; ++when) {
    Pair pair;
    pair.listen();
    const uint64_t client = pair.connect();
    const uint64_t server = pair.until(1, EventType::kRequest)->connection;
    if (when == 0) pair.abandon(0, client);
    if (when == 1) pair.abandon(1, server);
    if (when >= 2) {
      pair.accept(server);
      ASSERT_NE(pair.until(0, EventType::kResponse), nullptr);
    }
    if (when == 2) pair.abandon(0, client);
    if (when >= 3) {
      pair.confirm(client);
      ASSERT_NE(pair.until(1, EventType::kEstablished), nullptr);
    }
    if (when == 3) pair.abandon(0, client);
    if (when == 4) pair.abandon(1, server);
    const int notified = when == 1 || when == 4 ? 0 : 1;
    EXPECT_NE(pair.until(notified, when < 3 ? EventType::kRejected : EventType::kDisconnected), nullptr) << when;
    const size_t events = pair.events[1 - notified].size();
    pair.run(30'000 * kMs);
    EXPECT_EQ(pair.events[1 - notified].size(), events) << when;  // none for the side that has given it up
    EXPECT_EQ(pair.sides[0].connections() + pair.sides[1].connections(), 0u) << when;
  }
}

// [CM-GONE-2]
TEST(CmConnection, a_client_that_has_given_up_cannot_be_accepted) {
  Pair pair;
  pair.listen();
  const uint64_t client = pair.connect();
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  pair.abandon(0, client);
  const Event* rejected = pair.until(1, EventType::kRejected);
  ASSERT_NE(rejected, nullptr);
  EXPECT_EQ(rejected->status, kReasonTimeout);
  EXPECT_FALSE(pair.accept(server));
}

// Its REJ is sent once, to a listener that may have been closed meanwhile. [CM-GONE-2]
TEST(CmConnection, a_client_that_has_given_up_refuses_the_reply) {
  Pair pair;
  pair.listen();
  const uint64_t client = pair.connect();
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  pair.drops = [](int to, const Message& m) { return to == 1 && m.type == Type::kRej; };
  pair.abandon(0, client);
  pair.run(10 * kMs);
  pair.drops = nullptr;
  ASSERT_TRUE(pair.accept(server));
  const uint64_t accepted = pair.now;
  const Event* rejected = pair.until(1, EventType::kRejected);
  ASSERT_NE(rejected, nullptr);
  EXPECT_EQ(rejected->status, kReasonTimeout);
  EXPECT_LT(pair.now - accepted, kFirstRetry);
  EXPECT_EQ(pair.sides[0].connections() + pair.sides[1].connections(), 0u);
}

TEST(CmConnection, data_before_the_rtu_establishes) {
  Pair pair;
  pair.listen();
  pair.drops = [](int, const Message& m) { return m.type == Type::kRtu || m.type == Type::kPing; };
  const uint64_t client = pair.connect();
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  pair.accept(server);
  ASSERT_NE(pair.until(0, EventType::kResponse), nullptr);
  pair.confirm(client);
  pair.run(1000 * kMs);
  EXPECT_EQ(pair.count(1, EventType::kEstablished), 0u);
  pair.sides[1].command(server, [&](Connection* c) {
    c->establish(pair.now);
    return true;
  });
  EXPECT_NE(pair.until(1, EventType::kEstablished), nullptr);
}

TEST(CmConnection, commands_in_wrong_states_are_refused) {
  Pair pair;
  pair.listen();
  const uint64_t client = pair.connect();
  EXPECT_FALSE(pair.confirm(client));
  EXPECT_FALSE(pair.disconnect(0, client));
  EXPECT_FALSE(pair.accept(client));
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  EXPECT_FALSE(pair.disconnect(1, server));
  EXPECT_TRUE(pair.accept(server));
  EXPECT_FALSE(pair.accept(server));
}

// [CM-COOKIE-1]
TEST(CmEndpoint, nothing_is_kept_for_a_req_without_its_cookie) {
  Pair pair;
  pair.listen();
  Message req;
  req.type = Type::kReq;
  req.port_space = 0x106;
  for (uint64_t i = 1; i <= 1000; ++i) {
    req.source = i;
    req.cookie = i * 0x9E3779B97F4A7C15;
    const std::vector<uint8_t> bytes = encode(req);
    pair.sides[1].on_datagram(pair.now, {kListenSocket, address(9, 1), address(2, 7000)}, bytes.data(), bytes.size());
  }
  EXPECT_EQ(pair.sides[1].connections(), 0u);
  EXPECT_FALSE(pair.sides[1].poll_transmit().has_value());
  EXPECT_EQ(pair.sides[1].dropped(), 1000u);
}

// [CM-COOKIE-1] [CM-COOKIE-2]
TEST(CmEndpoint, answers_to_unknown_sources_are_not_longer_than_their_requests) {
  Pair pair;
  pair.listen();
  for (int type = 1; type <= 13; ++type) {
    Message m;
    m.type = static_cast<Type>(type);
    m.source = m.type == Type::kCookie ? 0 : 42;
    m.destination = m.type == Type::kHello || is_request(m.type) ? 0 : 43;
    const std::vector<uint8_t> bytes = encode(m);
    pair.sides[1].on_datagram(pair.now, {kListenSocket, address(9, 1), address(2, 7000)}, bytes.data(), bytes.size());
    const auto answer = pair.sides[1].poll_transmit();
    const bool answered =
        m.type == Type::kHello || m.type == Type::kRep || m.type == Type::kDreq || m.type == Type::kPing;
    EXPECT_EQ(answer.has_value(), answered) << type;
    EXPECT_LE(answer ? answer->bytes.size() : 0, bytes.size());
    EXPECT_FALSE(pair.sides[1].poll_transmit().has_value());
    EXPECT_EQ(pair.sides[1].connections(), 0u);
  }
}

// [CM-MSG-3] [CM-MSG-4]
TEST(CmEndpoint, messages_with_wrong_numbers_or_from_elsewhere_change_nothing) {
  Pair pair;
  pair.listen();
  const auto [client, server] = pair.establish();
  Message m;
  m.type = Type::kDreq;
  const auto deliver = [&, server = server](uint64_t source, uint64_t destination, const Address& from) {
    m.source = source;
    m.destination = destination;
    const std::vector<uint8_t> bytes = encode(m);
    pair.sides[1].on_datagram(pair.now, {kReplySocket, from, {}}, bytes.data(), bytes.size());
    return pair.state(1, server);
  };
  EXPECT_EQ(deliver(client + 1, server, address(1, 40000)), State::kEstablished);
  EXPECT_EQ(deliver(client, server + 1, address(1, 40000)), State::kEstablished);
  EXPECT_EQ(deliver(client, server, address(1, 40001)), State::kEstablished);
  EXPECT_EQ(deliver(client, server, address(1, 40000)), State::kTimewait);
}

// [CM-LIM-1]
TEST(CmEndpoint, backlog_holds_further_clients_back_until_there_is_room) {
  Pair pair;
  pair.listen(2);
  for (int i = 0; i < 3; ++i) pair.connect();
  pair.run(1000 * kMs);
  EXPECT_EQ(pair.count(1, EventType::kRequest), 2u);
  pair.sides[1].on_request_taken(kListener);
  pair.run(3000 * kMs);
  EXPECT_EQ(pair.count(1, EventType::kRequest), 3u);
}

TEST(CmEndpoint, half_open_connections_of_one_host_are_limited) {
  Pair pair;
  pair.listen(10'000);
  for (size_t i = 0; i < kMaxHalfOpenPerHost + 50; ++i) pair.connect();
  pair.run(1000 * kMs);
  EXPECT_EQ(pair.sides[1].half_open(), kMaxHalfOpenPerHost);
}

// A program that opens a thousand connections at once, to one that takes a millisecond to accept each: none of its
// requests is dropped, which would cost it the time until it is repeated. [CM-LIM-1]
TEST(CmEndpoint, a_thousand_connections_of_one_host_need_no_repetition) {
  constexpr size_t kConnections = 1000;
  Pair pair;
  pair.listen(1024);
  for (size_t i = 0; i < kConnections; ++i) ASSERT_NE(pair.connect(), 0u);
  size_t taken[2] = {};
  const auto next = [&](int side, EventType type) -> const Event* {
    while (taken[side] < pair.events[side].size())
      if (const Event& e = pair.events[side][taken[side]++]; e.type == type) return &e;
    return nullptr;
  };
  for (const uint64_t end = pair.now + 5000 * kMs; pair.now < end && taken[1] < 2 * kConnections;) {
    pair.run(kMs);
    if (const Event* request = next(1, EventType::kRequest)) {
      pair.sides[1].on_request_taken(kListener);
      EXPECT_TRUE(pair.accept(request->connection));
    }
    while (const Event* response = next(0, EventType::kResponse)) EXPECT_TRUE(pair.confirm(response->connection));
  }
  EXPECT_EQ(pair.count(1, EventType::kEstablished), kConnections);
  EXPECT_EQ(pair.sent[Type::kReq], static_cast<int>(kConnections));
}

// A host has as many IPv6 addresses as it wants: those of one network of 64 bits count as one.
TEST(CmEndpoint, addresses_of_one_network_are_one_host) {
  for (const int differs : {8, 7}) {
    Pair pair;
    pair.listen(10'000);
    pair.seen_as = [&](const Message& m) {
      Address a;
      a.ip[0] = 0xFD;
      a.ip[differs] = static_cast<uint8_t>(m.source);
      a.port = 40000;
      return a;
    };
    for (size_t i = 0; i < kMaxHalfOpenPerHost + 50; ++i) pair.connect();
    pair.run(1000 * kMs);
    EXPECT_EQ(pair.sides[1].half_open(), kMaxHalfOpenPerHost + (differs == 8 ? 0 : 50));
  }
}

// [CM-LIM-2]
TEST(CmEndpoint, accepted_clients_that_do_not_answer_leave_their_places_to_others) {
  Pair pair;
  pair.listen(10'000);
  pair.drops = [](int to, const Message& m) { return to == 0 && m.type == Type::kRep; };  // these never answer
  for (size_t i = 0; i < kMaxHalfOpenPerHost; ++i) pair.connect();
  pair.run(100 * kMs);
  for (const Event& e : std::exchange(pair.events[1], {})) EXPECT_TRUE(pair.accept(e.connection));
  const uint64_t accepted = pair.now;
  pair.connect();
  pair.run(accepted + kAnswerTime - kMs - pair.now);
  EXPECT_EQ(pair.events[1].size(), 0u);
  pair.run(2500 * kMs);  // the next repetition of its REQ
  EXPECT_EQ(pair.count(1, EventType::kRequest), 1u);
  EXPECT_EQ(pair.count(1, EventType::kUnreachable), 1u);
  EXPECT_EQ(pair.sides[1].half_open(), kMaxHalfOpenPerHost);
}

TEST(CmEndpoint, no_half_open_connection_is_given_up_while_there_is_room) {
  Pair pair;
  pair.listen(10'000);
  pair.drops = [](int to, const Message& m) { return to == 0 && m.type == Type::kRep; };
  for (size_t i = 0; i + 1 < kMaxHalfOpenPerHost; ++i) pair.connect();
  pair.run(100 * kMs);
  for (const Event& e : std::exchange(pair.events[1], {})) EXPECT_TRUE(pair.accept(e.connection));
  pair.run(kAnswerTime + 100 * kMs);
  pair.connect();
  pair.run(500 * kMs);
  EXPECT_EQ(pair.count(1, EventType::kRequest), 1u);
  EXPECT_EQ(pair.count(1, EventType::kUnreachable), 0u);
}

// Connections whose application has not decided are not the client's fault.
TEST(CmEndpoint, undecided_connections_keep_their_places) {
  Pair pair;
  pair.listen(10'000);
  for (size_t i = 0; i < kMaxHalfOpenPerHost + 1; ++i) pair.connect();
  pair.run(20'000 * kMs);
  EXPECT_EQ(pair.count(1, EventType::kRequest), kMaxHalfOpenPerHost);
  EXPECT_EQ(pair.count(1, EventType::kUnreachable) + pair.count(1, EventType::kRejected), 0u);
}

// Giving one up makes no room in a backlog that is full of requests the application has not decided.
TEST(CmEndpoint, a_full_backlog_displaces_no_connection) {
  constexpr uint32_t kUndecided = 6;
  Pair pair;
  pair.listen(kMaxHalfOpenPerHost);
  pair.drops = [](int to, const Message& m) { return to == 0 && m.type == Type::kRep; };
  for (size_t i = 0; i < kMaxHalfOpenPerHost - kUndecided; ++i) pair.connect();
  pair.run(100 * kMs);
  for (const Event& e : std::exchange(pair.events[1], {})) EXPECT_TRUE(pair.accept(e.connection));
  for (uint32_t i = 0; i < kUndecided; ++i) pair.connect();
  pair.run(kAnswerTime + 100 * kMs);
  pair.sides[1].listen(kListenSocket, kListener, Type::kReq, 0x106, 0);
  pair.connect();
  pair.run(500 * kMs);
  EXPECT_EQ(pair.count(1, EventType::kRequest), kUndecided);
  EXPECT_EQ(pair.count(1, EventType::kUnreachable), 0u);
}

// A host that has its share may only displace its own; above the limit of all, the oldest goes, whosever it is.
TEST(CmEndpoint, the_oldest_of_all_hosts_leaves_at_the_limit_of_all) {
  Pair pair;
  pair.listen(10'000);
  uint8_t host = 10;
  pair.seen_as = [&](const Message& m) { return address(static_cast<uint8_t>(10 + m.source % 8), 40000); };
  pair.drops = [](int to, const Message& m) { return to == 0 && m.type == Type::kRep; };
  for (size_t i = 0; i < kMaxHalfOpen; ++i) pair.connect();
  pair.run(1000 * kMs);
  for (const Event& e : std::exchange(pair.events[1], {})) EXPECT_TRUE(pair.accept(e.connection));
  ASSERT_EQ(pair.sides[1].half_open(), kMaxHalfOpen);
  pair.seen_as = [&](const Message&) { return address(host, 40000); };
  host = 200;
  pair.run(kAnswerTime);
  pair.connect();
  pair.run(500 * kMs);
  EXPECT_EQ(pair.count(1, EventType::kRequest), 1u);
  EXPECT_EQ(pair.count(1, EventType::kUnreachable), 1u);
}

// [CM-LIM-3]
TEST(CmEndpoint, refusals_that_are_repeated_are_bounded) {
  Pair pair;
  pair.listen(10'000);
  const auto refuse_one = [&] {
    pair.connect();
    pair.run(5 * kMs);
    const uint64_t server = std::exchange(pair.events[1], {}).at(0).connection;
    pair.sides[1].command(server, [&](Connection* c) { return c->reject(pair.now, kReasonConsumer, {}); });
    return server;
  };
  const uint64_t first = refuse_one();
  for (size_t i = 1; i < kMaxRepeatingPerHost; ++i) refuse_one();
  EXPECT_EQ(pair.state(1, first), State::kRejected);
  refuse_one();
  EXPECT_EQ(pair.state(1, first), State::kClosed);
  EXPECT_EQ(pair.sides[1].repeating(), kMaxRepeatingPerHost);
}

TEST(CmEndpoint, listener_of_another_port_space_is_not_reached) {
  Pair pair;
  pair.sides[1].listen(kListenSocket, kListener, Type::kReq, 0x13F, 16);
  pair.connect();
  pair.run(1000 * kMs);
  EXPECT_EQ(pair.count(1, EventType::kRequest), 0u);
}

// 5 % of the datagrams are lost, some are late, some arrive twice: no connection is.
TEST(CmEndpoint, no_connection_is_lost_at_five_percent_loss) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair;
    std::mt19937 random(seed);
    pair.listen(64);
    pair.drops = [&](int, const Message&) {
      pair.latency = (random() % 50 + 1) * kMs;
      return random() % 100 < 5;
    };
    std::map<uint64_t, bool> clients;
    for (int i = 0; i < 50; ++i) clients[pair.connect()] = false;
    size_t established = 0;
    const uint64_t end = pair.now + 60'000 * kMs;
    while (established < 50 && pair.step(end)) {
      for (const Event& e : std::exchange(pair.events[1], {})) {
        if (e.type == EventType::kRequest) {
          pair.sides[1].on_request_taken(kListener);
          ASSERT_TRUE(pair.accept(e.connection));
        } else {
          ASSERT_EQ(e.type, EventType::kEstablished);
          ++established;
        }
      }
      for (const Event& e : std::exchange(pair.events[0], {})) {
        ASSERT_EQ(e.type, EventType::kResponse);
        ASSERT_TRUE(pair.confirm(e.connection));
      }
    }
    EXPECT_EQ(established, 50u);
    for (const auto& [client, unused] : clients) pair.disconnect(0, client);
    pair.run(60'000 * kMs);
    EXPECT_EQ(pair.count(0, EventType::kDisconnected), 50u);
    EXPECT_EQ(pair.count(1, EventType::kDisconnected), 50u);
    for (const Event& e : pair.events[0]) EXPECT_EQ(e.status, 0);
    EXPECT_EQ(pair.sides[0].connections() + pair.sides[1].connections(), 0u);
  }
}

}  // namespace
}  // namespace mrc::shim::cm
