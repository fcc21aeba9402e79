// Requests that wait for an answer of the peer complete when the peer goes away, whichever way it goes: its queue pair
// is destroyed or moved to ERR, its device is closed, or its process ends or is killed. [VRB-REQ-7, VRB-RSP-11,
// VRB-QP-4, VRB-END-1, VRB-END-2] Requests before one that fails succeed where the peer has carried them out.
// [VRB-REQ-6]
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "connected_qp.h"
#include "first_device.h"
#include "harness/gone_memory.h"

namespace {

using namespace std::chrono_literals;

constexpr size_t kSmall = 4096;
constexpr uint32_t kRequests = 16;

// A device opened for itself and one queue pair.
class Side {
 public:
  explicit Side(size_t bytes = kSmall) : bytes_(bytes) {
    context_ = open_first_device();
    if (context_ == nullptr) throw std::runtime_error("no device");
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 2 * kRequests, nullptr, nullptr, 0);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    init.cap.max_send_wr = init.cap.max_recv_wr = kRequests;
    init.cap.max_send_sge = init.cap.max_recv_sge = 1;
    qp_ = ibv_create_qp(pd_, &init);
    memory = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    mr_ = ibv_reg_mr(pd_, memory, bytes_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  }
  ~Side() {
    destroy_qp();
    ibv_dereg_mr(mr_);
    munmap(memory, bytes_);
    ibv_destroy_cq(cq_);
    ibv_dealloc_pd(pd_);
    if (context_ != nullptr) ibv_close_device(context_);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  struct Address {
    uint32_t qpn;
    uint64_t memory;
    uint32_t rkey;
  };
  Address address() const { return {qp_->qp_num, reinterpret_cast<uint64_t>(memory), mr_->rkey}; }

  void connect(const Address& peer, uint8_t rnr_retry = 7) {
    peer_ = peer;
    connect_rc(
        qp_, {.dest_qpn = peer.qpn, .access = IBV_ACCESS_REMOTE_READ, .rd_atomic = kRequests, .rnr_retry = rnr_retry});
  }
  void receive() {
    ibv_sge to = {reinterpret_cast<uint64_t>(memory), kSmall, mr_->lkey};
    ibv_recv_wr wr{}, *bad;
    wr.sg_list = &to;
    wr.num_sge = 1;
    ASSERT_EQ(ibv_post_recv(qp_, &wr, &bad), 0);
  }
  void post(ibv_wr_opcode opcode, size_t offset = 0, size_t length = kSmall) {
    const ibv_sge from = {reinterpret_cast<uint64_t>(memory) + offset, static_cast<uint32_t>(length), mr_->lkey};
    ASSERT_EQ(post_one(qp_, opcode, from, peer_.memory + offset, peer_.rkey), 0);
  }
  ibv_wc_status completion() { return status_within(cq_, 30s); }
  void to_error() {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(qp_, &attr, IBV_QP_STATE), 0);
  }
  // The next event is one of this type about the queue pair, which is in the error state then.
  void expect_event(ibv_event_type type) {
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(context_, &event), 0);
    EXPECT_STREQ(ibv_event_type_str(event.event_type), ibv_event_type_str(type));
    EXPECT_EQ(event.element.qp, qp_);
    ibv_ack_async_event(&event);
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(qp_, &attr, IBV_QP_STATE, &init), 0);
    EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
  }
  void expect_no_event() {
    pollfd wait = {context_->async_fd, POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, 0), 0);
  }
  void lose_memory() {
    ASSERT_NE(mmap(memory, bytes_, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), MAP_FAILED);
  }
  void close_device() {
    EXPECT_EQ(ibv_close_device(context_), 0);
    context_ = nullptr;
  }
  void destroy_qp() {
    if (qp_ == nullptr) return;
    EXPECT_EQ(ibv_destroy_qp(qp_), 0);
    qp_ = nullptr;
  }

  char* memory = nullptr;

 private:
  const size_t bytes_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_qp* qp_ = nullptr;
  Address peer_{};
};

