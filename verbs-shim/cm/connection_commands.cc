// What the application, and the endpoint on its behalf, does with a connection.
#include <algorithm>

#include "cm/connection.h"

namespace mrc::shim::cm {

bool Connection::accept(uint64_t now, const Parameters& parameters, const PrivateData& data) {
  if (state_ != State::kReqReceived || is_datagram()) return false;
  own_ = parameters;
  own_.mtu = std::min(parameters.mtu, peer_parameters_.mtu);
  peer_parameters_.mtu = own_.mtu;
  answer_ = Message{};
  answer_.parameters = own_;
  answer_.private_data = data;
  answer_due_ = now + kAnswerTime;
  await(now, State::kRepSent);
  return true;
}

bool Connection::confirm(uint64_t now) {
  if (state_ != State::kRepReceived) return false;
  enter(now, State::kEstablished, kPingInterval);
  send(Type::kRtu);
  return true;
}

void Connection::establish(uint64_t now) {
  if (state_ != State::kRepSent) return;
  enter(now, State::kEstablished, kPingInterval);
  raise(Event::Type::kEstablished);
}

bool Connection::answer(uint64_t now, const Message& sidr_rep) {
  if (state_ != State::kReqReceived || !is_datagram()) return false;
  answer_ = sidr_rep;
  send(Type::kSidrRep);
  enter(now, State::kAnswered, kAnswerRepeatTime);
  return true;
}

bool Connection::reject(uint64_t now, uint16_t reason, const PrivateData& data) {
  if (is_datagram()) {
    Message refusal;
    refusal.status = kSidrReject;
    refusal.private_data = data;
    return answer(now, refusal);
  }
  if (state_ != State::kReqReceived && state_ != State::kRepReceived && state_ != State::kRepSent) return false;
  send_rej(reason, data);
  enter(now, State::kRejected, kAnswerRepeatTime);
  return true;
}

bool Connection::disconnect(uint64_t now) {
  switch (state_) {
    case State::kEstablished:
    case State::kRepSent:
      await(now, State::kDreqSent);
      return true;
    case State::kDreqSent:
    case State::kTimewait:
      return true;
    default:
      return false;
  }
}

void Connection::abandon(uint64_t now) {
  abandoned_ = true;
  switch (state_) {
    case State::kReqSent:
      if (!is_datagram()) send_rej(kReasonTimeout, {});
      [[fallthrough]];
    case State::kHello:
    case State::kResolved:
      close();
      return;
    case State::kReqReceived:
    case State::kRepReceived:
    case State::kRepSent:
      reject(now, kReasonConsumer, {});
      return;
    case State::kEstablished:
      disconnect(now);
      return;
    default:
      return;
  }
}

}  // namespace mrc::shim::cm
