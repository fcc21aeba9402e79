// Programs for verbs poll memory: for a counter that the peer overwrites again and again, and for what it wrote before
// the counter, while bursts overtake each other on the way. [VRB-RSP-13]
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <thread>
#include <vector>

#include "connected_qp.h"
#include "first_device.h"
#include "harness/limits.h"

namespace {

using namespace std::chrono_literals;

constexpr uint64_t kRounds = 3000;
constexpr size_t kWords = 1500;  // of data for each round: three packets
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

// A device of its own with one queue pair. In its memory the counter is the last word, behind the data.
class Side {
 public:
  Side() : context_(open_first_device()), memory_(kWords + 1) {
    if (context_ == nullptr) return;
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 256, nullptr, nullptr, 0);
    mr_ = ibv_reg_mr(pd_, memory_.data(), memory_.size() * sizeof(uint64_t), kAccess);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {64, 1, 1, 1, 64};
    qp_ = ibv_create_qp(pd_, &init);
  }
  ~Side() {
    if (context_ == nullptr) return;
    EXPECT_EQ(ibv_destroy_qp(qp_), 0);
    EXPECT_EQ(ibv_dereg_mr(mr_), 0);
    EXPECT_EQ(ibv_destroy_cq(cq_), 0);
    EXPECT_EQ(ibv_dealloc_pd(pd_), 0);
    EXPECT_EQ(ibv_close_device(context_), 0);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  bool ready() const { return context_ != nullptr; }
  void connect(const Side& peer) { connect_rc(qp_, {.dest_qpn = peer.qp_->qp_num, .access = kAccess}); }
  uint64_t load(size_t i) const { return __atomic_load_n(&memory_[i], __ATOMIC_ACQUIRE); }

  // Data and counter of one round; the memory is not used again before they are complete.
  void write(const Side& to, uint64_t round, bool data) {
    if (data)
      for (size_t i = 0; i < kWords; ++i) memory_[i] = round;
    memory_[kWords] = round;
    if (data) post(to, 0, kWords, 0);
    post(to, kWords, 1, IBV_SEND_INLINE | (round % 32 == 0 || data ? IBV_SEND_SIGNALED : 0));
  }
  ibv_wc_status completion() { return status_within(cq_, 20s); }

 private:
  void post(const Side& to, size_t first, size_t words, unsigned flags) {
    ibv_sge sge = {reinterpret_cast<uint64_t>(&memory_[first]), static_cast<uint32_t>(words * sizeof(uint64_t)),
                   mr_->lkey};
    ibv_send_wr wr{}, *bad;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = flags;
    wr.wr.rdma = {reinterpret_cast<uint64_t>(&to.memory_[first]), to.mr_->rkey};
    ASSERT_EQ(ibv_post_send(qp_, &wr, &bad), 0);
  }

  ibv_context* const context_;
  std::vector<uint64_t> memory_;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_qp* qp_ = nullptr;
};

class ShimWriteOrder : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(from_.ready() && to_.ready());
    ASSERT_NO_FATAL_FAILURE(from_.connect(to_));
    ASSERT_NO_FATAL_FAILURE(to_.connect(from_));
  }

  Side from_, to_;
};

// Many of them are on the way at once.
TEST_F(ShimWriteOrder, a_counter_never_goes_back) {
  std::atomic<uint64_t> backwards{0};
  {
    const std::jthread reader([&](const std::stop_token& over) {
      for (uint64_t last = 0; !over.stop_requested();) {
        const uint64_t now = to_.load(kWords);
        backwards += now < last;
        last = now;
      }
    });
    for (uint64_t round = 1; round <= kRounds; ++round) {
      ASSERT_NO_FATAL_FAILURE(from_.write(to_, round, false));
      if (round % 32 == 0 && round > 32) {
        EXPECT_EQ(from_.completion(), IBV_WC_SUCCESS);
      }
    }
    const auto until = std::chrono::steady_clock::now() + mrc::harness::limit(20s);
    while (to_.load(kWords) != kRounds && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);  // for what comes late
  }
  EXPECT_EQ(to_.load(kWords), kRounds);
  EXPECT_EQ(backwards, 0u);
}

TEST_F(ShimWriteOrder, a_counter_appears_behind_the_data_before_it) {
  constexpr uint64_t kFew = kRounds / 10;
  std::atomic<uint64_t> seen{0}, wrong{0};
  const auto until = std::chrono::steady_clock::now() + mrc::harness::limit(60s);
  {
    const std::jthread reader([&] {
      for (uint64_t round = 1; round <= kFew; ++round) {
        while (to_.load(kWords) != round)
          if (std::chrono::steady_clock::now() > until) return;
        for (size_t i = 0; i < kWords; ++i) wrong += to_.load(i) != round;
        seen = round;
      }
    });
    for (uint64_t round = 1; round <= kFew; ++round) {
      ASSERT_NO_FATAL_FAILURE(from_.write(to_, round, true));
      EXPECT_EQ(from_.completion(), IBV_WC_SUCCESS);
      while (seen != round && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    }
  }
  EXPECT_EQ(seen, kFew);
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
