// A region that a peer has read is deregistered as soon as the peer's READ is complete, as programs do that exchange
// addresses, READ and answer. The network loses packets, so the transport has often not got the acknowledgement of the
// data yet. [VRB-RSP-10] Another one is deregistered while a peer's data comes. [VRB-RSP-14]
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "connected_qp.h"
#include "first_device.h"
#include "in_child.h"

namespace {

using namespace std::chrono_literals;

struct Loss : ::testing::Environment {
  void SetUp() override {
    setenv("MRC_SAME_HOST", "network", 1);
    setenv("MRC_FAULT", "seed=3;loss=0.1,delay=2ms,reorder=0.2", 0);
  }
};
const auto* const kLoss = ::testing::AddGlobalTestEnvironment(new Loss);

// A device opened for itself and one queue pair; the pages are mapped and registered anew by unmap() and map().
class Side {
 public:
  explicit Side(size_t bytes) : bytes_(bytes) {
    context_ = open_first_device();
    if (context_ == nullptr) throw std::runtime_error("no device");
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 16, nullptr, nullptr, 0);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    init.cap.max_send_wr = init.cap.max_recv_wr = init.cap.max_send_sge = init.cap.max_recv_sge = 4;
    qp_ = ibv_create_qp(pd_, &init);
    map();
  }
  ~Side() {
    ibv_destroy_qp(qp_);
    unmap();
    ibv_destroy_cq(cq_);
    ibv_dealloc_pd(pd_);
    ibv_close_device(context_);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void map() {
    memory = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mr_ = ibv_reg_mr(pd_, memory, bytes_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  }
  void unmap() {
    EXPECT_EQ(ibv_dereg_mr(mr_), 0);
    munmap(memory, bytes_);
  }

  void connect(const Side& peer) {
    connect_rc(qp_, {.dest_qpn = peer.qp_->qp_num, .access = IBV_ACCESS_REMOTE_READ, .rd_atomic = 4});
  }

  ibv_sge all() const { return {reinterpret_cast<uint64_t>(memory), static_cast<uint32_t>(bytes_), mr_->lkey}; }
  int post_read(const Side& peer) {
    return post_one(qp_, IBV_WR_RDMA_READ, all(), reinterpret_cast<uint64_t>(peer.memory), peer.mr_->rkey);
  }
  // READs all of the peer's memory. The status; IBV_WC_GENERAL_ERR when there is none for ten seconds.
  ibv_wc_status read(const Side& peer) { return post_read(peer) == 0 ? status() : IBV_WC_FATAL_ERR; }
  ibv_wc_status status() { return status_within(cq_, 10s); }
  void send() { ASSERT_EQ(post_one(qp_, IBV_WR_SEND, all(), 0, 0), 0); }
  void receive() {
    ibv_sge to = all();
    ibv_recv_wr wr{}, *bad;
    wr.sg_list = &to;
    wr.num_sge = 1;
    ASSERT_EQ(ibv_post_recv(qp_, &wr, &bad), 0);
  }
  // A page that was never written to is not resident.
  void wait_for_data() {
    unsigned char resident = 0;
    for (const auto until = std::chrono::steady_clock::now() + mrc::harness::limit(10s);
         std::chrono::steady_clock::now() < until && (resident & 1) == 0; std::this_thread::yield())
      ASSERT_EQ(mincore(memory, static_cast<size_t>(sysconf(_SC_PAGESIZE)), &resident), 0);
    ASSERT_EQ(resident & 1, 1);
  }
  bool has_event() const { return has_async_event(context_); }

  ibv_qp_state state() {
    ibv_qp_attr attr;
    ibv_qp_init_attr init;
    EXPECT_EQ(ibv_query_qp(qp_, &attr, IBV_QP_STATE, &init), 0);
    return attr.qp_state;
  }

  char* memory = nullptr;

 private:
  const size_t bytes_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_qp* qp_ = nullptr;
};

void read_and_deregister() {
  constexpr size_t kBytes = 65536;
  Side reader(kBytes), owner(kBytes);
  reader.connect(owner);
  owner.connect(reader);
  for (int i = 0; i < 50; ++i) {
    std::memset(owner.memory, i, kBytes);
    ASSERT_EQ(reader.read(owner), IBV_WC_SUCCESS) << i;
    owner.unmap();
    ASSERT_EQ(std::memcmp(reader.memory, std::string(kBytes, static_cast<char>(i)).data(), kBytes), 0) << i;
    owner.map();
  }
  EXPECT_EQ(owner.state(), IBV_QPS_RTS);
  EXPECT_EQ(reader.state(), IBV_QPS_RTS);
}

TEST(Deregister, a_region_that_a_peer_has_read_goes_at_once) {
  read_and_deregister();
}

constexpr size_t kLong = 32 << 20;  // under way for far longer than a region takes to go

// [VRB-RSP-14] [VRB-EVT-1]
TEST(Deregister, a_region_that_a_peer_sends_to_fails_the_receive_request) {
  Side sender(kLong), receiver(kLong);
  sender.connect(receiver);
  receiver.connect(sender);
  for (int i = 0; i < 2; ++i) {
    ASSERT_NO_FATAL_FAILURE(receiver.receive());
    ASSERT_NO_FATAL_FAILURE(sender.send());
  }
  ASSERT_NO_FATAL_FAILURE(receiver.wait_for_data());
  receiver.unmap();
  EXPECT_EQ(receiver.status(), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(receiver.status(), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(sender.status(), IBV_WC_REM_OP_ERR);
  EXPECT_EQ(sender.status(), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(receiver.state(), IBV_QPS_ERR);
  EXPECT_EQ(sender.state(), IBV_QPS_ERR);
  EXPECT_FALSE(receiver.has_event() || sender.has_event()) << "the completions have told";
  receiver.map();
}

// [VRB-RSP-14] [VRB-EVT-1]
TEST(Deregister, a_region_that_is_read_into_fails_the_read) {
  Side reader(kLong), owner(kLong);
  reader.connect(owner);
  owner.connect(reader);
  ASSERT_EQ(reader.post_read(owner), 0);
  ASSERT_NO_FATAL_FAILURE(reader.wait_for_data());
  reader.unmap();
  EXPECT_EQ(reader.status(), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(reader.state(), IBV_QPS_ERR);
  EXPECT_FALSE(reader.has_event()) << "the completion has told";
  reader.map();
}

#ifndef __SANITIZE_THREAD__  // which cannot start a thread after a fork
// Its devices are its own: it waits for what is lent as its parent does. [VRB-FRK-1]
TEST(Deregister, so_it_does_in_a_child_of_fork) {
  mrc::harness::in_child(read_and_deregister);
}
#endif

}  // namespace
