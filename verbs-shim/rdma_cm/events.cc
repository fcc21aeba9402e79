// Events: from the endpoint's to those that librdmacm takes, in the kernel's terms.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "interruption.h"
#include "objects/context.h"
#include "rdma_cm/addresses.h"
#include "rdma_cm/service.h"
#include "rdma_cm/user_memory.h"

namespace mrc::shim::rdma_cm {

namespace {

void put_private(rdma_ucm_conn_param* out, const cm::PrivateData& data, size_t shown) {
  std::copy_n(data.bytes.begin(), data.size, out->private_data);
  out->private_data_len = static_cast<uint8_t>(shown);  // padded, as by the kernel [CM-MSG-2]
}

void put_parameters(rdma_ucm_conn_param* out, const cm::Parameters& peer) {
  out->qp_num = peer.qpn;
  out->responder_resources = peer.initiator_depth;  // as this side has to answer
  out->initiator_depth = peer.responder_resources;
  out->flow_control = peer.flow_control ? 1 : 0;
  out->retry_count = peer.retry_count;
  out->rnr_retry_count = peer.rnr_retry_count;
  out->srq = peer.srq ? 1 : 0;
}

// As the kernel reports datagrams: a request has private data only.
void put_datagram(rdma_ucm_ud_param* out, const Id& id, const cm::Event& from, size_t shown) {
  std::copy_n(from.private_data.bytes.begin(), from.private_data.size, out->private_data);
  out->private_data_len = static_cast<uint8_t>(shown);
  if (from.type != cm::Event::Type::kResolved) return;
  out->qp_num = id.qp.peer.qpn;
  out->qkey = id.qp.qkey;
  put_peer_address(id, &out->ah_attr);
}

}  // namespace

void Channel::push(const QueuedEvent& event) {
  events.push_back(event);
  const char byte = 0;
  if (::write(write_end.get(), &byte, 1) < 0) return;  // its readers are gone
}

void Service::queue(Id* id, EventKind kind, int status, const cm::Event* from, uint32_t child) {
  if (id->uid == 0 && child == 0) return;  // not accepted yet: accepting it fails
  Channel* const channel = id->channel;
  if (channel->full()) return;
  QueuedEvent event;
  event.of = id->handle;
  event.child = child;
  rdma_ucm_event_resp& answer = event.answer;
  answer.uid = id->uid;
  answer.id = child != 0 ? child : id->handle;
  answer.event = kind;
  answer.status = static_cast<uint32_t>(status);
  if (id->datagram && from != nullptr) {
    const bool request = kind == kConnectRequest;
    put_datagram(&answer.param.ud, *id, *from, request ? cm::kSidrReqPrivate : cm::kSidrRepPrivate);
  } else if (kind == kConnectRequest) {
    put_parameters(&answer.param.conn, ids_.at(child)->qp.peer);
    put_private(&answer.param.conn, from->private_data, cm::kReqPrivate);
  } else if (kind == kConnectResponse) {
    put_parameters(&answer.param.conn, id->qp.peer);
    put_private(&answer.param.conn, from->private_data, cm::kRepPrivate);
  } else if (kind == kRejected && from->private_data.size > 0) {
    put_private(&answer.param.conn, from->private_data, cm::kRejPrivate);
  }
  channel->push(event);
}

void Service::on_request(const cm::Event& event) {
  const auto listener = ids_.find(static_cast<uint32_t>(event.listener));
  const cm::Connection* const connection = endpoint_.find(event.connection);
  if (listener == ids_.end() || connection == nullptr) {
    endpoint_.command(event.connection, [](cm::Connection* c) {
      c->abandon(Context::now());
      return true;
    });
    return;
  }
  Id* const of = listener->second.get();
  Id* const id = add_id(of->channel);
  id->binding.port_space = of->binding.port_space;
  id->datagram = of->datagram;
  id->state = Id::State::kConnection;
  id->connection = event.connection;
  id->binding.address = connection->path().local;
  id->binding.address.port = of->binding.address.port;
  id->remote = connection->path().remote;
  id->remote.port = connection->client_port();
  id->qp.peer = connection->peer();
  id->qp.peer_known = true;
  id->qp.retry_count = id->qp.peer.retry_count;
  id->qp.rnr_retry_count = id->qp.peer.rnr_retry_count;
  id->qp.responder_resources = id->qp.peer.initiator_depth;
  id->qp.initiator_depth = id->qp.peer.responder_resources;
  id->port = ports_.port_for(id->binding.address);
  id->qp.own = parameters_of(*id, {});  // librdmacm moves its queue pair to RTS before it accepts: the PSN is final
  id_of_connection_[event.connection] = id->handle;
  queue(of, kConnectRequest, 0, &event, id->handle);
}

void Service::on_event(const cm::Event& event) {
  using Type = cm::Event::Type;
  if (event.type == Type::kRequest) return on_request(event);
  const auto of = id_of_connection_.find(event.connection);
  if (of == id_of_connection_.end()) return;
  Id* const id = ids_.at(of->second).get();
  const cm::Connection* const connection = endpoint_.find(event.connection);
  switch (event.type) {
    case Type::kResponse:
      if (connection == nullptr) return;
      id->qp.peer = connection->peer();
      id->qp.peer_known = true;
      id->qp.responder_resources = id->qp.peer.initiator_depth;
      id->qp.initiator_depth = id->qp.peer.responder_resources;
      id->qp.rnr_retry_count = id->qp.peer.rnr_retry_count;
      return queue(id, kConnectResponse, 0, &event);
    case Type::kResolved:
      if (connection == nullptr) return;
      id->qp.peer = connection->peer();
      id->qp.peer_known = true;
      id->qp.qkey = connection->qkey();
      return queue(id, kEstablished, 0, &event);
    case Type::kNotResolved:
      return queue(id, kUnreachable, event.status, &event);
    case Type::kEstablished:
      return queue(id, kEstablished, 0, &event);
    case Type::kRejected:
      return queue(id, kRejected, event.status, &event);
    case Type::kUnreachable:
      return queue(id, kUnreachable, -event.status, &event);
    case Type::kDisconnected:
      return queue(id, kDisconnected, -event.status, &event);
    case Type::kTimewaitExit:
      return queue(id, kTimewaitExit, 0, &event);
    default:
      return;
  }
}

void Channel::drop_stale(int held) {
  char byte;
  for (; stale > 0; --stale)
    if (read(held, &byte, 1) < 0) return;
}

// Blocks unless the descriptor does not. A thread that waits goes on waiting when others close theirs. rping ends its
// process when a waiting thread gets an error. The held file is closed also where the thread is cancelled. [CM-FD-2]
int Service::get_event(int fd, const struct stat& file, const uint8_t* in, size_t size, uint16_t out_size) {
  rdma_ucm_get_event command;
  if (size < sizeof command) return EINVAL;
  std::memcpy(&command, in, sizeof command);
  if (out_size < offsetof(rdma_ucm_event_resp, reserved)) return ENOSPC;
  const size_t room = std::min<size_t>(out_size, sizeof(rdma_ucm_event_resp));
  const HeldFile held(fd);
  if (held.fd() < 0) return errno;
  // Closed by others, and used for something else, since the channel was found by it.
  if (!held.is(file.st_dev, file.st_ino)) return EBADF;
  for (;;) {
    if (const int error = take_event(held.fd(), file, command.response, room); error != EAGAIN) return error;
    if ((fcntl(held.fd(), F_GETFL) & O_NONBLOCK) != 0) return EAGAIN;
    pollfd waits = {held.fd(), POLLIN, 0};
    if (ppoll(&waits, 1, nullptr, nullptr) < 0 && environment::ends_wait(errno)) return errno;
  }
}

// EAGAIN: there is none. The byte is taken with the event, under the lock, so that there are always as many of both.
int Service::take_event(int held, const struct stat& file, uint64_t out, size_t size) {
  const MutexLock lock(mutex_);
  Channel* const channel = channel_of(file.st_dev, file.st_ino);
  if (channel == nullptr) return EBADF;
  channel->drop_stale(held);
  if (channel->events.empty()) return EAGAIN;
  const QueuedEvent event = channel->events.front();
  if (const int error = copy_to_user(out, &event.answer, size)) return error;  // the event stays, as in the kernel
  channel->events.pop_front();
  char byte;
  if (read(held, &byte, 1) < 0) return errno;
  // librdmacm waits at the end of an id for all its events, and at that of a membership for those of it.
  if (const auto id = ids_.find(event.of); id != ids_.end()) ++id->second->events_reported;
  if (const auto joined = multicasts_.find(event.multicast); joined != multicasts_.end())
    ++joined->second.events_reported;
  if (event.child != 0) endpoint_.on_request_taken(event.of);
  return 0;
}

}  // namespace mrc::shim::rdma_cm
