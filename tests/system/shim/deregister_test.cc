// A region that a peer has read is deregistered as soon as the peer's READ is complete, as programs do that exchange
// addresses, READ and answer. The network loses packets, so the transport has often not got the acknowledgement of the
// data yet. [VRB-RSP-10]
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

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

  // READs all of the peer's memory. The status; IBV_WC_GENERAL_ERR when there is none for ten seconds.
  ibv_wc_status read(const Side& peer) {
    const ibv_sge to = {reinterpret_cast<uint64_t>(memory), static_cast<uint32_t>(bytes_), mr_->lkey};
    if (post_one(qp_, IBV_WR_RDMA_READ, to, reinterpret_cast<uint64_t>(peer.memory), peer.mr_->rkey) != 0)
      return IBV_WC_FATAL_ERR;
    return status_within(cq_, 10s);
  }

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

#ifndef __SANITIZE_THREAD__  // which cannot start a thread after a fork
// Its devices are its own: it waits for what is lent as its parent does. [VRB-FRK-1]
TEST(Deregister, so_it_does_in_a_child_of_fork) {
  mrc::harness::in_child(read_and_deregister);
}
#endif

}  // namespace
