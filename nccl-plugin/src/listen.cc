#include "listen.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "log.h"

namespace mrc::nccl {

std::unique_ptr<Listener> Listener::make(const std::shared_ptr<Context>& context, int number, void* handle) {
  const Settings& settings = context->process->settings;
  const std::vector<Interface> all = list_interfaces();
  const Interface* interface = choose_interface(all, settings);
  if (interface == nullptr) {
    NET_WARN("No interface for set-up sockets among %zu addresses (NCCL_SOCKET_IFNAME=%s NCCL_SOCKET_FAMILY=%s)",
             all.size(), settings.socket_ifname.c_str(), settings.socket_family.c_str());
    return nullptr;
  }
  std::unique_ptr<Listener> listener(new Listener(context, number));
  SocketAddress address = interface->address;
  (address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port) = 0;
  {  // no longer: end_all() takes the two locks in the other order
    const MutexLock lock(listener->mutex_);
    const Result<SocketAddress> bound = listener->socket_.listen_at(address);
    if (!bound) {
      NET_WARN("%s (%s)", bound.error().text.c_str(), interface->name.c_str());
      return nullptr;
    }
    address = *bound;
  }
  if (getrandom(&listener->cookie_, sizeof listener->cookie_, 0) != sizeof listener->cookie_) {
    NET_WARN("No random numbers: %s", std::strerror(errno));
    return nullptr;
  }
  Handle made{};
  made.magic = kHandleMagic;
  made.version = kSetupVersion;
  made.members = static_cast<uint16_t>(context->process->devices.virtual_device(number).members.size());
  made.cookie = listener->cookie_;
  made.address = address;
  std::memset(handle, 0, NCCL_NET_HANDLE_MAXSIZE);
  std::memcpy(handle, &made, sizeof made);
  context->listeners.add(listener.get());
  return listener;
}

Listener::~Listener() {
  std::shared_ptr<Context> context;
  {
    const MutexLock lock(mutex_);
    context = context_;
  }
  if (context != nullptr) context->listeners.remove(this);
}

void Listener::end() {
  const MutexLock lock(mutex_);
  NET_INFO("A listener of a communicator that has ended was left open: closed");
  socket_.close();
  candidates_.clear();
  context_.reset();
}

ncclResult_t Listener::accept(std::unique_ptr<RecvComm>* out) {
  const MutexLock lock(mutex_);
  if (context_ == nullptr) {
    NET_WARN("Accepting for a communicator that has ended");
    return ncclInvalidUsage;
  }
  ncclResult_t result = take_candidates();
  for (auto it = candidates_.begin(); it != candidates_.end() && result == ncclSuccess && *out == nullptr;) {
    result = advance(*it);
    if (it->at == At::kDone) {
      it->comm->watch(std::move(it->socket));
      *out = std::move(it->comm);
    }
    it = it->at == At::kDone || it->at == At::kDropped ? candidates_.erase(it) : std::next(it);
  }
  return result;
}

ncclResult_t Listener::take_candidates() {
  for (;;) {
    Candidate fresh;
    SocketAddress from;
    const Io io = socket_.accept_from(&fresh.socket, &from);
    if (io == Io::kFailed) {
      NET_WARN("Accepting a connection: %s", std::strerror(errno));
      return ncclSystemError;
    }
    if (io != Io::kDone) return ncclSuccess;
    fresh.peer = from.text();
    fresh.since = Clock::now();
    if (candidates_.size() >= kMaxCandidates)
      if (const ncclResult_t result = make_room(); result != ncclSuccess) return result;
    candidates_.push_back(std::move(fresh));
  }
}

// Foreign programs that hold their connections open must not block the peer: the connection with the longest silence is
// closed. It may have sent data since the last check, and be the peer.
ncclResult_t Listener::make_room() {
  for (auto it = candidates_.begin(); it != candidates_.end(); ++it) {
    if (it->at != At::kRequest) continue;
    const ncclResult_t result = receive_request(*it);
    if (it->at == At::kRequest) drop(*it, "too many other connections wait to be identified");
    const bool gone = it->at == At::kDropped;
    if (gone) candidates_.erase(it);
    if (gone || result != ncclSuccess) return result;
  }
  return ncclSuccess;
}

void Listener::drop(Candidate& candidate, const std::string& why) {
  NET_INFO("Dropped %s, which connected to a listening port: %s", candidate.peer.c_str(), why.c_str());
  candidate.at = At::kDropped;
}

// The end of a connection during a step: ignored for a foreign program, an error for the peer.
ncclResult_t Listener::interrupted(Candidate& candidate, Io io) {
  if (io == Io::kAgain) return ncclSuccess;
  const std::string why = io == Io::kClosed ? "closed the connection during set-up" : std::strerror(errno);
  if (candidate.at == At::kRequest) {
    drop(candidate, why);
    return ncclSuccess;
  }
  candidate.at = At::kDropped;
  NET_WARN("Accepting from %s: %s", candidate.peer.c_str(), why.c_str());
  return ncclRemoteError;
}

// A candidate whose SetupMessage is missing or incomplete stays in kRequest.
ncclResult_t Listener::receive_request(Candidate& c) {
  const Io io = c.socket.receive_all(&c.request, sizeof c.request, &c.moved);
  // An incomplete SetupMessage is checked as well: a foreign program is dropped at its first bytes.
  if (c.moved >= sizeof c.request.magic && c.request.magic != kSetupMagic) {
    drop(c, "it does not speak this protocol");
    return ncclSuccess;
  }
  if (io == Io::kDone) {
    c.moved = 0;
    return on_request(c);
  }
  if (io == Io::kAgain &&
      Clock::now() - c.since > std::chrono::milliseconds(context_->process->settings.identification_timeout_ms)) {
    drop(c, "it has not identified itself within NCCL_MRC_HELLO_TIMEOUT_MS");
    return ncclSuccess;
  }
  return interrupted(c, io);
}

ncclResult_t Listener::advance(Candidate& c) {
  if (c.at == At::kRequest) {
    const ncclResult_t result = receive_request(c);
    if (result != ncclSuccess || c.at == At::kRequest || c.at == At::kDropped) return result;
  }
  if (c.at == At::kAnswer) {
    const Io io = c.socket.send_all(&c.answer, sizeof c.answer, &c.moved);
    if (io != Io::kDone) return interrupted(c, io);
    c.moved = 0;
    c.at = At::kReady;
  }
  uint8_t ready = 0;
  const Io io = c.socket.receive_all(&ready, 1, &c.moved);
  if (io == Io::kDone && ready == kReadyByte) {
    c.at = At::kDone;
  } else if (io == Io::kDone) {
    c.at = At::kDropped;
    NET_WARN("Accepting from %s: it breaks the protocol of the set-up", c.peer.c_str());
    return ncclRemoteError;
  } else if (io == Io::kAgain &&
             Clock::now() - c.since > std::chrono::seconds(context_->process->settings.setup_timeout_s)) {
    c.at = At::kDropped;
    NET_WARN("Accepting from %s: it is silent for longer than NCCL_MRC_SETUP_TIMEOUT", c.peer.c_str());
    return ncclRemoteError;
  } else {
    return interrupted(c, io);
  }
  return ncclSuccess;
}

ncclResult_t Listener::on_request(Candidate& c) {
  const char* fault = setup_fault(c.request, Role::kSender);
  if (fault == nullptr && c.request.cookie != cookie_) fault = "it lacks the cookie of the handle";
  if (fault != nullptr) {
    drop(c, fault);
    return ncclSuccess;
  }
  c.at = At::kAnswer;
  c.comm = std::make_unique<RecvComm>(context_, number_, c.request.traffic_class, c.peer);
  ncclResult_t result = c.comm->create(c.request.lanes);
  if (result == ncclSuccess) result = c.comm->connect(c.request);
  if (result != ncclSuccess) {
    c.at = At::kDropped;
    return result;
  }
  c.comm->describe(&c.answer);
  c.answer.cookie = cookie_;
  return ncclSuccess;
}

}  // namespace mrc::nccl
