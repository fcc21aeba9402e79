// SIDR, by which ids of datagrams learn the queue pair of their peer, in virtual time. [CM-SIDR-*]
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "cm_pair.h"

namespace mrc::shim::cm {
namespace {

using EventType = Event::Type;

TEST(CmDatagram, the_answer_names_the_queue_pair) {
  Pair pair;
  pair.listen_for_datagrams();
  const uint64_t client = pair.resolve(text("where"));
  const Event* request = pair.until(1, EventType::kRequest);
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->listener, kListener);
  EXPECT_STREQ(reinterpret_cast<const char*>(request->private_data.bytes.data()), "where");
  const uint64_t server = request->connection;
  EXPECT_EQ(pair.sides[1].find(server)->client_port(), 1234);
  ASSERT_TRUE(pair.answer(server, text("here")));
  const Event* resolved = pair.until(0, EventType::kResolved);
  ASSERT_NE(resolved, nullptr);
  EXPECT_STREQ(reinterpret_cast<const char*>(resolved->private_data.bytes.data()), "here");
  const Connection* at_client = pair.sides[0].find(client);
  ASSERT_NE(at_client, nullptr);
  EXPECT_EQ(at_client->peer().qpn, 22u);
  EXPECT_EQ(at_client->peer().gid[15], 22);
  EXPECT_EQ(at_client->qkey(), 0x01234567u);
  EXPECT_FALSE(pair.answer(server));
  EXPECT_EQ(pair.sides[1].half_open(), 0u);
  // Nothing is left but the client's answer, until it is abandoned.
  pair.run(600'000 * kMs);
  EXPECT_EQ(pair.sides[1].connections(), 0u);
  EXPECT_EQ(pair.state(0, client), State::kResolved);
  EXPECT_FALSE(pair.disconnect(0, client));
  pair.abandon(0, client);
  EXPECT_EQ(pair.sides[0].connections(), 0u);
  EXPECT_EQ(pair.events[0].size() + pair.events[1].size(), 2u);
}

TEST(CmDatagram, refusals_have_a_status) {
  for (const bool command : {true, false}) {
    Pair pair;
    pair.listen_for_datagrams();
    const uint64_t client = pair.resolve();
    const uint64_t server = pair.until(1, EventType::kRequest)->connection;
    if (command)
      pair.sides[1].command(server, [&](Connection* c) { return c->reject(pair.now, kReasonConsumer, text("no")); });
    else
      pair.abandon(1, server);
    const Event* refused = pair.until(0, EventType::kNotResolved);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->status, kSidrReject);
    EXPECT_EQ(refused->private_data.size, command ? 2 : 0);
    EXPECT_EQ(pair.state(0, client), State::kClosed);
  }
}

TEST(CmDatagram, no_listener_is_unsupported) {
  Pair pair;
  pair.closed[1] = true;
  const uint64_t start = pair.now;
  pair.resolve();
  const Event* refused = pair.until(0, EventType::kNotResolved);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->status, kSidrUnsupported);
  EXPECT_GE(pair.now - start, kListenerAbsent);
}

TEST(CmDatagram, silence_is_unreachable) {
  Pair pair;
  const uint64_t client = pair.resolve();
  const Event* event = pair.until(0, EventType::kUnreachable);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->status, ETIMEDOUT);
  EXPECT_EQ(pair.state(0, client), State::kClosed);
}

