// Registered memory: what programs ask for, and what is refused with which error.
#include <sys/mman.h>

#include <cerrno>
#include <vector>

#include "pair.h"

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
