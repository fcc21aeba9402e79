// Commands that the application writes to the device: reading and calling them. [CM-DEV-3]
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rdma_cm/service.h"
#include "rdma_cm/user_memory.h"

namespace mrc::shim::rdma_cm {

namespace {

constexpr size_t kMaxCommand = 512;  // bytes that are read of a command; each type is smaller

}  // namespace

ssize_t Service::write(int fd, const void* bytes, size_t size) {
  const int error = execute(fd, reinterpret_cast<uint64_t>(bytes), size);
  if (error == 0) return static_cast<ssize_t>(size);
  errno = error;
  return -1;
}

int Service::execute(int fd, uint64_t from, size_t size) {
  struct stat file;
  if (describe(fd, &file) != 0 || !is_channel(file.st_dev, file.st_ino)) return EBADF;
  rdma_ucm_cmd_hdr header;
  if (size < sizeof header) return EINVAL;
  if (const int error = copy_from_user(&header, from, sizeof header)) return error;
  if (header.in + sizeof header > size) return EINVAL;
  uint8_t body[kMaxCommand];
  const size_t taken = std::min<size_t>(header.in, sizeof body);
  if (const int error = copy_from_user(body, from + sizeof header, taken)) return error;
  if (header.cmd == RDMA_USER_CM_CMD_GET_EVENT) return get_event(fd, file, body, taken, header.out);
  const MutexLock lock(mutex_);
  Channel* const channel = channel_of(file.st_dev, file.st_ino);
  const int error = channel == nullptr ? EBADF : run({fd, channel, header.out}, header.cmd, body, taken);
  drive();
  wake_for_timers();
  return error;
}

int Service::run(const Call& call, uint32_t command, const uint8_t* in, size_t size) {
#define MRC_RDMA_CM_CASE(number, name, type)             \
  case number: {                                         \
    static_assert(sizeof(type) <= kMaxCommand);          \
    type read{};                                         \
    std::memcpy(&read, in, std::min(size, sizeof read)); \
    return size == 0 ? EINVAL : name(call, read);        \
  }
  switch (command) {
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_CREATE_ID, create_id, rdma_ucm_create_id)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_DESTROY_ID, destroy_id, rdma_ucm_destroy_id)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_BIND_IP, bind_ip, rdma_ucm_bind_ip)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_RESOLVE_IP, resolve_ip, rdma_ucm_resolve_ip)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_RESOLVE_ROUTE, resolve_route, rdma_ucm_resolve_route)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_QUERY_ROUTE, query_route, rdma_ucm_query)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_CONNECT, connect, rdma_ucm_connect)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_LISTEN, listen, rdma_ucm_listen)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_ACCEPT, accept, rdma_ucm_accept)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_REJECT, reject, rdma_ucm_reject)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_DISCONNECT, disconnect, rdma_ucm_disconnect)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_INIT_QP_ATTR, init_qp_attr, rdma_ucm_init_qp_attr)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_SET_OPTION, set_option, rdma_ucm_set_option)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_NOTIFY, notify, rdma_ucm_notify)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_MIGRATE_ID, migrate_id, rdma_ucm_migrate_id)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_QUERY, query, rdma_ucm_query)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_BIND, bind_any, rdma_ucm_bind)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_RESOLVE_ADDR, resolve_addr, rdma_ucm_resolve_addr)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_JOIN_IP_MCAST, join_ip_mcast, rdma_ucm_join_ip_mcast)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_LEAVE_MCAST, leave_mcast, rdma_ucm_destroy_id)
    MRC_RDMA_CM_CASE(RDMA_USER_CM_CMD_JOIN_MCAST, join_mcast, rdma_ucm_join_mcast)
    case RDMA_USER_CM_CMD_GET_OPTION:
      return ENOSYS;
    default:
      return EINVAL;
  }
#undef MRC_RDMA_CM_CASE
}

}  // namespace mrc::shim::rdma_cm
