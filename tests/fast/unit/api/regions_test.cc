// Registered memory: what programs ask for, and what is refused with which error.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "harness/api_pair.h"
#include "harness/gone_memory.h"

namespace mrc::api {
namespace {

class RegionsTest : public ApiTest {};

// spec/clients.md rule 17: the access flags that programs use, overlaps, page rounding beyond the buffer, shared
// memory.
TEST_F(RegionsTest, regions_as_programs_register_them) {
  std::vector<uint8_t> memory(1 << 16);
  std::vector<ibv_mr*> regions;
  for (int access : {0x1, 0x3, 0x7, 0xf, 0x100003, 0x10000f}) {
    ibv_mr* mr = mrc_soft_reg_mr(pd, memory.data(), memory.size(), access);
    ASSERT_NE(mr, nullptr) << access;
    EXPECT_EQ(mr->addr, memory.data());
    EXPECT_EQ(mr->length, memory.size());
    EXPECT_EQ(mr->pd, pd);
    EXPECT_EQ(mr->context, verbs);
    for (ibv_mr* other : regions) EXPECT_NE(mr->rkey, other->rkey);
    regions.push_back(mr);
  }
  EXPECT_EQ(mrc_soft_dealloc_pd(pd), EBUSY);
  for (ibv_mr* mr : regions) EXPECT_EQ(mrc_soft_dereg_mr(mr), 0);
}

TEST_F(RegionsTest, regions_that_are_refused) {
  uint8_t memory[64];
  const auto refused = [&](void* addr, size_t length, int access, int error) {
    EXPECT_EQ(mrc_soft_reg_mr(pd, addr, length, access), nullptr);
    EXPECT_EQ(errno, error);
  };
  refused(memory, 64, IBV_ACCESS_REMOTE_WRITE, EINVAL);  // without local write
  refused(memory, 64, 1 << 14, EINVAL);
  refused(memory, 0, IBV_ACCESS_LOCAL_WRITE, EINVAL);
  refused(memory, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE, EINVAL);
  refused(reinterpret_cast<void*>(4096), 64, IBV_ACCESS_LOCAL_WRITE, EFAULT);
  auto* pages = static_cast<uint8_t*>(mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  refused(pages, 8192, IBV_ACCESS_LOCAL_WRITE, EFAULT);
  ibv_mr* read_only = mrc_soft_reg_mr(pd, pages, 8192, 0);
  EXPECT_NE(read_only, nullptr);
  EXPECT_EQ(mrc_soft_dereg_mr(read_only), 0);
  mprotect(pages + 4096, 4096, PROT_NONE);
  refused(pages, 8192, 0, EFAULT);
  munmap(pages, 8192);
}

// spec/clients.md rule 16. [API-MEM-1]
TEST_F(RegionsTest, dmabuf_regions_are_not_supported_and_say_exactly_that) {
  for (ibv_pd* domain : {pd, static_cast<ibv_pd*>(nullptr)}) {
    errno = 0;
    EXPECT_EQ(mrc_soft_reg_dmabuf_mr(domain, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
  }
}

// [API-MEM-2]: a write into memory that has gone since, and one out of it.
TEST_F(RegionsTest, memory_that_is_gone_fails_its_queue_pair) {
  for (const bool target : {true, false}) {
    End a(context, pd), b(context, pd);
    connect(&a, &b);
    harness::GoneMemory memory;
    ibv_mr* mr = mrc_soft_reg_mr(pd, memory.data(), memory.kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    ASSERT_NE(mr, nullptr);
    memory.go(target ? memory.kTruncated : memory.kUnmapped);
    testing::internal::CaptureStderr();
    if (target) {
      ASSERT_EQ(a.write_to(memory.data(), mr->rkey, 7, 4096, IBV_SEND_SIGNALED), 0);
    } else {
      ASSERT_EQ(a.write_from(memory.data(), mr->lkey, b, 7, 4096, IBV_SEND_SIGNALED), 0);
    }
    const ibv_wc wc = a.wait();
    EXPECT_EQ(wc.wr_id, 7u);
    EXPECT_EQ(wc.status, target ? IBV_WC_REM_OP_ERR : IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(a.state(), IBV_QPS_ERR);
    const std::string log = testing::internal::GetCapturedStderr();
    char region[32], key[32];
    std::snprintf(region, sizeof region, "region %p of", static_cast<void*>(memory.data()));
    std::snprintf(key, sizeof key, "key 0x%x", mr->lkey);
    for (const std::string& part : {std::string(region), std::string(key), std::string(target ? "written" : "read")})
      EXPECT_THAT(log, testing::HasSubstr(part));
    for (End* failed : {&a, &b}) {
      if (!target && failed == &b) continue;
      mrc_async_event event;
      ASSERT_EQ(mrc_get_async_event(context, &event), 0);
      EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
      mrc_ack_async_event(&event);
    }
    EXPECT_EQ(mrc_soft_dereg_mr(mr), 0);
  }
}

// [API-MEM-2]
TEST_F(RegionsTest, inline_data_that_cannot_be_read_is_refused_when_posted) {
  const harness::NoFaultHandlers none;
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  harness::GoneMemory memory;
  memory.go(memory.kProtected);
  EXPECT_EQ(a.write_from(memory.data(), 0, b, 7, 32, IBV_SEND_SIGNALED | IBV_SEND_INLINE), EFAULT);
  ASSERT_EQ(a.write(b, 8, 32, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(a.wait().wr_id, 8u);
}

TEST_F(RegionsTest, a_guarded_access_reports_its_fault) {
  harness::GoneMemory memory;
  static int runs;
  runs = 0;
  const auto touch = [](void* at) {
    ++runs;
    *static_cast<volatile char*>(at) = 1;
  };
  const iovec piece = memory.piece();
  void* fault = nullptr;
  mrc_soft_dereg_mr(mrc_soft_reg_mr(pd, memory.data(), memory.kBytes, 0));
  EXPECT_EQ(mrc_soft_guarded_access(touch, memory.data() + 5, &piece, 1, &fault), 0);
  memory.go(memory.kUnmapped);
  EXPECT_EQ(mrc_soft_guarded_access(touch, memory.data() + 5, &piece, 1, &fault), EFAULT);
  EXPECT_EQ(fault, memory.data() + 5);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(mrc_soft_guarded_access(touch, memory.data() + 5, &piece, 1, nullptr), EFAULT);
  EXPECT_EQ(mrc_soft_guarded_access(nullptr, nullptr, &piece, 1, nullptr), EINVAL);
  EXPECT_EQ(mrc_soft_guarded_access(touch, nullptr, nullptr, 1, nullptr), EINVAL);
}

// An address of its own for peers, as ibv_reg_mr_iova2 has it.
TEST_F(RegionsTest, region_with_another_remote_address) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  ibv_mr* mr =
      mrc_soft_reg_mr_iova(pd, b.buffer.data(), 4096, 0x1000, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ASSERT_NE(mr, nullptr);
  ibv_sge sge{reinterpret_cast<uint64_t>(a.buffer.data()), 8, a.mr->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = 0x1000 + 4088;
  wr.wr.rdma.rkey = mr->rkey;
  a.buffer[7] = 0x77;
  ibv_send_wr* bad;
  ASSERT_EQ(mrc_post_send(a.qp, &wr, &bad), 0);
  EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
  EXPECT_EQ(b.buffer[4095], 0x77);
  EXPECT_EQ(mrc_soft_dereg_mr(mr), 0);
}

}  // namespace
}  // namespace mrc::api
