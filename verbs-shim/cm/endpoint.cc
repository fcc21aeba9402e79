#include "cm/endpoint.h"

#include <algorithm>

namespace mrc::shim::cm {

uint64_t Endpoint::new_number() {
  return numbers_.draw([this](uint64_t number) { return connections_.count(number) != 0; });
}

Connection* Endpoint::add(std::unique_ptr<Connection> connection) {
  Connection* const added = connection.get();
  connections_[added->number()] = std::move(connection);
  entries_[added->number()] = {};
  return added;
}

uint64_t Endpoint::connect(uint64_t now, const Address& listener, const Address& local, const Message& request) {
  const Checked checked(this);
  if (connections_.size() >= kMaxConnections) return 0;
  Connection* const made =
      add(std::make_unique<Connection>(this, new_number(), Path{kReplySocket, local, listener}, request));
  const uint64_t number = made->number();
  made->start(now);
  update(made);
  return number;
}

void Endpoint::listen(uint32_t socket, uint64_t listener, Type request, uint16_t port_space, uint32_t backlog) {
  stop_listening(listener);
  listeners_.emplace(socket, Listener{listener, request, port_space, backlog});
}

void Endpoint::stop_listening(uint64_t listener) {
  for (auto it = listeners_.begin(); it != listeners_.end();)
    it = it->second.id == listener ? listeners_.erase(it) : std::next(it);
}

void Endpoint::on_request_taken(uint64_t listener) {
  for (auto& [socket, entry] : listeners_)
    if (entry.id == listener) ++entry.room;
}

const Connection* Endpoint::find(uint64_t connection) const {
  const auto it = connections_.find(connection);
  return it != connections_.end() ? it->second.get() : nullptr;
}

void Endpoint::count_half_open(const Connection& c, Entry* entry) {
  if (c.half_open() == entry->half_open) return;
  if (c.half_open())
    half_open_.add(host_of(c.path().remote));
  else
    half_open_.remove(host_of(c.path().remote));
  entry->half_open = c.half_open();
}

void Endpoint::count_repeating(const Connection& c, Entry* entry) {
  if (c.repeats_until() == entry->repeats_until) return;
  const Host host = host_of(c.path().remote);
  if (entry->repeats_until != kNever) repeating_.remove(entry->repeats_until, c.number(), host);
  entry->repeats_until = kNever;
  const uint64_t until = c.repeats_until();
  if (until == kNever) return;
  if (const auto displaced = repeating_.displaced_by(host)) {
    Connection* const oldest = connections_.at(*displaced).get();
    oldest->stop_repeating();
    update(oldest);
  }
  repeating_.add(until, c.number(), host);
  entry->repeats_until = until;
}

// Where memory runs out it keeps the earlier time.
void Endpoint::reschedule(Deadlines* deadlines, uint64_t number, uint64_t* at, uint64_t to) {
  if (to == *at) return;
  if (to != kNever) deadlines->emplace(to, number);
  deadlines->erase({*at, number});
  *at = to;
}

void Endpoint::update(Connection* c) {
  c->check();
  const uint64_t number = c->number();
  Entry& entry = entries_[number];
  count_half_open(*c, &entry);
  count_repeating(*c, &entry);
  reschedule(&timers_, number, &entry.deadline, c->deadline());
  reschedule(&evictable_, number, &entry.evictable_from, c->evictable_from());
  if (c->state() != State::kClosed) return;
  if (c->is_server()) servers_.erase(client_key(c->path().remote, c->peer_number()));
  entries_.erase(number);
  connections_.erase(number);
}

bool Endpoint::disconnecting() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& c) { return c.second->state() == State::kDreqSent; });
}

void Endpoint::send(const Path& path, const Message& message) {
  transmits_.push_back({path, encode(message)});
}

std::optional<Transmit> Endpoint::poll_transmit() {
  if (transmits_.empty()) return std::nullopt;
  Transmit next = std::move(transmits_.front());
  transmits_.pop_front();
  return next;
}

std::optional<Event> Endpoint::poll_event() {
  if (events_.empty()) return std::nullopt;
  Event next = events_.front();
  events_.pop_front();
  return next;
}

// A request, and a client's REJ of its own REQ, do not have the server's number.
Connection* Endpoint::addressed(const Arrival& arrival, const Message& m) {
  uint64_t number = m.destination;
  if (number == 0) {
    const auto server = servers_.find(client_key(arrival.from, m.source));
    if (server == servers_.end()) return nullptr;
    number = server->second;
  }
  const auto it = connections_.find(number);
  return it != connections_.end() ? it->second.get() : nullptr;
}

void Endpoint::on_datagram(uint64_t now, const Arrival& arrival, const uint8_t* bytes, size_t size) {
  const Checked checked(this);
  Message m;
  if (decode(bytes, size, &m) != DecodeError::kOk) {
    ++dropped_;
    return;
  }
  Connection* const connection = m.type != Type::kHello ? addressed(arrival, m) : nullptr;
  if (connection == nullptr) return on_unknown(now, arrival, m);
  connection->on_message(now, arrival.from, m);
  update(connection);
}

