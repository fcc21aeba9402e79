// Set-up of a connection; its operation is in connection_run.cc.
#include "connection.h"

#include <cerrno>
#include <cstring>

#include "log.h"
#include "memory.h"

namespace mrc::nccl {

Connection::Connection(std::shared_ptr<Context> context, int number, int traffic_class, std::string peer, Role role,
                       Lanes::Depth depth)
    : context_(std::move(context)),
      number_(number),
      traffic_class_(traffic_class),
      peer_(std::move(peer)),
      role_(role),
      api_(process().api),
      lanes_(api_, process().devices, number, depth),
      monitor_(std::chrono::milliseconds(process().settings.peer_timeout_ms),
               std::chrono::seconds(process().settings.keepalive_s)) {}

ncclResult_t Connection::create(int lanes) {
  control_ = Memory::add(api_, process().devices, number_, control_memory(), control_size(),
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (control_ == nullptr)
    return fail(ncclSystemError, std::string("registering control memory: ") + std::strerror(errno));
  if (const Status created = lanes_.create(lanes, expected()); !created)
    return fail(ncclSystemError, created.error().text);
  return ncclSuccess;
}

Lanes::Expected Connection::expected() const {
  if (process().settings.hints == 0) return {};
  const auto& flows = role_ == Role::kSender ? context_->send_flows : context_->recv_flows;
  return {context_->send_peers.load(), context_->recv_peers.load(), flows.load()};
}

void Connection::describe(SetupMessage* message) const {
  *message = {};
  message->magic = kSetupMagic;
  message->version = kSetupVersion;
  message->role = role_;
  message->traffic_class = static_cast<uint16_t>(traffic_class_);
  message->control_addr = reinterpret_cast<uint64_t>(const_cast<Connection*>(this)->control_memory());
  lanes_.describe(message);
  for (int m = 0; m < message->members; ++m) message->member[m].key = control_->rkey(m);
}

ncclResult_t Connection::connect(const SetupMessage& peer) {
  if (peer.lanes != lanes_.size()) return fail(ncclRemoteError, "the two sides made different numbers of queue pairs");
  remote_control_.addr = peer.control_addr;
  for (int m = 0; m < peer.members; ++m) remote_control_.keys[m] = peer.member[m].key;
  if (const Status connected = lanes_.connect(peer, traffic_class_, process().settings); !connected)
    return fail(ncclSystemError, connected.error().text);
  started(peer);
  monitor_.start(Clock::now());
  return ncclSuccess;
}

}  // namespace mrc::nccl
