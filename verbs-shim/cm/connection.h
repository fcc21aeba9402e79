// One connection on its way from Hello to the end of its time in TIMEWAIT: a state machine without sockets, threads or
// a clock. It is called with messages, commands of the application, refusals by the network and the time, and answers
// by messages and events. Times are nanoseconds. spec/rdma_cm.md has the states.
//
// Datagrams need no connection: the client only asks which queue pair serves them (SIDR of InfiniBand). It is a
// connection here that ends with the answer: the same cookies, repetitions and limits. [CM-SIDR-1] [CM-SIDR-2]
//
// A message that must be answered is sent again after 200 ms, 400 ms, ... up to 2 s between two, until kMaxAttempts
// have had no answer. [CM-RTX-1]
#pragma once

#include "cm/message.h"
#include "cm/retransmission.h"

namespace mrc::shim::cm {

inline constexpr uint64_t kMraDelay = 25 * kMs;  // an application that decides sooner spares both hosts the MRA
inline constexpr uint64_t kPingInterval = 2000 * kMs;
inline constexpr uint64_t kTimewaitTime = 1000 * kMs;
// An accepted client may take so long to answer before it has to leave its place to others. [CM-LIM-2]
inline constexpr uint64_t kAnswerTime = 5000 * kMs;
// So long a lost REJ or SidrRep is sent again when asked for.
inline constexpr uint64_t kAnswerRepeatTime = 10'000 * kMs;
// A peer that refuses for so long, and sends nothing, has no socket. A listener may be about to open. [CM-GONE-1]
inline constexpr uint64_t kListenerAbsent = 3000 * kMs, kPeerAbsent = 1000 * kMs;

enum class State : uint8_t {
  kHello,        // client: waits for the cookie
  kReqSent,      // client: waits for the REP
  kRepReceived,  // client: its application has to confirm or reject
  kReqReceived,  // server: its application has to accept or reject
  kRepSent,      // server: waits for the RTU
  kEstablished,
  kDreqSent,
  kTimewait,
  kRejected,  // by this side: only answers
  kResolved,  // client of datagrams: has the answer
  kAnswered,  // server of datagrams: only repeats its answer
  kClosed,
};

struct Event {
  enum class Type : uint8_t {
    kRequest,      // a connection asks for listener `listener`
    kResponse,     // the peer accepts: confirm() or reject()
    kEstablished,  // at the server
    kRejected,     // status: the reason
    kResolved,     // the queue pair for datagrams is known
    kNotResolved,  // status: that of the SidrRep
    kUnreachable,  // status: an errno
    kDisconnected,
    kTimewaitExit,
  };
  Type type = Type::kRequest;
  uint64_t connection = 0;
  uint64_t listener = 0;
  int status = 0;
  PrivateData private_data{};
};

// The datagrams of a connection: their socket, source and destination.
struct Path {
  uint32_t socket = 0;
  Address local;
  Address remote;
};

// What a connection calls.
class Output {
 public:
  virtual void send(const Path& path, const Message& message) = 0;
  virtual void raise(const Event& event) = 0;

 protected:
  ~Output() = default;
};

class Connection {
 public:
  // A client's; `request` is the REQ or SidrReq without numbers and cookie.
  Connection(Output* out, uint64_t number, const Path& path, const Message& request);
  // A server's, for this REQ. Its answers leave by `path`.
  Connection(Output* out, uint64_t number, uint64_t listener, const Path& path, const Message& request);

  void start(uint64_t now);
  void on_message(uint64_t now, const Address& from, const Message& message);
  // A datagram of this connection found no socket at the peer.
  void on_refused(uint64_t now);
  void on_timeout(uint64_t now);
  uint64_t deadline() const { return deadline_; }

  // Commands: false where the state does not allow them.
  bool accept(uint64_t now, const Parameters& parameters, const PrivateData& data);  // server
  bool confirm(uint64_t now);                                                        // client, after kResponse
  bool reject(uint64_t now, uint16_t reason, const PrivateData& data);
  bool answer(uint64_t now, const Message& sidr_rep);  // server of datagrams
  bool disconnect(uint64_t now);                       // true in TIMEWAIT, too
  void establish(uint64_t now);                        // data has arrived before the RTU
  // The application gives the connection up: the peer is notified, and no event is raised any more.
  void abandon(uint64_t now);
  // The half-open connection makes room for another client: as if no attempt had been answered. [CM-LIM-2]
  void evict(uint64_t now);

  State state() const { return state_; }
  bool half_open() const { return state_ == State::kReqReceived || state_ == State::kRepSent; }
  // When an accepted client that has not answered has to leave its place; kNever: not at all.
  uint64_t evictable_from() const { return state_ == State::kRepSent ? answer_due_ : kNever; }
  // Of a server that only repeats its REJ or SidrRep: when that ends. kNever: it is not one. [CM-LIM-3]
  uint64_t repeats_until() const {
    return server_ && (state_ == State::kRejected || state_ == State::kAnswered) ? deadline_ : kNever;
  }
  void stop_repeating();  // the answer of such a server
  uint64_t number() const { return number_; }
  uint64_t peer_number() const { return peer_number_; }
  uint64_t listener() const { return listener_; }
  const Path& path() const { return path_; }
  bool is_server() const { return server_; }
  uint16_t client_port() const { return request_.port; }
  uint16_t port_space() const { return request_.port_space; }
  bool is_datagram() const { return request_.type == Type::kSidrReq; }
  uint32_t qkey() const { return answer_.qkey; }
  const Parameters& own() const { return own_; }
  const Parameters& peer() const { return peer_parameters_; }
  void check() const;

 private:
  void send(Type type);
  void send_rej(uint16_t reason, const PrivateData& data);
  void transmit(uint64_t now);  // what the state has to repeat
  void await(uint64_t now, State state);
  void enter(uint64_t now, State state, uint64_t stay);
  void raise(Event::Type type, int status = 0, const PrivateData* data = nullptr);
  void on_rep(uint64_t now, const Address& from, const Message& message);
  void on_rej(const Message& message);
  void on_request_again();
  void on_sidr_rep(const Message& message);
  void on_dreq(uint64_t now);
  void on_mra(uint64_t now);
  void on_peer_alive(uint64_t now);
  void fail(uint64_t now, bool refused);
  void close();

  Output* const out_;
  const uint64_t number_;
  const bool server_;
  const uint64_t listener_ = 0;
  uint64_t peer_number_ = 0;  // the other side's
  Path path_;
  State state_;
  bool abandoned_ = false;
  Retransmission retransmission_;  // since the state was entered
  uint64_t answer_due_ = kNever;
  uint64_t deadline_ = kNever;
  Message request_;
  Message answer_;  // the REP, REJ or SidrRep: of a server, or the one that a client of datagrams has got
  Parameters own_, peer_parameters_;
};

}  // namespace mrc::shim::cm