void Endpoint::answer(const Arrival& arrival, Type type, const Message& to, uint64_t cookie) {
  Message m;
  m.type = type;
  m.source = type == Type::kCookie ? 0 : to.destination;
  m.destination = to.source;
  m.cookie = cookie;
  if (type == Type::kRej) m.reason = kReasonTimeout;
  send({arrival.socket, arrival.to, arrival.from}, m);
}

// Nothing is kept, and no answer is longer than its question. [CM-COOKIE-1] [CM-COOKIE-2]
void Endpoint::on_unknown(uint64_t now, const Arrival& arrival, const Message& m) {
  switch (m.type) {
    case Type::kHello:
      if (listeners_.count(arrival.socket) != 0)
        return answer(arrival, Type::kCookie, m, cookies_.make(now, arrival.from, m.source));
      break;
    case Type::kReq:
    case Type::kSidrReq:
      if (cookies_.check(now, arrival.from, m.source, m.cookie)) return on_req(now, arrival, m);
      break;
    case Type::kRep:  // its client gave up, and the server has not received the REJ
      return answer(arrival, Type::kRej, m, 0);
    case Type::kDreq:
    case Type::kPing:
      return answer(arrival, Type::kDrep, m, 0);
    default:
      break;
  }
  ++dropped_;
}

bool Endpoint::has_room(const Listener& listener, const Address& client) const {
  return listener.room > 0 && connections_.size() < kMaxConnections && !half_open_.full() &&
         !half_open_.full(host_of(client));
}

// The client that owes an answer for the longest time has to go, if that is long enough. [CM-LIM-2]
bool Endpoint::evict(uint64_t now, const Address* of_host) {
  for (const auto& [from, number] : evictable_) {
    if (from > now) return false;
    Connection* const oldest = connections_.at(number).get();
    if (of_host != nullptr && host_of(oldest->path().remote) != host_of(*of_host)) continue;
    oldest->evict(now);
    update(oldest);
    return true;
  }
  return false;
}

// Its own host's connections come first: a host cannot displace others by opening more than its share.
bool Endpoint::make_room(uint64_t now, const Listener& listener, const Address& client) {
  if (has_room(listener, client)) return true;
  if (listener.room == 0) return false;  // giving a connection up would make none
  if (half_open_.full(host_of(client)) && !evict(now, &client)) return false;
  return has_room(listener, client) || (listener.room > 0 && evict(now, nullptr) && has_room(listener, client));
}

void Endpoint::on_req(uint64_t now, const Arrival& arrival, const Message& m) {
  const auto [first, last] = listeners_.equal_range(arrival.socket);
  const auto found = std::find_if(
      first, last, [&](const auto& l) { return l.second.port_space == m.port_space && l.second.request == m.type; });
  if (found == last || !make_room(now, found->second, arrival.from)) {  // the client tries again [CM-LIM-1]
    ++dropped_;
    return;
  }
  --found->second.room;
  Connection* const made = add(std::make_unique<Connection>(this, new_number(), found->second.id,
                                                            Path{kReplySocket, arrival.to, arrival.from}, m));
  servers_[client_key(arrival.from, m.source)] = made->number();
  made->start(now);
  update(made);
}

void Endpoint::on_refused(uint64_t now, const uint8_t* bytes, size_t size) {
  const Checked checked(this);
  Message m;
  if (decode(bytes, size, &m) != DecodeError::kOk) return;
  const auto it = connections_.find(m.source);
  if (it == connections_.end()) return;
  if (m.destination != 0 && m.destination != it->second->peer_number()) return;
  it->second->on_refused(now);
  update(it->second.get());
}

void Endpoint::on_timeout(uint64_t now) {
  const Checked checked(this);
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Connection* const connection = connections_.at(timers_.begin()->second).get();
    connection->on_timeout(now);
    update(connection);
  }
}

// Limits hold, and the counts and deadlines are those of the connections that there are.
void Endpoint::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(connections_.size() <= kMaxConnections && entries_.size() <= connections_.size());
  MRC_INVARIANT(half_open_.total() <= kMaxHalfOpen && repeating_.size() <= kMaxRepeating);
  if (!pace_.due(entries_.size())) return;
  size_t half_open = 0, repeating = 0, timers = 0, evictable = 0;
  for (const auto& [number, entry] : entries_) {
    MRC_INVARIANT(connections_.count(number) != 0);
    half_open += entry.half_open;
    repeating += entry.repeats_until != kNever;
    timers += entry.deadline != kNever;
    evictable += entry.evictable_from != kNever;
  }
  MRC_INVARIANT(half_open == half_open_.total() && repeating == repeating_.size());
  MRC_INVARIANT(timers == timers_.size() && evictable == evictable_.size());
}

}  // namespace mrc::shim::cm