void connect(Side* a, Side* b) {
  ASSERT_NO_FATAL_FAILURE(a->connect(b->address()));
  ASSERT_NO_FATAL_FAILURE(b->connect(a->address()));
}

// Far longer than the other side's progress thread needs for what was posted: nothing in verbs tells when it has that,
// and the counters of the port are those of packets, which arrive before the shim looks at a request.
void let_it_arrive() {
  std::this_thread::sleep_for(mrc::harness::limit(200ms));
}

// A SEND that waits for a receive request, and a READ behind it.
void post_a_read_that_waits(Side* requester) {
  ASSERT_NO_FATAL_FAILURE(requester->post(IBV_WR_SEND));
  ASSERT_NO_FATAL_FAILURE(requester->post(IBV_WR_RDMA_READ));
  let_it_arrive();
}

TEST(PeerFailure, a_read_is_refused_when_the_owner_goes_to_error) {
  Side requester, owner;
  ASSERT_NO_FATAL_FAILURE(connect(&requester, &owner));
  ASSERT_NO_FATAL_FAILURE(post_a_read_that_waits(&requester));
  owner.to_error();
  EXPECT_EQ(requester.completion(), IBV_WC_REM_OP_ERR);
  EXPECT_EQ(requester.completion(), IBV_WC_WR_FLUSH_ERR);
}

TEST(PeerFailure, a_read_is_refused_when_the_owner_destroys_its_queue_pair) {
  Side requester, owner;
  ASSERT_NO_FATAL_FAILURE(connect(&requester, &owner));
  ASSERT_NO_FATAL_FAILURE(post_a_read_that_waits(&requester));
  owner.destroy_qp();
  EXPECT_EQ(requester.completion(), IBV_WC_REM_OP_ERR);
  EXPECT_EQ(requester.completion(), IBV_WC_WR_FLUSH_ERR);
}

TEST(PeerFailure, a_read_is_refused_when_the_owner_closes_its_device) {
  Side requester, owner;
  ASSERT_NO_FATAL_FAILURE(connect(&requester, &owner));
  ASSERT_NO_FATAL_FAILURE(post_a_read_that_waits(&requester));
  owner.close_device();
  EXPECT_EQ(requester.completion(), IBV_WC_REM_OP_ERR);
  EXPECT_EQ(requester.completion(), IBV_WC_WR_FLUSH_ERR);
}

TEST(PeerFailure, a_send_fails_when_the_receiver_closes_its_device) {
  Side requester, receiver;
  ASSERT_NO_FATAL_FAILURE(connect(&requester, &receiver));
  ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_SEND));
  let_it_arrive();
  receiver.close_device();
  EXPECT_EQ(requester.completion(), IBV_WC_REM_OP_ERR);
}

// The third SEND finds no receive request, and its sender does not retry.
TEST(PeerFailure, sends_before_one_without_a_receive_request_succeed) {
  Side requester, receiver;
  ASSERT_NO_FATAL_FAILURE(requester.connect(receiver.address(), 0));
  ASSERT_NO_FATAL_FAILURE(receiver.connect(requester.address()));
  for (int i = 0; i < 2; ++i) ASSERT_NO_FATAL_FAILURE(receiver.receive());
  for (int i = 0; i < 4; ++i) ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_SEND));
  EXPECT_EQ(requester.completion(), IBV_WC_SUCCESS);
  EXPECT_EQ(requester.completion(), IBV_WC_SUCCESS);
  EXPECT_EQ(requester.completion(), IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(requester.completion(), IBV_WC_WR_FLUSH_ERR);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(receiver.completion(), IBV_WC_SUCCESS);
}

