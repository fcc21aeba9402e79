// The kernel's side of /dev/infiniband/rdma_cm for one process: channels, ids, the endpoint with its sockets, and the
// thread that drives them. It begins to exist when the device is first opened. One lock; nothing is called out of it.
// [CM-DEV-*]
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <map>
#include <memory>
#include <vector>

#include "cm/endpoint.h"
#include "fd.h"
#include "invariant.h"
#include "mutex.h"
#include "rdma_cm/client_ports.h"
#include "rdma_cm/handle_table.h"
#include "rdma_cm/id.h"
#include "rdma_cm/poller.h"
#include "wakeup.h"

namespace mrc::shim::rdma_cm {

class Service {
 public:
  // Of this process; null until the device has been opened. A child of fork begins without one.
  static Service* current();
  // A descriptor, or -1 and errno.
  static int open(int flags);
  // Connections are ended and the peers notified, for a short time, before the process ends.
  static void settle();

  bool is_channel(uint64_t device, uint64_t inode) const ABSL_LOCKS_EXCLUDED(mutex_);
  // write() to one of the channels. -1 and errno; EBADF: it is none.
  ssize_t write(int fd, const void* command, size_t size) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A command at work.
  struct Call {
    int fd;
    Channel* channel;
    uint16_t out_size;
  };

  Service(Wakeup wakeup, Fd poll_fd);
  ~Service() = delete;     // never ends: threads of the application may be in it
  static Service* made();  // null and errno
  static void before_fork();
  static void after_fork(bool child);

  int open_channel(int flags) ABSL_LOCKS_EXCLUDED(mutex_);
  Channel* channel_of(uint64_t device, uint64_t inode) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A command that the application wrote at `from`: 0 or an errno.
  int execute(int fd, uint64_t from, size_t size) ABSL_LOCKS_EXCLUDED(mutex_);
  int run(const Call& call, uint32_t command, const uint8_t* in, size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The thread. What it waits for, each with a number of its own.
  enum Watched : uint32_t { kWake, kChannel, kSocket, kReply };
  static uint64_t tag(Watched what, uint32_t number) { return uint64_t{what} << 32 | number; }
  void loop() ABSL_LOCKS_EXCLUDED(mutex_);
  void drive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // timers, what is to be sent, events
  void serve(uint64_t what, uint32_t events) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void receive(Socket* socket, bool refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void close_channel(Channel* channel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void wake_for_timers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // where it would sleep for too long
  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void check(const Id& id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Sockets.
  // False: errno.
  bool watch(const Socket& socket, Watched what, uint32_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Socket* reply_socket(bool ipv4) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool is_taken(const Id& wanted, bool reusable) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int open_socket(Id* id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void release_socket(Id* id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int bind_socket(Id* id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int claim_port(Id* id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int set_reuse_address(Id* id, bool allowed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Ids.
  Id* add_id(Channel* channel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Id* find(uint32_t handle, Channel* channel, int* error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void drop_stale(int fd, Channel* channel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void destroy(Id* id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void on_event(const cm::Event& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void on_request(const cm::Event& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void queue(Id* id, EventKind kind, int status, const cm::Event* from = nullptr, uint32_t child = 0)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int bind(Id* id, const cm::Address& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int resolve(Id* id, const void* source, size_t source_size, const void* target, size_t target_size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int send_connect(Id* id, const cm::Message& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int join(const Call& call, uint32_t id, uint64_t uid, const cm::Address& group, uint64_t response)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int answer_datagram(Id* id, const rdma_ucm_accept& in) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int answer_request(Id* id, const rdma_ucm_accept& in) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int confirm(Id* id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  cm::Parameters parameters_of(const Id& id, const rdma_ucm_conn_param& param) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void fill_attributes(const Id& id, uint32_t state, struct ib_uverbs_qp_attr* out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Commands: 0 or an errno.
#define MRC_RDMA_CM_COMMANDS(C)            \
  C(create_id, rdma_ucm_create_id)         \
  C(destroy_id, rdma_ucm_destroy_id)       \
  C(bind_ip, rdma_ucm_bind_ip)             \
  C(resolve_ip, rdma_ucm_resolve_ip)       \
  C(resolve_route, rdma_ucm_resolve_route) \
  C(query_route, rdma_ucm_query)           \
  C(connect, rdma_ucm_connect)             \
  C(listen, rdma_ucm_listen)               \
  C(accept, rdma_ucm_accept)               \
  C(reject, rdma_ucm_reject)               \
  C(disconnect, rdma_ucm_disconnect)       \
  C(init_qp_attr, rdma_ucm_init_qp_attr)   \
  C(set_option, rdma_ucm_set_option)       \
  C(notify, rdma_ucm_notify)               \
  C(migrate_id, rdma_ucm_migrate_id)       \
  C(query, rdma_ucm_query)                 \
  C(bind_any, rdma_ucm_bind)               \
  C(resolve_addr, rdma_ucm_resolve_addr)   \
  C(join_ip_mcast, rdma_ucm_join_ip_mcast) \
  C(join_mcast, rdma_ucm_join_mcast)       \
  C(leave_mcast, rdma_ucm_destroy_id)
#define MRC_RDMA_CM_DECLARE(name, type) \
  int name(const Call& call, const type& in) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  MRC_RDMA_CM_COMMANDS(MRC_RDMA_CM_DECLARE)
#undef MRC_RDMA_CM_DECLARE
  int get_event(int fd, const struct stat& file, const uint8_t* in, size_t size, uint16_t out_size)
      ABSL_LOCKS_EXCLUDED(mutex_);
  int take_event(int held, const struct stat& file, uint64_t out, size_t size) ABSL_LOCKS_EXCLUDED(mutex_);

  mutable Mutex mutex_;
  Wakeup wakeup_;
  Poller poller_;
  Ports ports_ ABSL_GUARDED_BY(mutex_);
  cm::Endpoint endpoint_ ABSL_GUARDED_BY(mutex_);
  HandleTable<std::unique_ptr<Id>> ids_ ABSL_GUARDED_BY(mutex_);
  HandleTable<Multicast> multicasts_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, uint32_t> id_of_connection_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Channel>> channels_ ABSL_GUARDED_BY(mutex_);
  HandleTable<std::weak_ptr<Socket>> sockets_ ABSL_GUARDED_BY(mutex_);  // of ids, by their numbers
  std::shared_ptr<Socket> reply_[2] ABSL_GUARDED_BY(mutex_);            // IPv6, IPv4
  ClientPorts client_ports_ ABSL_GUARDED_BY(mutex_);
  uint64_t sleeps_until_ ABSL_GUARDED_BY(mutex_) = 0;  // the thread; 0: it is awake
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;         // the process is
  mutable InvariantPace pace_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mrc::shim::rdma_cm
