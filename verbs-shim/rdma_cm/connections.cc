// Connections of ids: listening, connecting, accepting and disconnecting. Commands as the kernel's of that name: 0 or
// an errno. [CM-DEV-3]
#include <algorithm>
#include <cerrno>

#include "objects/context.h"
#include "rdma_cm/addresses.h"
#include "rdma_cm/service.h"
#include "rdma_cm/user_memory.h"

namespace mrc::shim::rdma_cm {

namespace {

// One host that may take its whole share of them leaves room for others.
constexpr uint32_t kMaxBacklog = cm::kMaxHalfOpen;

bool fits(const cm::PrivateData& data, const rdma_ucm_conn_param& param, size_t limit) {
  return data.size == param.private_data_len && data.size <= limit;
}

template <typename Param>
cm::PrivateData private_of(const Param& param) {
  cm::PrivateData data;
  data.size = static_cast<uint8_t>(std::min<size_t>(param.private_data_len, data.bytes.size()));
  std::copy_n(param.private_data, data.size, data.bytes.begin());
  return data;
}

}  // namespace

int Service::listen(const Call& call, const rdma_ucm_listen& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  if (id->state == Id::State::kIdle) {
    cm::Address any = loopback(true);
    std::fill(any.ip.begin() + 12, any.ip.end(), uint8_t{0});
    if ((error = bind(id, any)) != 0) return error;
  }
  if (id->state != Id::State::kBound) return EINVAL;
  if ((error = claim_port(id)) != 0) return error;
  const uint32_t backlog = in.backlog == 0 || in.backlog > kMaxBacklog ? kMaxBacklog : in.backlog;
  endpoint_.listen(id->socket->number(), id->handle, id->datagram ? cm::Type::kSidrReq : cm::Type::kReq,
                   id->binding.port_space, backlog);
  id->state = Id::State::kListening;
  return 0;
}

cm::Parameters Service::parameters_of(const Id& id, const rdma_ucm_conn_param& param) const {
  cm::Parameters p;
  p.gid = id.port.gid;
  p.qpn = param.qp_num & 0xFF'FFFF;
  getentropy(&p.psn, sizeof p.psn);
  p.psn &= 0xFF'FFFF;
  p.mtu = id.port.mtu;
  p.responder_resources = param.responder_resources;
  p.initiator_depth = param.initiator_depth;
  p.retry_count = std::min<uint8_t>(param.retry_count, 7);
  p.rnr_retry_count = std::min<uint8_t>(param.rnr_retry_count, 7);
  p.flow_control = param.flow_control != 0;
  p.srq = param.srq != 0;
  return p;
}

int Service::send_connect(Id* id, const cm::Message& request) {
  cm::Address source = id->binding.address;
  if (is_ipv4(source) && source.ip[12] == 127) source = {};  // the route's: any of 127/8 reaches any
  id->connection = endpoint_.connect(Context::now(), id->remote, source, request);
  if (id->connection == 0) return ENOMEM;
  id_of_connection_[id->connection] = id->handle;
  id->state = Id::State::kConnection;
  return 0;
}

int Service::connect(const Call& call, const rdma_ucm_connect& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  cm::Message request;
  request.private_data = private_of(in.conn_param);
  if (id->state != Id::State::kRouteResolved || in.conn_param.valid == 0 ||
      !fits(request.private_data, in.conn_param, id->datagram ? cm::kSidrReqPrivate : cm::kReqPrivate))
    return EINVAL;
  request.type = id->datagram ? cm::Type::kSidrReq : cm::Type::kReq;
  request.port_space = id->binding.port_space;
  request.port = id->binding.address.port;
  request.parameters = id->qp.own = parameters_of(*id, in.conn_param);
  id->qp.responder_resources = id->qp.own.responder_resources;
  id->qp.initiator_depth = id->qp.own.initiator_depth;
  id->qp.retry_count = id->qp.own.retry_count;
  return send_connect(id, request);
}

// The server's queue pair for datagrams. The kernel reports nothing more to this id.
int Service::answer_datagram(Id* id, const rdma_ucm_accept& in) {
  cm::Message reply;
  reply.private_data = private_of(in.conn_param);
  if (!fits(reply.private_data, in.conn_param, cm::kSidrRepPrivate)) return EINVAL;
  if (in.conn_param.qkey != 0) id->qp.qkey = in.conn_param.qkey;
  reply.qkey = id->qp.qkey;
  reply.parameters = id->qp.own = parameters_of(*id, in.conn_param);
  if (!endpoint_.command(id->connection, [&](cm::Connection* c) { return c->answer(Context::now(), reply); }))
    return EINVAL;
  id->uid = in.uid;
  return 0;
}

// A server's answer to a connect request.
int Service::answer_request(Id* id, const rdma_ucm_accept& in) {
  const cm::PrivateData data = private_of(in.conn_param);
  const cm::Connection* const connection = endpoint_.find(id->connection);
  if (connection == nullptr || connection->state() != cm::State::kReqReceived ||
      !fits(data, in.conn_param, cm::kRepPrivate))
    return EINVAL;
  cm::Parameters own = parameters_of(*id, in.conn_param);
  own.psn = id->qp.own.psn;  // it may be in the queue pair already
  id->qp.own = own;
  id->qp.responder_resources = own.responder_resources;
  id->qp.initiator_depth = own.initiator_depth;
  id->uid = in.uid;
  endpoint_.command(id->connection, [&](cm::Connection* c) { return c->accept(Context::now(), own, data); });
  return 0;
}

// A client's queue pair is ready.
int Service::confirm(Id* id) {
  return endpoint_.command(id->connection, [](cm::Connection* c) { return c->confirm(Context::now()); }) ? 0 : EINVAL;
}

// Where it fails the connection is refused, as by the kernel: its peer would wait for a decision that has been made.
// [CM-DEV-5]
int Service::accept(const Call& call, const rdma_ucm_accept& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  error = id->datagram ? answer_datagram(id, in) : in.conn_param.valid != 0 ? answer_request(id, in) : confirm(id);
  if (error != 0)
    endpoint_.command(id->connection,
                      [](cm::Connection* c) { return c->reject(Context::now(), cm::kReasonConsumer, {}); });
  return error;
}

int Service::reject(const Call& call, const rdma_ucm_reject& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  const cm::PrivateData data = private_of(in);
  const size_t limit = id->datagram ? cm::kSidrRepPrivate : cm::kRejPrivate;
  if (data.size != in.private_data_len || data.size > limit) return EINVAL;
  const uint16_t reason = in.reason != 0 ? in.reason : cm::kReasonConsumer;
  if (reason != cm::kReasonConsumer && reason != cm::kReasonVendorOption) return EINVAL;
  return endpoint_.command(id->connection, [&](cm::Connection* c) { return c->reject(Context::now(), reason, data); })
             ? 0
             : EINVAL;
}

int Service::disconnect(const Call& call, const rdma_ucm_disconnect& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  if (id->connection == 0) return EINVAL;
  // One that is not established, or no more, is left as it is, and that is no error, as in the kernel.
  endpoint_.command(id->connection, [](cm::Connection* c) { return c->disconnect(Context::now()); });
  return 0;
}

int Service::notify(const Call& call, const rdma_ucm_notify& in) {
  int error;
  Id* const id = find(in.id, call.channel, &error);
  if (id == nullptr) return error;
  if (in.event != IBV_EVENT_COMM_EST) return 0;
  endpoint_.command(id->connection, [](cm::Connection* c) {
    c->establish(Context::now());
    return true;
  });
  return 0;
}

}  // namespace mrc::shim::rdma_cm