TEST(PeerFailure, requests_before_a_write_that_is_refused_succeed) {
  Side requester, owner;
  ASSERT_NO_FATAL_FAILURE(connect(&requester, &owner));
  ASSERT_NO_FATAL_FAILURE(owner.receive());
  ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_SEND));
  ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_RDMA_READ));
  ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_RDMA_WRITE));  // the memory is for reading
  ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_SEND));
  EXPECT_EQ(requester.completion(), IBV_WC_SUCCESS);
  EXPECT_EQ(requester.completion(), IBV_WC_SUCCESS);
  EXPECT_EQ(requester.completion(), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(requester.completion(), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(owner.completion(), IBV_WC_SUCCESS);
}

// [VRB-EVT-1]: a refused WRITE, to an owner that has a request of its own in flight or none.
TEST(PeerFailure, a_write_that_is_refused_is_an_event_of_the_owner) {
  for (const bool busy : {false, true}) {
    Side requester, owner;
    ASSERT_NO_FATAL_FAILURE(connect(&requester, &owner));
    ASSERT_NO_FATAL_FAILURE(owner.receive());
    if (busy) {
      ASSERT_NO_FATAL_FAILURE(owner.post(IBV_WR_SEND));  // its peer has no receive request
    }
    ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_RDMA_WRITE));
    EXPECT_EQ(requester.completion(), IBV_WC_REM_ACCESS_ERR);
    ASSERT_NO_FATAL_FAILURE(owner.expect_event(IBV_EVENT_QP_ACCESS_ERR));
    EXPECT_EQ(owner.completion(), IBV_WC_WR_FLUSH_ERR);
    if (busy) {
      EXPECT_EQ(owner.completion(), IBV_WC_WR_FLUSH_ERR);
    }
    owner.expect_no_event();
    requester.expect_no_event();
  }
}

// [API-MEM-2]: the owner's helper reads for the peer.
TEST(PeerFailure, a_read_of_memory_that_is_gone_fails_both_sides) {
  const mrc::harness::NoFaultHandlers none;
  Side requester, owner;
  ASSERT_NO_FATAL_FAILURE(connect(&requester, &owner));
  ASSERT_NO_FATAL_FAILURE(owner.lose_memory());
  ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_RDMA_READ));
  EXPECT_EQ(requester.completion(), IBV_WC_REM_OP_ERR);
  ASSERT_NO_FATAL_FAILURE(owner.expect_event(IBV_EVENT_QP_FATAL));
}

// [API-MEM-2]
TEST(PeerFailure, a_send_from_memory_that_is_gone_is_a_protection_error) {
  const mrc::harness::NoFaultHandlers none;
  Side requester, receiver;
  ASSERT_NO_FATAL_FAILURE(connect(&requester, &receiver));
  ASSERT_NO_FATAL_FAILURE(receiver.receive());
  ASSERT_NO_FATAL_FAILURE(requester.lose_memory());
  ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_SEND));
  EXPECT_EQ(requester.completion(), IBV_WC_LOC_PROT_ERR);
}

// There is no refusal for it; the requester finds out by itself.
TEST(PeerFailure, a_send_fails_when_the_receiver_goes_to_error) {
  Side requester, receiver;
  ASSERT_NO_FATAL_FAILURE(connect(&requester, &receiver));
  ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_SEND));
  let_it_arrive();
  receiver.to_error();
  EXPECT_EQ(requester.completion(), IBV_WC_REM_OP_ERR);
}

TEST(PeerFailure, a_send_fails_when_the_receiver_destroys_its_queue_pair) {
  Side requester, receiver;
  ASSERT_NO_FATAL_FAILURE(connect(&requester, &receiver));
  ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_SEND));
  let_it_arrive();
  receiver.destroy_qp();
  EXPECT_EQ(requester.completion(), IBV_WC_RETRY_EXC_ERR);
}