TEST(CmDatagram, slow_application_is_waited_for) {
  Pair pair;
  pair.listen_for_datagrams();
  pair.resolve();
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  pair.run(100'000 * kMs);
  ASSERT_TRUE(pair.answer(server));
  EXPECT_NE(pair.until(0, EventType::kResolved), nullptr);
  EXPECT_EQ(pair.count(1, EventType::kRequest), 1u);
}

TEST(CmDatagram, a_lost_answer_is_asked_for_again) {
  Pair pair;
  pair.listen_for_datagrams();
  int lost = 3;
  pair.drops = [&](int, const Message& m) { return m.type == Type::kSidrRep && lost-- > 0; };
  pair.resolve();
  ASSERT_TRUE(pair.answer(pair.until(1, EventType::kRequest)->connection));
  EXPECT_NE(pair.until(0, EventType::kResolved), nullptr);
  EXPECT_EQ(pair.count(1, EventType::kRequest), 1u);
}

TEST(CmDatagram, an_abandoned_client_is_silent) {
  Pair pair;
  pair.listen_for_datagrams();
  const uint64_t client = pair.resolve();
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  pair.abandon(0, client);
  EXPECT_EQ(pair.sides[0].connections(), 0u);
  ASSERT_TRUE(pair.answer(server));
  pair.run(kAnswerRepeatTime + kMs);
  EXPECT_EQ(pair.events[0].size(), 0u);
  EXPECT_EQ(pair.sides[1].connections(), 0u);
}

// The next answer displaces the oldest one, of the same host or of all. [CM-LIM-3]
TEST(CmDatagram, answers_that_are_repeated_are_bounded) {
  for (const size_t hosts : {1u, 8u}) {
    const size_t limit = hosts == 1 ? kMaxRepeatingPerHost : kMaxRepeating;
    Pair pair;
    pair.listen_for_datagrams(10'000);
    uint64_t asked = 0;
    std::map<uint64_t, size_t> host;
    pair.seen_as = [&](const Message& m) {
      const auto seen = host.emplace(m.source, asked).first;
      return address(static_cast<uint8_t>(10 + seen->second % hosts), 40000);
    };
    std::vector<uint64_t> servers;
    const auto ask = [&] {
      pair.resolve();
      ++asked;
      pair.run(5 * kMs);
      const std::vector<Event> requests = std::exchange(pair.events[1], {});
      ASSERT_EQ(requests.size(), 1u);
      servers.push_back(requests[0].connection);
      EXPECT_TRUE(pair.answer(servers.back()));
    };
    while (asked < limit) ask();
    EXPECT_EQ(pair.sides[1].repeating(), limit);
    EXPECT_EQ(pair.state(1, servers[0]), State::kAnswered);
    ask();
    EXPECT_EQ(pair.sides[1].repeating(), limit);
    EXPECT_EQ(pair.state(1, servers[0]), State::kClosed);
    EXPECT_EQ(pair.state(1, servers[1]), State::kAnswered);
    EXPECT_EQ(pair.state(1, servers.back()), State::kAnswered);
    EXPECT_EQ(pair.count(0, EventType::kResolved), limit);  // the last answer is on its way
    pair.run(kAnswerRepeatTime);
    EXPECT_EQ(pair.count(0, EventType::kResolved), limit + 1);
    EXPECT_EQ(pair.sides[1].repeating(), 0u);
    EXPECT_EQ(pair.sides[1].connections(), 0u);
  }
}

// At its own limit a host displaces its own answers alone. [CM-LIM-3]
TEST(CmDatagram, a_host_at_its_limit_displaces_no_other) {
  Pair pair;
  pair.listen_for_datagrams(10'000);
  uint8_t host = 10;
  pair.seen_as = [&](const Message&) { return address(host, 40000); };
  const auto ask = [&] {
    pair.resolve();
    pair.run(5 * kMs);
    const uint64_t server = std::exchange(pair.events[1], {}).at(0).connection;
    EXPECT_TRUE(pair.answer(server));
    pair.run(5 * kMs);
    return server;
  };
  const uint64_t other = ask();
  host = 11;
  const uint64_t first = ask();
  for (size_t i = 0; i < kMaxRepeatingPerHost; ++i) ask();
  EXPECT_EQ(pair.state(1, first), State::kClosed);
  EXPECT_EQ(pair.state(1, other), State::kAnswered);
}

// A client whose answer is lost and forgotten gets another one. [CM-LIM-3]
TEST(CmDatagram, a_forgotten_answer_is_asked_for_anew) {
  Pair pair;
  pair.listen_for_datagrams(10'000);
  bool lost = true;
  pair.drops = [&](int, const Message& m) { return m.type == Type::kSidrRep && std::exchange(lost, false); };
  for (size_t i = 0; i <= kMaxRepeatingPerHost; ++i) pair.resolve();
  for (int round = 0; round < 1000 && pair.count(0, EventType::kResolved) <= kMaxRepeatingPerHost; ++round) {
    pair.run(10 * kMs);
    for (const Event& e : std::exchange(pair.events[1], {})) EXPECT_TRUE(pair.answer(e.connection));
  }
  EXPECT_EQ(pair.count(0, EventType::kResolved), kMaxRepeatingPerHost + 1);
}

// A listener for connections does not get questions of datagrams, nor the other way round.
TEST(CmDatagram, listeners_are_of_one_kind) {
  Pair pair;
  pair.sides[1].listen(kListenSocket, kListener, Type::kReq, 0x111, 16);
  pair.resolve();
  pair.run(1000 * kMs);
  EXPECT_EQ(pair.count(1, EventType::kRequest), 0u);
  pair.sides[1].listen(kListenSocket, kListener, Type::kSidrReq, 0x106, 16);
  pair.connect();
  pair.run(1000 * kMs);
  EXPECT_EQ(pair.count(1, EventType::kRequest), 0u);
}

// [CM-MSG-3] What belongs to connections does not touch the ids of datagrams.
TEST(CmDatagram, messages_of_connections_change_nothing) {
  Pair pair;
  pair.listen_for_datagrams();
  const uint64_t client = pair.resolve();
  const uint64_t server = pair.until(1, EventType::kRequest)->connection;
  pair.run(10 * kMs);
  EXPECT_FALSE(pair.accept(server));
  for (const Type type : {Type::kRep, Type::kRtu, Type::kRej, Type::kDrep, Type::kDreq, Type::kReq}) {
    for (int side = 0; side < 2; ++side) {
      Message m;
      m.type = type;
      m.source = side == 0 ? server : client;
      m.destination = type == Type::kReq ? 0 : side == 0 ? client : server;
      const std::vector<uint8_t> bytes = encode(m);
      pair.sides[side].on_datagram(pair.now, {kReplySocket, address(side == 0 ? 2 : 1, 40000), {}}, bytes.data(),
                                   bytes.size());
    }
  }
  EXPECT_EQ(pair.state(0, client), State::kReqSent);
  EXPECT_EQ(pair.state(1, server), State::kReqReceived);
  pair.flush();
  EXPECT_EQ(pair.events[0].size(), 0u);
  EXPECT_EQ(pair.events[1].size(), 1u);
}

TEST(CmDatagram, none_is_lost_at_five_percent_loss) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair;
    std::mt19937 random(seed);
    pair.listen_for_datagrams(64);
    pair.drops = [&](int, const Message&) {
      pair.latency = (random() % 50 + 1) * kMs;
      return random() % 100 < 5;
    };
    for (int i = 0; i < 50; ++i) pair.resolve();
    const uint64_t end = pair.now + 60'000 * kMs;
    while (pair.count(0, EventType::kResolved) < 50 && pair.step(end)) {
      for (const Event& e : std::exchange(pair.events[1], {})) {
        ASSERT_EQ(e.type, EventType::kRequest);
        pair.sides[1].on_request_taken(kListener);
        ASSERT_TRUE(pair.answer(e.connection));
      }
    }
    EXPECT_EQ(pair.count(0, EventType::kResolved), 50u);
    EXPECT_EQ(pair.events[0].size(), 50u);
  }
}

}  // namespace
}  // namespace mrc::shim::cm
