// All connections and listeners of a process: finds the connection of a datagram, answers unknown sources without
// keeping anything for them, bounds what is kept, and collects datagrams and events for its owner, which serialises and
// has the sockets and the clock. [CM-COOKIE-*] [CM-LIM-*]
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include "cm/connection.h"
#include "cm/connection_numbers.h"
#include "cm/cookie.h"
#include "cm/half_open_count.h"
#include "cm/repeating_servers.h"
#include "invariant.h"

namespace mrc::shim::cm {

inline constexpr size_t kMaxConnections = 65536;
inline constexpr uint32_t kReplySocket = UINT32_MAX;  // the process's own socket, which is no listener's

struct Transmit {
  Path path;
  std::vector<uint8_t> bytes;
};

// Where a datagram came in.
struct Arrival {
  uint32_t socket = kReplySocket;
  Address from;
  Address to;
};

class Endpoint final : public Output {
 public:
  // `key`: at random, for cookies and numbers.
  explicit Endpoint(const Key& key) : cookies_(key), numbers_(key) {}

  // A client's connection to a listener; `request`: type (kSidrReq for datagrams), port space, port, parameters and
  // private data. 0: too many.
  uint64_t connect(uint64_t now, const Address& listener, const Address& local, const Message& request);
  // Requests of that type for that port space that arrive by the socket become kRequest events, `backlog` of them until
  // on_request_taken().
  void listen(uint32_t socket, uint64_t listener, Type request, uint16_t port_space, uint32_t backlog);
  void stop_listening(uint64_t listener);
  void on_request_taken(uint64_t listener);
  // Null: unknown. The pointer is valid until the next call of the endpoint.
  const Connection* find(uint64_t connection) const;
  // Calls a command of Connection; `Result()` for an unknown one.
  template <typename Command>
  bool command(uint64_t connection, const Command& what) {
    const Checked checked(this);
    const auto it = connections_.find(connection);
    if (it == connections_.end()) return false;
    const bool done = what(it->second.get());
    update(it->second.get());
    return done;
  }

  void on_datagram(uint64_t now, const Arrival& arrival, const uint8_t* bytes, size_t size);
  // The network reports that this datagram, one of ours, found no socket.
  void on_refused(uint64_t now, const uint8_t* bytes, size_t size);
  void on_timeout(uint64_t now);
  uint64_t deadline() const { return timers_.empty() ? kNever : timers_.begin()->first; }

  std::optional<Transmit> poll_transmit();
  std::optional<Event> poll_event();

  size_t connections() const { return connections_.size(); }
  size_t half_open() const { return half_open_.total(); }
  size_t repeating() const { return repeating_.size(); }
  bool disconnecting() const;                    // some connection waits for its DREP
  uint64_t dropped() const { return dropped_; }  // datagrams
  void check() const;

 private:
  using Deadlines = std::set<std::pair<uint64_t, uint64_t>>;  // time, number of a connection
  struct Listener {
    uint64_t id = 0;
    Type request = Type::kReq;
    uint16_t port_space = 0;
    uint32_t room = 0;
  };
  using ClientKey = std::pair<std::pair<std::array<uint8_t, 16>, uint16_t>, uint64_t>;  // address, port, number
  struct Entry {
    uint64_t deadline = kNever;
    uint64_t evictable_from = kNever;
    uint64_t repeats_until = kNever;
    bool half_open = false;
  };

  void send(const Path& path, const Message& message) override;
  void raise(const Event& event) override { events_.push_back(event); }
  void on_unknown(uint64_t now, const Arrival& arrival, const Message& message);
  void on_req(uint64_t now, const Arrival& arrival, const Message& message);
  bool has_room(const Listener& listener, const Address& client) const;
  bool make_room(uint64_t now, const Listener& listener, const Address& client);
  bool evict(uint64_t now, const Address* of_host);
  Connection* addressed(const Arrival& arrival, const Message& message);
  void answer(const Arrival& arrival, Type type, const Message& to, uint64_t cookie);
  Connection* add(std::unique_ptr<Connection> connection);
  void update(Connection* connection);  // timer, counts, end
  static void reschedule(Deadlines* deadlines, uint64_t number, uint64_t* at, uint64_t to);
  void count_half_open(const Connection& connection, Entry* entry);
  void count_repeating(const Connection& connection, Entry* entry);
  uint64_t new_number();
  static ClientKey client_key(const Address& address, uint64_t number) { return {{address.ip, address.port}, number}; }

  const Cookies cookies_;
  ConnectionNumbers numbers_;
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections_;
  std::unordered_map<uint64_t, Entry> entries_;
  std::map<ClientKey, uint64_t> servers_;  // connections of servers, by their client
  std::multimap<uint32_t, Listener> listeners_;
  Deadlines timers_;
  Deadlines evictable_;  // accepted, without an answer: from when
  HalfOpenCount half_open_;
  RepeatingServers repeating_;
  std::deque<Transmit> transmits_;
  std::deque<Event> events_;
  uint64_t dropped_ = 0;
  mutable InvariantPace pace_;
};

}  // namespace mrc::shim::cm