#ifndef __SANITIZE_THREAD__  // which cannot start a thread after a fork
// A process that connects a queue pair, and when it is told moves it to ERR and writes into its memory, or ends.
struct OwnerProcess {
  static constexpr char kExit = 'x';
  explicit OwnerProcess(size_t bytes) {
    if (pipe(to_owner) != 0 || pipe(to_requester) != 0) throw std::runtime_error("no pipe");
    pid = fork();
    if (pid != 0) return;
    Side owner(bytes);
    std::memset(owner.memory, 1, bytes);
    const Side::Address own = owner.address();
    Side::Address peer{};
    char order;
    if (write(to_requester[1], &own, sizeof own) != sizeof own || read(to_owner[0], &peer, sizeof peer) != sizeof peer)
      _exit(1);
    owner.connect(peer);
    if (write(to_requester[1], "", 1) != 1 || read(to_owner[0], &order, 1) != 1) _exit(1);
    if (order == kExit) exit(0);
    owner.to_error();
    std::memset(owner.memory, 2, bytes);
    for (;;) pause();
  }
  ~OwnerProcess() {
    kill();
    for (const int fd : {to_owner[0], to_owner[1], to_requester[0], to_requester[1]}) close(fd);
  }
  void connect(Side* requester) {
    const Side::Address own = requester->address();
    Side::Address peer{};
    char done;
    ASSERT_EQ(read(to_requester[0], &peer, sizeof peer), static_cast<ssize_t>(sizeof peer));
    ASSERT_EQ(write(to_owner[1], &own, sizeof own), static_cast<ssize_t>(sizeof own));
    ASSERT_NO_FATAL_FAILURE(requester->connect(peer));
    ASSERT_EQ(read(to_requester[0], &done, 1), 1);
  }
  void to_error() { ASSERT_EQ(write(to_owner[1], "", 1), 1); }
  void end() {
    ASSERT_EQ(write(to_owner[1], &kExit, 1), 1);
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    pid = 0;
  }
  void kill() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    pid = 0;
  }

  int to_owner[2]{}, to_requester[2]{};
  pid_t pid = 0;
};

TEST(PeerFailure, requests_fail_when_the_process_of_the_owner_is_killed) {
  OwnerProcess owner(kSmall);
  Side requester;
  ASSERT_NO_FATAL_FAILURE(owner.connect(&requester));
  ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_RDMA_READ));
  ASSERT_EQ(requester.completion(), IBV_WC_SUCCESS);
  ASSERT_NO_FATAL_FAILURE(post_a_read_that_waits(&requester));
  owner.kill();
  EXPECT_EQ(requester.completion(), IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(requester.completion(), IBV_WC_WR_FLUSH_ERR);
}

TEST(PeerFailure, a_read_is_refused_when_the_process_of_the_owner_ends) {
  OwnerProcess owner(kSmall);
  Side requester;
  ASSERT_NO_FATAL_FAILURE(owner.connect(&requester));
  ASSERT_NO_FATAL_FAILURE(post_a_read_that_waits(&requester));
  ASSERT_NO_FATAL_FAILURE(owner.end());
  EXPECT_EQ(requester.completion(), IBV_WC_REM_OP_ERR);
  EXPECT_EQ(requester.completion(), IBV_WC_WR_FLUSH_ERR);
}

// What the owner writes into its memory when ibv_modify_qp has returned is its own business.
TEST(PeerFailure, reads_end_when_the_owner_is_in_error) {
  constexpr size_t kEach = 8 << 20, kAll = kRequests * kEach;
  setenv("MRC_SAME_HOST", "memory", 1);
  OwnerProcess owner(kAll);
  Side requester(kAll);
  std::memset(requester.memory, 0, kAll);
  ASSERT_NO_FATAL_FAILURE(owner.connect(&requester));
  for (uint32_t i = 0; i < kRequests; ++i) ASSERT_NO_FATAL_FAILURE(requester.post(IBV_WR_RDMA_READ, i * kEach, kEach));
  ASSERT_EQ(requester.completion(), IBV_WC_SUCCESS);
  owner.to_error();
  for (uint32_t i = 1; i < kRequests; ++i) ASSERT_NE(requester.completion(), IBV_WC_GENERAL_ERR) << i;
  EXPECT_EQ(std::string_view(requester.memory, kAll).find('\2'), std::string_view::npos);
}
#endif

}  // namespace
