// GPU memory through a stand-in for gdrcopy, and as dma-bufs, at every ABI version: a touch of device memory other than
// through the mapping ends the test. Each suite needs a process of its own, as ctest gives it.
#include <sys/mman.h>

#include <cstdlib>

#include "fixture.h"

extern "C" {
void* standin_gpu_allocate(size_t size);
int standin_gpu_file(void* base);
int standin_gdr_live();
}

namespace mrc::nccl_test {

namespace {

constexpr size_t kSize = 1 << 20;

// Device memory, and the test's own view of it.
struct Gpu {
  Gpu()
      : device(static_cast<uint8_t*>(standin_gpu_allocate(kSize))),
        view(static_cast<uint8_t*>(
            mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, standin_gpu_file(device), 0))) {}
  uint8_t* device;
  uint8_t* view;
};

class GpuTest : public NetTest {
 protected:
  void* registered(void* comm, void* data, size_t size, int type) {
    void* memory = nullptr;
    EXPECT_EQ(net_->reg(comm, data, size, type, &memory), ncclSuccess) << logged();
    return memory;
  }
  void transfer(Pair& pair, void* from, void* from_memory, void* to, void* to_memory, size_t size) {
    void *send = nullptr, *recv = nullptr;
    int tag = 3, got = static_cast<int>(size);
    ASSERT_TRUE(eventually([&] {
      return net_->irecv(pair.receiver(), 1, &to, &size, &tag, &to_memory, &recv) != ncclSuccess || recv != nullptr;
    }));
    ASSERT_TRUE(eventually([&] {
      return net_->isend(pair.sender(), from, size, tag, from_memory, &send) != ncclSuccess || send != nullptr;
    }));
    ASSERT_NE(send, nullptr) << logged();
    pair.finish(send);
    pair.finish(recv);
    void* flush = nullptr;
    ASSERT_EQ(net_->iflush(pair.receiver(), 1, &to, &got, &to_memory, &flush), ncclSuccess);
    if (flush != nullptr) pair.finish(flush);
  }
};

TEST_P(GpuTest, every_direction_through_the_mapping_alone) {
  ncclNetProperties_t properties{};
  ASSERT_EQ(net_->properties(0, &properties), ncclSuccess);
  EXPECT_EQ(properties.ptrSupport, NCCL_PTR_HOST | NCCL_PTR_CUDA) << logged();
  EXPECT_STREQ(getenv("NCCL_NET_GDR_READ"), "0");
  Pair pair(*net_);
  pair.join();
  Gpu a, b;
  std::vector<uint8_t> host = pattern(kSize, 1);
  // Not at the beginning of a GPU's page, and over the end of one.
  const size_t at = 5000, size = 300001;
  void* const host_memory = registered(pair.sender(), host.data(), kSize, NCCL_PTR_HOST);
  void* const a_receives = registered(pair.receiver(), a.device + at, size, NCCL_PTR_CUDA);
  void* const a_sends = registered(pair.sender(), a.device + at, size, NCCL_PTR_CUDA);
  void* const b_memory = registered(pair.receiver(), b.device, kSize, NCCL_PTR_CUDA);
  std::vector<uint8_t> back(size);
  void* const back_memory = registered(pair.receiver(), back.data(), size, NCCL_PTR_HOST);
  transfer(pair, host.data(), host_memory, a.device + at, a_receives, size);
  EXPECT_EQ(std::memcmp(a.view + at, host.data(), size), 0);
  EXPECT_EQ(a.view[at - 1], 0);
  EXPECT_EQ(a.view[at + size], 0);
  transfer(pair, a.device + at, a_sends, b.device + 7, b_memory, size);
  EXPECT_EQ(std::memcmp(b.view + 7, host.data(), size), 0);
  a.view[at] ^= 0xff;  // the next message has the memory's content of its own time
  transfer(pair, a.device + at, a_sends, back.data(), back_memory, 100);
  EXPECT_EQ(std::memcmp(back.data(), a.view + at, 100), 0);
  EXPECT_EQ(standin_gdr_live(), 6) << "three registrations";
  for (void* memory : {host_memory, a_sends}) EXPECT_EQ(net_->dereg(pair.sender(), memory), ncclSuccess);
  for (void* memory : {a_receives, b_memory, back_memory}) EXPECT_EQ(net_->dereg(pair.receiver(), memory), ncclSuccess);
  EXPECT_EQ(standin_gdr_live(), 0);
}

TEST_P(GpuTest, memory_of_no_gpu_is_refused_with_the_reason) {
  Pair pair(*net_);
  pair.join();
  std::vector<uint8_t> bytes(100);
  void* memory = nullptr;
  EXPECT_NE(net_->reg(pair.sender(), bytes.data(), bytes.size(), NCCL_PTR_CUDA, &memory), ncclSuccess);
  EXPECT_EQ(memory, nullptr);
  EXPECT_NE(logged().find("gdr_pin_buffer: Invalid argument"), std::string::npos) << logged();
  EXPECT_EQ(standin_gdr_live(), 0);
}

INSTANTIATE_TEST_SUITE_P(Versions, GpuTest, ::testing::ValuesIn(kVersions));

// To the plugin a dma-buf is a file that can be mapped, as the stand-in's is.
class DmaBufTest : public GpuTest {
 protected:
  void SetUp() override {
    setenv("NCCL_MRC_GPU", "dmabuf", 1);
    GpuTest::SetUp();
  }
};

TEST_P(DmaBufTest, both_directions_through_the_mapping_alone) {
  ncclNetProperties_t properties{};
  ASSERT_EQ(net_->properties(0, &properties), ncclSuccess);
  EXPECT_EQ(properties.ptrSupport, NCCL_PTR_HOST | NCCL_PTR_CUDA | NCCL_PTR_DMABUF) << logged();
  Pair pair(*net_);
  pair.join();
  Gpu gpu;
  std::vector<uint8_t> host = pattern(kSize, 1), back(kSize);
  const size_t at = 5000, size = 300001;  // not at the beginning of a page, nor to the end of one
  void* const host_memory = registered(pair.sender(), host.data(), kSize, NCCL_PTR_HOST);
  void* const back_memory = registered(pair.receiver(), back.data(), kSize, NCCL_PTR_HOST);
  void *receives = nullptr, *sends = nullptr;
  const int file = standin_gpu_file(gpu.device);
  ASSERT_EQ(net_->reg_dma_buf(pair.receiver(), gpu.device + at, size, at, file, &receives), ncclSuccess) << logged();
  ASSERT_EQ(net_->reg_dma_buf(pair.sender(), gpu.device + at, size, at, file, &sends), ncclSuccess) << logged();
  transfer(pair, host.data(), host_memory, gpu.device + at, receives, size);
  EXPECT_EQ(std::memcmp(gpu.view + at, host.data(), size), 0);
  EXPECT_EQ(gpu.view[at - 1], 0);
  EXPECT_EQ(gpu.view[at + size], 0);
  transfer(pair, gpu.device + at, sends, back.data(), back_memory, size);
  EXPECT_EQ(std::memcmp(back.data(), host.data(), size), 0);
  EXPECT_EQ(back[size], 0);
  EXPECT_EQ(standin_gdr_live(), 0);
  for (void* memory : {host_memory, sends}) EXPECT_EQ(net_->dereg(pair.sender(), memory), ncclSuccess);
  for (void* memory : {back_memory, receives}) EXPECT_EQ(net_->dereg(pair.receiver(), memory), ncclSuccess);
}

TEST_P(DmaBufTest, memory_that_cannot_be_mapped_is_refused_with_the_reason) {
  Pair pair(*net_);
  pair.join();
  Gpu gpu;
  void* memory = &gpu;
  EXPECT_NE(net_->reg_dma_buf(pair.sender(), gpu.device, kSize, 0, -1, &memory), ncclSuccess);
  EXPECT_EQ(memory, nullptr);
  EXPECT_NE(logged().find("the driver maps no dma-buf for the CPU"), std::string::npos) << logged();
}

INSTANTIATE_TEST_SUITE_P(Versions, DmaBufTest, ::testing::ValuesIn(kVersions));

TEST(Gpu, off_leaves_it_to_nccl) {
  setenv("NCCL_MRC_GPU", "off", 1);
  const auto net = open_plugin(11);
  ASSERT_NE(net, nullptr);
  ASSERT_EQ(net->init(log_sink), ncclSuccess);
  ncclNetProperties_t properties{};
  ASSERT_EQ(net->properties(0, &properties), ncclSuccess);
  EXPECT_EQ(properties.ptrSupport, NCCL_PTR_HOST);
  EXPECT_EQ(getenv("NCCL_NET_GDR_READ"), nullptr);
  EXPECT_NE(logged().find("GPU memory is not registered (NCCL_MRC_GPU=off)"), std::string::npos) << logged();
  EXPECT_EQ(net->finalize(), ncclSuccess);
}

TEST(GpuDmaBuf, is_logged) {
  setenv("NCCL_MRC_GPU", "dmabuf", 1);
  const auto net = open_plugin(11);
  ASSERT_NE(net, nullptr);
  ASSERT_EQ(net->init(log_sink), ncclSuccess);
  EXPECT_NE(logged().find("GPU memory is registered as dma-bufs that the CPU maps"), std::string::npos) << logged();
  EXPECT_EQ(net->finalize(), ncclSuccess);
}

}  // namespace

}  // namespace mrc::nccl_test
