// Ids: making, binding, resolving and destroying them, their sockets and options. Commands as the kernel's of that
// name: 0 or an errno. [CM-DEV-3] [CM-DEV-4]
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "objects/context.h"
#include "rdma_cm/addresses.h"
#include "rdma_cm/bindings.h"
#include "rdma_cm/service.h"
#include "rdma_cm/user_memory.h"

namespace mrc::shim::rdma_cm {

namespace {

constexpr size_t kMaxIds = 65536;

}  // namespace

Id* Service::add_id(Channel* channel) {
  auto id = std::make_unique<Id>();
  id->handle = ids_.new_handle();
  id->channel = channel;
  const uint32_t handle = id->handle;
  return ids_.emplace(handle, std::move(id)).get();
}

Id* Service::find(uint32_t handle, Channel* channel, int* error) {
  const auto it = ids_.find(handle);
  *error = it == ids_.end() ? ENOENT : it->second->channel != channel ? EINVAL : 0;
  return *error == 0 ? it->second.get() : nullptr;
}

void Service::destroy(Id* id) {
  const uint32_t handle = id->handle;
  endpoint_.stop_listening(handle);
  if (id->connection != 0) {
    endpoint_.command(id->connection, [](cm::Connection* c) {
      c->abandon(Context::now());
      return true;
    });
    id_of_connection_.erase(id->connection);
  }
  for (auto it = multicasts_.begin(); it != multicasts_.end();)
    it = it->second.of == handle ? multicasts_.erase(it) : std::next(it);
  // Its events go with it, and the connections that they announce.
  std::vector<uint32_t> children;
  auto& events = id->channel->events;
  for (auto it = events.begin(); it != events.end();) {
    if (it->of != handle) {
      ++it;
      continue;
    }
    if (it->child != 0) children.push_back(it->child);
    it = events.erase(it);
    ++id->channel->stale;
  }
  release_socket(id);
  ids_.erase(handle);
  for (const uint32_t child : children)
    if (const auto it = ids_.find(child); it != ids_.end()) destroy(it->second.get());
}

int Service::create_id(const Call& call, const rdma_ucm_create_id& in) {
  if (in.ps == RDMA_PS_IPOIB) return EPROTONOSUPPORT;
  if (in.ps != RDMA_PS_TCP && in.ps != RDMA_PS_IB && in.ps != RDMA_PS_UDP) return EINVAL;
  if (ids_.size() >= kMaxIds) return ENOMEM;
  Id* const id = add_id(call.channel);
  id->uid = in.uid;
  id->binding.port_space = in.ps;
  id->datagram = in.ps == RDMA_PS_UDP || (in.ps == RDMA_PS_IB && in.qp_type == IBV_QPT_UD);
  const int error = respond(in.response, call.out_size, rdma_ucm_create_id_resp{id->handle});
  if (error != 0) destroy(id);
  return error;
}

int Service::destroy_id(const Call& call, const rdma_ucm_destroy_id& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  const rdma_ucm_destroy_id_resp answer = {id->events_reported};
  destroy(id);
  drop_stale(call.fd, call.channel);
  return respond(in.response, call.out_size, answer);
}

Socket* Service::reply_socket(bool ipv4) {
  std::shared_ptr<Socket>& socket = reply_[ipv4 ? 1 : 0];
  if (socket != nullptr) return socket.get();
  cm::Address any = loopback(ipv4);
  std::fill(any.ip.begin() + 12, any.ip.end(), uint8_t{0});
  socket = Socket::bind(any, {.ipv6_only = true}, cm::kReplySocket);
  if (socket != nullptr && !watch(*socket, kReply, ipv4 ? 1 : 0)) socket.reset();
  return socket.get();
}

// Another id of this process has the port. [CM-PORT-1]
bool Service::is_taken(const Id& wanted, bool reusable) const {
  Binding asked = wanted.binding;
  asked.reusable = reusable;
  return std::any_of(ids_.begin(), ids_.end(), [&](const auto& entry) {
    const Id& id = *entry.second;
    return &id != &wanted && id.bound && conflicts(asked, id.binding);
  });
}

// A socket of its own; a port of 0 becomes that of the socket.
int Service::open_socket(Id* id) {
  const uint32_t number = sockets_.new_handle();
  auto opened = Socket::bind(id->binding.address, {id->binding.family_only, id->binding.reusable}, number);
  if (opened == nullptr || !watch(*opened, kSocket, number)) return errno;
  id->binding.address.port = opened->address().port;
  id->socket = std::move(opened);
  sockets_.emplace(number, id->socket);
  return 0;
}

void Service::release_socket(Id* id) {
  if (id->socket.use_count() == 1) {  // no other id has it
    poller_.remove(id->socket->fd());
    sockets_.erase(id->socket->number());
  }
  id->socket.reset();
}

// Port spaces have ports of their own, but one socket, which ids of one process share. An id for datagrams is bound
// without one where something else has the number: a datagram rsocket gives its id that of its own UDP socket, and
// never listens. [CM-DEV-4]
int Service::bind_socket(Id* id) {
  if (id->binding.address.port != 0) {
    if (is_taken(*id, id->binding.reusable)) return EADDRINUSE;
    for (const auto& [other, entry] : sockets_) {
      auto open = entry.lock();
      if (open == nullptr || !(open->address() == id->binding.address)) continue;
      if (!id->binding.reusable) open->set_reusable(false);
      id->socket = std::move(open);
      return 0;
    }
  }
  const int error = open_socket(id);
  return error == EADDRINUSE && id->datagram ? 0 : error;
}

// A listener has its port alone from now on. A socket that could be shared with other processes is bound again, so that
// one which shares it is found. [CM-PORT-2]
int Service::claim_port(Id* id) {
  if (id->socket == nullptr) return EADDRINUSE;
  if (!id->binding.reusable) return 0;
  if (is_taken(*id, false)) return EADDRINUSE;
  id->binding.reusable = false;
  if (id->socket.use_count() > 1) {  // with an id of another port space
    id->socket->set_reusable(false);
    return 0;
  }
  release_socket(id);
  const int error = open_socket(id);
  if (error == 0) return 0;
  id->binding.reusable = true;
  open_socket(id);  // where that fails, too, the id has lost its port
  return error;
}

// Allowed as long as the id does not listen, and forbidden only before it is bound, as by the kernel. [CM-PORT-2]
int Service::set_reuse_address(Id* id, bool allowed) {
  if (allowed ? id->state == Id::State::kListening : id->state != Id::State::kIdle) return EINVAL;
  id->binding.reusable = allowed;
  if (id->socket.use_count() == 1) id->socket->set_reusable(allowed);
  return 0;
}

int Service::bind(Id* id, const cm::Address& address) {
  if (id->state != Id::State::kIdle) return EINVAL;
  id->binding.address = address;
  if (const int error = bind_socket(id)) {
    id->binding.address = {};
    return error;
  }
  id->bound = true;
  if (!is_any(address)) id->port = ports_.port_for(address);
  id->state = Id::State::kBound;
  return 0;
}

int Service::bind_ip(const Call& call, const rdma_ucm_bind_ip& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  const auto address = from_sockaddr(&in.addr, sizeof in.addr);
  return address ? bind(id, *address) : EAFNOSUPPORT;
}

int Service::bind_any(const Call& call, const rdma_ucm_bind& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  const auto address = from_sockaddr(&in.addr, std::min<size_t>(in.addr_size, sizeof in.addr));
  return address ? bind(id, *address) : EAFNOSUPPORT;  // InfiniBand's too: librdmacm then uses IP
}

int Service::resolve(Id* id, const void* source, size_t source_size, const void* target, size_t target_size) {
  if (id->state != Id::State::kIdle && id->state != Id::State::kBound) return EINVAL;
  auto remote = from_sockaddr(target, target_size);
  if (!remote) return EAFNOSUPPORT;
  const auto wanted = from_sockaddr(source, source_size);
  if (id->state == Id::State::kIdle && wanted && (!is_any(*wanted) || wanted->port != 0)) {
    if (const int error = bind(id, *wanted)) return error;
  }
  if (is_any(*remote)) {
    const uint16_t port = remote->port;
    remote = loopback(is_ipv4(*remote));
    remote->port = port;
  }
  if (const int error = find_route(*remote, &id->binding.address)) return error;
  id->remote = *remote;
  if (id->binding.address.port == 0)
    if (const Socket* const socket = reply_socket(is_ipv4(*remote)))
      id->binding.address.port = client_ports_.next(socket->address().port);
  id->port = ports_.port_for(id->binding.address);
  if (id->port.device == nullptr) {
    queue(id, kAddrError, -ENODEV);
    return 0;
  }
  id->state = Id::State::kAddressResolved;
  queue(id, kAddrResolved, 0);
  return 0;
}

int Service::resolve_ip(const Call& call, const rdma_ucm_resolve_ip& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  return resolve(id, &in.src_addr, sizeof in.src_addr, &in.dst_addr, sizeof in.dst_addr);
}

int Service::resolve_addr(const Call& call, const rdma_ucm_resolve_addr& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  return resolve(id, &in.src_addr, std::min<size_t>(in.src_size, sizeof in.src_addr), &in.dst_addr,
                 std::min<size_t>(in.dst_size, sizeof in.dst_addr));
}

int Service::resolve_route(const Call& call, const rdma_ucm_resolve_route& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  if (id->state != Id::State::kAddressResolved) return EINVAL;
  id->state = Id::State::kRouteResolved;
  queue(id, kRouteResolved, 0);
  return 0;
}

int Service::set_option(const Call& call, const rdma_ucm_set_option& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  int value = 0;
  if (in.optlen > 0 && (error = copy_from_user(&value, in.optval, std::min<size_t>(in.optlen, sizeof value))) != 0)
    return error;
  if (in.level == RDMA_OPTION_IB && in.optname == RDMA_OPTION_IB_PATH) {
    if (id->state != Id::State::kAddressResolved) return EINVAL;
    id->state = Id::State::kRouteResolved;  // there is one path to verbs
    queue(id, kRouteResolved, 0);
    return 0;
  }
  if (in.level != RDMA_OPTION_ID) return ENOSYS;
  switch (in.optname) {
    case RDMA_OPTION_ID_REUSEADDR:
      return in.optlen == sizeof value ? set_reuse_address(id, value != 0) : EINVAL;
    case RDMA_OPTION_ID_AFONLY:
      if (in.optlen != sizeof value || id->state != Id::State::kIdle) return EINVAL;
      id->binding.family_only = value != 0;
      return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT:  // one byte
      if (in.optlen != 1 || id->datagram) return EINVAL;
      id->qp.ack_timeout = static_cast<uint8_t>(value);
      return 0;
    case RDMA_OPTION_ID_TOS:  // one byte; the datagrams' class is the device's
      return in.optlen == 1 ? 0 : EINVAL;
    default:
      return ENOSYS;
  }
}

// Called on the new channel; `fd` is the old one's.
int Service::migrate_id(const Call& call, const rdma_ucm_migrate_id& in) {
  struct stat file;
  if (describe(static_cast<int>(in.fd), &file) != 0) return ENOENT;
  Channel* const old = channel_of(file.st_dev, file.st_ino);
  if (old == nullptr) return EINVAL;
  int error;
  Id* const id = find(in.id, old, &error);
  if (id == nullptr) return error;
  const rdma_ucm_migrate_resp answer = {id->events_reported};
  if ((error = respond(in.response, call.out_size, answer)) != 0 || old == call.channel) return error;
  for (auto it = old->events.begin(); it != old->events.end();) {
    if (it->of != id->handle) {
      ++it;
      continue;
    }
    const char byte = 0;
    if (::write(call.channel->write_end.get(), &byte, 1) == 1) call.channel->events.push_back(*it);
    if (const auto child = ids_.find(it->child); child != ids_.end()) child->second->channel = call.channel;
    it = old->events.erase(it);
    ++old->stale;
  }
  drop_stale(static_cast<int>(in.fd), old);
  id->channel = call.channel;
  return 0;
}

// `fd` named the channel when the command began. Where it names something else by now, or no descriptor is free, the
// bytes stay until a later call takes them out: nothing of another file is read.
void Service::drop_stale(int fd, Channel* channel) {
  if (channel->stale == 0) return;
  const HeldFile held(fd);
  if (held.is(channel->device, channel->inode)) channel->drop_stale(held.fd());
}

}  // namespace mrc::shim::rdma_cm
