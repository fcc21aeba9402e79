// Messages, refusals and timers of a connection; its commands are in connection_commands.cc.
#include "cm/connection.h"

#include <algorithm>
#include <cerrno>

#include "invariant.h"

namespace mrc::shim::cm {

Connection::Connection(Output* out, uint64_t number, const Path& path, const Message& request)
    : out_(out), number_(number), server_(false), path_(path), state_(State::kHello), request_(request) {
  if (request_.type != Type::kSidrReq) request_.type = Type::kReq;
  request_.source = number;
  request_.destination = 0;
  own_ = request.parameters;
}

Connection::Connection(Output* out, uint64_t number, uint64_t listener, const Path& path, const Message& request)
    : out_(out),
      number_(number),
      server_(true),
      listener_(listener),
      peer_number_(request.source),
      path_(path),
      state_(State::kReqReceived),
      request_(request),
      peer_parameters_(request.parameters) {}

void Connection::start(uint64_t now) {
  if (!server_) return await(now, State::kHello);
  raise(Event::Type::kRequest, 0, &request_.private_data);
  deadline_ = now + kMraDelay;
}

void Connection::send(Type type) {
  Message m = is_request(type) ? request_ : Message{};
  if (type == Type::kRep || type == Type::kRej || type == Type::kSidrRep) m = answer_;
  m.type = type;
  m.source = number_;
  m.destination = is_request(type) || type == Type::kHello ? 0 : peer_number_;
  out_->send(path_, m);
}

void Connection::send_rej(uint16_t reason, const PrivateData& data) {
  answer_ = Message{};
  answer_.reason = reason;
  answer_.private_data = data;
  send(Type::kRej);
}

void Connection::raise(Event::Type type, int status, const PrivateData* data) {
  if (abandoned_) return;
  Event event;
  event.type = type;
  event.connection = number_;
  event.listener = listener_;
  event.status = status;
  if (data != nullptr) event.private_data = *data;
  out_->raise(event);
}

void Connection::transmit(uint64_t now) {
  deadline_ = retransmission_.next_attempt(now, number_);
  switch (state_) {
    case State::kHello:
      return send(Type::kHello);
    case State::kReqSent:
      return send(request_.type);
    case State::kRepSent:
      return send(Type::kRep);
    case State::kDreqSent:
      return send(Type::kDreq);
    default:
      return;
  }
}

void Connection::await(uint64_t now, State state) {
  state_ = state;
  retransmission_ = {};
  transmit(now);
}

void Connection::enter(uint64_t now, State state, uint64_t stay) {
  state_ = state;
  retransmission_ = {};
  deadline_ = stay == kNever ? kNever : now + stay;
}

void Connection::close() {
  state_ = State::kClosed;
  deadline_ = kNever;
}

void Connection::on_peer_alive(uint64_t now) {
  retransmission_.on_answer();
  if (state_ == State::kEstablished) deadline_ = now + kPingInterval;
}

void Connection::on_message(uint64_t now, const Address& from, const Message& m) {
  if (m.type != Type::kCookie && peer_number_ != 0 && m.source != peer_number_) return;
  // The answer to a REQ may leave the server by another socket; from then on the address is known. [CM-MSG-4]
  const bool first = !server_ && (state_ == State::kHello || state_ == State::kReqSent);
  if (!first && !(from == path_.remote) && !is_request(m.type)) return;
  on_peer_alive(now);
  switch (m.type) {
    case Type::kCookie:
      if (state_ != State::kHello) return;
      request_.cookie = m.cookie;
      return await(now, State::kReqSent);
    case Type::kReq:
    case Type::kSidrReq:
      return m.type == request_.type ? on_request_again() : void();
    case Type::kSidrRep:
      return on_sidr_rep(m);
    case Type::kMra:
      return on_mra(now);
    case Type::kRep:
      return on_rep(now, from, m);
    case Type::kRtu:
      return establish(now);
    case Type::kRej:
      return on_rej(m);
    case Type::kDreq:
      return on_dreq(now);
    case Type::kDrep:
      if (state_ == State::kEstablished || state_ == State::kDreqSent || state_ == State::kRepSent) {
        const bool lost = state_ == State::kRepSent;
        enter(now, State::kTimewait, kTimewaitTime);
        raise(lost ? Event::Type::kUnreachable : Event::Type::kDisconnected, lost ? ECONNRESET : 0);
      }
      return;
    case Type::kPing:
      establish(now);  // the client pings only when it is ready
      if (state_ == State::kEstablished || state_ == State::kDreqSent) return send(Type::kPong);
      return send(Type::kDrep);
    default:
      return;
  }
}

// The answer was lost.
void Connection::on_request_again() {
  if (!server_) return;
  if (state_ == State::kReqReceived) return send(Type::kMra);
  if (state_ == State::kRejected) return send(Type::kRej);
  if (state_ == State::kAnswered) return send(Type::kSidrRep);
  if (state_ == State::kRepSent) return send(Type::kRep);
}

void Connection::on_sidr_rep(const Message& m) {
  if (state_ != State::kReqSent || !is_datagram()) return;
  answer_ = m;
  peer_parameters_ = m.parameters;
  deadline_ = kNever;
  if (m.status == kSidrSuccess) {
    state_ = State::kResolved;
    return raise(Event::Type::kResolved, 0, &m.private_data);
  }
  state_ = State::kClosed;
  raise(Event::Type::kNotResolved, m.status, &m.private_data);
}

void Connection::on_mra(uint64_t now) {
  if (state_ != State::kReqSent && state_ != State::kRepSent) return;
  if (retransmission_.on_mra(now)) deadline_ = now + kMaxRetry;
}

void Connection::on_rep(uint64_t now, const Address& from, const Message& m) {
  if (is_datagram()) return;
  switch (state_) {
    case State::kReqSent:
      peer_number_ = m.source;
      path_.remote = from;
      peer_parameters_ = m.parameters;
      peer_parameters_.mtu = std::min(m.parameters.mtu, own_.mtu);
      enter(now, State::kRepReceived, kMraDelay);
      return raise(Event::Type::kResponse, 0, &m.private_data);
    case State::kRepReceived:
      return send(Type::kMra);
    case State::kEstablished:
      return server_ ? void() : send(Type::kRtu);
    case State::kRejected:
      return send(Type::kRej);
    default:
      return;
  }
}

void Connection::on_rej(const Message& m) {
  if (is_datagram()) return;
  switch (state_) {
    case State::kHello:
    case State::kReqSent:
    case State::kRepReceived:
    case State::kReqReceived:
    case State::kRepSent:
      close();
      return raise(Event::Type::kRejected, m.reason, &m.private_data);
    default:
      return;
  }
}

void Connection::on_dreq(uint64_t now) {
  if (state_ == State::kReqSent || state_ == State::kHello || state_ == State::kReqReceived) return;
  send(Type::kDrep);
  if (state_ == State::kRepSent) establish(now);
  if (state_ != State::kEstablished && state_ != State::kDreqSent && state_ != State::kRepReceived) return;
  enter(now, State::kTimewait, kTimewaitTime);
  raise(Event::Type::kDisconnected);
}

void Connection::on_refused(uint64_t now) {
  const uint64_t refused_for = retransmission_.on_refused(now);
  switch (state_) {
    case State::kHello:
    case State::kReqSent:
      retransmission_.restart_attempts();
      [[fallthrough]];
    case State::kRepSent:
    case State::kDreqSent:
    case State::kEstablished: {
      const bool listener = state_ == State::kHello || state_ == State::kReqSent;
      deadline_ = std::min(deadline_, now + kFirstRetry);
      if (refused_for >= (listener ? kListenerAbsent : kPeerAbsent)) fail(now, true);
      return;
    }
    default:
      return;
  }
}

// No answer, or a dead peer.
void Connection::fail(uint64_t now, bool refused) {
  switch (state_) {
    case State::kHello:
    case State::kReqSent:
    case State::kRepSent: {
      const bool closed = refused && state_ != State::kRepSent;
      if (state_ == State::kReqSent && !is_datagram()) send_rej(kReasonTimeout, {});
      close();
      if (closed && is_datagram()) return raise(Event::Type::kNotResolved, kSidrUnsupported);
      return closed ? raise(Event::Type::kRejected, kReasonInvalidService)
                    : raise(Event::Type::kUnreachable, ETIMEDOUT);
    }
    case State::kEstablished:
    case State::kDreqSent: {
      const int status = state_ == State::kDreqSent && !refused ? ETIMEDOUT : 0;
      enter(now, State::kTimewait, kTimewaitTime);
      return raise(Event::Type::kDisconnected, status);
    }
    default:
      return;
  }
}

// The client is told, or its next REQ would displace the next one.
void Connection::evict(uint64_t now) {
  send_rej(kReasonTimeout, {});
  fail(now, false);
}

void Connection::stop_repeating() {
  close();
}

void Connection::on_timeout(uint64_t now) {
  if (now < deadline_) return;
  switch (state_) {
    case State::kHello:
    case State::kReqSent:
    case State::kRepSent:
    case State::kDreqSent:
      if (retransmission_.exhausted(now)) return fail(now, false);
      return transmit(now);
    case State::kEstablished:  // [CM-GONE-1]
      deadline_ = now + (retransmission_.refused() ? kFirstRetry : kPingInterval);
      return send(Type::kPing);
    case State::kReqReceived:  // the application takes its time: the peer need not hurry [CM-RTX-2]
    case State::kRepReceived:
      deadline_ = kNever;
      return send(Type::kMra);
    case State::kTimewait:
      close();
      return raise(Event::Type::kTimewaitExit);
    case State::kRejected:
    case State::kAnswered:
      return stop_repeating();
    default:
      deadline_ = kNever;
      return;
  }
}

// Of a started one: the states of client and server, of connections and datagrams, and which of them end by time.
void Connection::check() const {
  if constexpr (!kCheckInvariants) return;
  const bool timed = deadline_ != kNever;
  switch (state_) {
    case State::kHello:
    case State::kReqSent:
      MRC_INVARIANT(!server_ && timed);
      break;
    case State::kRepReceived:
      MRC_INVARIANT(!server_ && !is_datagram());
      break;
    case State::kResolved:
      MRC_INVARIANT(!server_ && is_datagram());
      break;
    case State::kReqReceived:
      MRC_INVARIANT(server_);
      break;
    case State::kRepSent:
      MRC_INVARIANT(server_ && !is_datagram() && timed && answer_due_ != kNever);
      break;
    case State::kAnswered:
      MRC_INVARIANT(server_ && is_datagram() && timed);
      break;
    case State::kEstablished:
    case State::kDreqSent:
    case State::kTimewait:
    case State::kRejected:
      MRC_INVARIANT(!is_datagram() && timed);
      break;
    case State::kClosed:
      MRC_INVARIANT(!timed);
      break;
  }
}

}  // namespace mrc::shim::cm
