// A transfer through the C functions while memory runs out: no call throws, an allocation that fails costs a packet or
// a repetition, and every byte and completion arrives. [API-ERR-3]
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "harness/counted_new.h"
#include "mrc.h"
#include "mrc_soft.h"

namespace mrc::alloc {
namespace {

constexpr uint32_t kWrites = 24;
constexpr uint32_t kBytes = 16384;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

class Transfer : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = mrc_soft_open_device_by_name(nullptr);
    ASSERT_NE(device_, nullptr);
    context_ = mrc_create_context(device_, nullptr);
    pd_ = mrc_soft_alloc_pd(device_);
    ASSERT_TRUE(context_ != nullptr && pd_ != nullptr);
    source_.resize(size_t{kWrites} * kBytes);
    target_.resize(source_.size());
    for (size_t i = 0; i < source_.size(); ++i) source_[i] = static_cast<uint8_t>(i * 7 + (i >> 8));
    from_ = mrc_soft_reg_mr(pd_, source_.data(), source_.size(), kAccess);
    to_ = mrc_soft_reg_mr(pd_, target_.data(), target_.size(), kAccess);
    cq_ = mrc_create_cq(context_, 256, nullptr, nullptr, 0);
    ASSERT_TRUE(from_ != nullptr && to_ != nullptr && cq_ != nullptr);
  }
  void TearDown() override {
    set_failures(0, 0);
    mrc_destroy_cq(cq_);
    mrc_soft_dereg_mr(to_);
    mrc_soft_dereg_mr(from_);
    mrc_soft_dealloc_pd(pd_);
    mrc_destroy_context(context_);
    EXPECT_EQ(mrc_soft_close_device(device_), 0);
  }

  mrc_qp* make_qp(uint32_t* number) {
    mrc_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.pd = pd_;
    init.cap = {64, 64, 1, 1, 0};
    mrc_qp* const qp = mrc_create_qp(context_, &init);
    if (qp != nullptr) mrc_get_qpn(qp, number);
    return qp;
  }

  int connect(mrc_qp* qp, uint32_t peer) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    int error =
        mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, nullptr, 0);
    if (error != 0) return error;
    attr = {};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = peer;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.sgid_index = 3;
    mrc_soft_query_gid(device_, 1, 3, &attr.ah_attr.grh.dgid);
    error = mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
                          nullptr, 0);
    if (error != 0) return error;
    attr = {};
    attr.qp_state = IBV_QPS_RTS;
    return mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, nullptr, 0);
  }

  int post(mrc_qp* qp, uint32_t index) {
    ibv_sge sge{reinterpret_cast<uint64_t>(source_.data()) + size_t{index} * kBytes, kBytes, from_->lkey};
    ibv_send_wr wr{}, *bad;
    wr.wr_id = index;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {reinterpret_cast<uint64_t>(target_.data()) + size_t{index} * kBytes, to_->rkey};
    const Armed on;
    return mrc_post_send(qp, &wr, &bad);
  }

  // Both ends are new, so that what the first packets allocate is allocated again.
  void transfer() {
    std::fill(target_.begin(), target_.end(), 0);
    uint32_t numbers[2];
    mrc_qp* const qps[2] = {make_qp(&numbers[0]), make_qp(&numbers[1])};
    ASSERT_TRUE(qps[0] != nullptr && qps[1] != nullptr);
    ASSERT_EQ(connect(qps[0], numbers[1]), 0);
    ASSERT_EQ(connect(qps[1], numbers[0]), 0);
    uint32_t posted = 0, done = 0;
    for (uint64_t turn = 0; done < kWrites; ++turn) {
      ASSERT_LT(turn, 200'000'000u) << done << " completions";
      if (posted < kWrites) {
        const int error = post(qps[0], posted);
        ASSERT_TRUE(error == 0 || error == ENOMEM) << error;
        posted += error == 0;
      }
      ibv_wc wc{};
      int n;
      {
        const Armed on;
        n = mrc_poll_cq(cq_, 1, &wc);
      }
      if (n == 0) continue;
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
      ASSERT_EQ(wc.wr_id, done++);
    }
    EXPECT_EQ(target_, source_);
    for (mrc_qp* qp : qps) ASSERT_EQ(mrc_destroy_qp(qp), 0);
  }

  uint64_t out_of_memory() {
    std::array<char, 1 << 15> text{};
    mrc_soft_query_stats(device_, text.data(), text.size());
    const std::string all = std::string("\n") + text.data();
    const std::string name = "\nout_of_memory ";
    const size_t at = all.find(name);
    return at == std::string::npos ? 0 : std::stoull(all.substr(at + name.size()));
  }

  ibv_context* device_ = nullptr;
  mrc_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_mr *from_ = nullptr, *to_ = nullptr;
  mrc_cq* cq_ = nullptr;
  std::vector<uint8_t> source_, target_;
};

TEST_F(Transfer, no_failed_allocation_ends_it) {
  uint64_t failures = 0;
  for (uint64_t nth = 0; nth < 40; ++nth) {
    set_failures(1, nth);
    ASSERT_NO_FATAL_FAILURE(transfer()) << "allocation " << nth;
    failures += failed_allocations();
  }
  EXPECT_GE(failures, 5u);
  EXPECT_GE(out_of_memory(), 1u);
}

TEST_F(Transfer, many_failed_allocations_only_delay_it) {
  for (uint64_t first : {0u, 5u, 20u}) {
    set_failures(UINT64_MAX, first);
    ASSERT_NO_FATAL_FAILURE(transfer()) << "from allocation " << first;
  }
}

}  // namespace
}  // namespace mrc::alloc
