// Two endpoints of the connection protocol in virtual time, joined by a network that delays, drops, duplicates and
// refuses as the test wants.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <vector>

#include "cm/endpoint.h"

namespace mrc::shim::cm {

inline Address address(uint8_t last, uint16_t port) {
  Address a;
  a.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, last};
  a.port = port;
  return a;
}

inline Parameters parameters(uint32_t qpn) {
  Parameters p;
  p.gid[15] = static_cast<uint8_t>(qpn);
  p.qpn = qpn;
  p.psn = qpn + 1000;
  p.responder_resources = 4;
  p.initiator_depth = 3;
  return p;
}

inline PrivateData text(const char* what) {
  PrivateData data;
  data.size = static_cast<uint8_t>(std::strlen(what));
  std::memcpy(data.bytes.data(), what, data.size);
  return data;
}

inline constexpr uint32_t kListenSocket = 5;
inline constexpr uint64_t kListener = 77;

// Side 0 is 10.0.0.1, the client; side 1 is 10.0.0.2, which listens on port 7000. Both have their own socket at 40000.
struct Pair {
  struct Flight {
    int to;
    Arrival arrival;
    std::vector<uint8_t> bytes;
  };

  Endpoint sides[2] = {Endpoint({1, 2}), Endpoint({3, 4})};
  std::vector<Event> events[2];
  std::multimap<uint64_t, Flight> wire;
  uint64_t now = 1'000'000'000;
  uint64_t latency = 1 * kMs;
  bool closed[2] = {};                                // the side's process has ended: it refuses
  std::function<bool(int to, const Message&)> drops;  // true: the datagram is lost
  std::function<Address(const Message&)> seen_as;     // where the server sees a message of the client come from
  std::map<Type, int> sent;

  void listen(uint32_t backlog = 16) { sides[1].listen(kListenSocket, kListener, Type::kReq, 0x106, backlog); }
  void listen_for_datagrams(uint32_t backlog = 16) {
    sides[1].listen(kListenSocket, kListener, Type::kSidrReq, 0x111, backlog);
  }
  uint64_t resolve(const PrivateData& data = {}) {
    Message request;
    request.type = Type::kSidrReq;
    request.port_space = 0x111;
    request.port = 1234;
    request.private_data = data;
    return sides[0].connect(now, address(2, 7000), {}, request);
  }
  bool answer(uint64_t connection, const PrivateData& data = {}, uint8_t status = kSidrSuccess) {
    Message m;
    m.status = status;
    m.qkey = 0x01234567;
    m.parameters.qpn = 22;
    m.parameters.gid[15] = 22;
    m.private_data = data;
    return sides[1].command(connection, [&](Connection* c) { return c->answer(now, m); });
  }

  uint64_t connect(const PrivateData& data = {}) {
    Message request;
    request.port_space = 0x106;
    request.port = 1234;
    request.parameters = parameters(11);
    request.private_data = data;
    return sides[0].connect(now, address(2, 7000), {}, request);
  }

  void flush() {
    for (int side = 0; side < 2; ++side) {
      while (const auto t = sides[side].poll_transmit()) put(side, *t);
      while (const auto e = sides[side].poll_event()) events[side].push_back(*e);
    }
  }

  void put(int from, const Transmit& t) {
    Message m;
    if (decode(t.bytes.data(), t.bytes.size(), &m) != DecodeError::kOk) return;
    ++sent[m.type];
    const int to = 1 - from;
    if (drops && drops(to, m)) return;
    const bool listener = t.path.remote.port == 7000;
    Arrival arrival;
    arrival.socket = listener ? kListenSocket : kReplySocket;
    arrival.from = address(static_cast<uint8_t>(from + 1), t.path.socket == kListenSocket ? 7000 : 40000);
    if (seen_as && to == 1) arrival.from = seen_as(m);
    arrival.to = t.path.remote;
    wire.emplace(now + latency, Flight{to, arrival, t.bytes});
  }

  // To the next datagram or timer, until `end`; false when nothing is left before it.
  bool step(uint64_t end) {
    flush();
    uint64_t next = std::min(sides[0].deadline(), sides[1].deadline());
    if (!wire.empty()) next = std::min(next, wire.begin()->first);
    if (next > end) return false;
    now = std::max(now, next);
    while (!wire.empty() && wire.begin()->first <= now) {
      const Flight flight = wire.begin()->second;
      wire.erase(wire.begin());
      if (closed[flight.to])
        sides[1 - flight.to].on_refused(now, flight.bytes.data(), flight.bytes.size());
      else
        sides[flight.to].on_datagram(now, flight.arrival, flight.bytes.data(), flight.bytes.size());
    }
    for (Endpoint& side : sides) side.on_timeout(now);
    flush();
    return true;
  }

  void run(uint64_t duration) {
    const uint64_t end = now + duration;
    while (step(end)) {
    }
    now = end;
  }

  // Runs until the side has an event of the type, a minute at most.
  const Event* until(int side, Event::Type type) {
    for (const uint64_t end = now + 60'000 * kMs;;) {
      for (const Event& e : events[side])
        if (e.type == type) return &e;
      if (!step(end)) return nullptr;
    }
  }
  size_t count(int side, Event::Type type) const {
    size_t n = 0;
    for (const Event& e : events[side]) n += e.type == type ? 1 : 0;
    return n;
  }

  bool accept(uint64_t connection, const PrivateData& data = {}) {
    return sides[1].command(connection, [&](Connection* c) { return c->accept(now, parameters(22), data); });
  }
  bool confirm(uint64_t connection) {
    return sides[0].command(connection, [&](Connection* c) { return c->confirm(now); });
  }
  bool disconnect(int side, uint64_t connection) {
    return sides[side].command(connection, [&](Connection* c) { return c->disconnect(now); });
  }
  void abandon(int side, uint64_t connection) {
    sides[side].command(connection, [&](Connection* c) {
      c->abandon(now);
      return true;
    });
  }
  State state(int side, uint64_t connection) const {
    const Connection* c = sides[side].find(connection);
    return c != nullptr ? c->state() : State::kClosed;
  }

  // An established connection: its number at both sides; zeros where that failed.
  std::pair<uint64_t, uint64_t> establish() {
    const uint64_t client = connect();
    const Event* request = until(1, Event::Type::kRequest);
    if (request == nullptr) return {};
    const uint64_t server = request->connection;
    sides[1].on_request_taken(kListener);
    if (!accept(server) || until(0, Event::Type::kResponse) == nullptr || !confirm(client)) return {};
    if (until(1, Event::Type::kEstablished) == nullptr) return {};
    return {client, server};
  }
};

}  // namespace mrc::shim::cm
