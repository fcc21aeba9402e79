// Memory of the rig's devices: an access outside of an allocation ends the process, and the allocation is named.
#include "cuda/memory.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <string>

namespace mrc::nccl_rig::cuda {

namespace {

void write_to(char* at) {
  *static_cast<volatile char*>(at) = 1;
}

void write_and_report(char* at) {
  report_faults();
  write_to(at);
}

char* device_memory(size_t size) {
  return static_cast<char*>(allocate(size, true, 0));
}

void write_after_release() {
  char* const memory = device_memory(256);
  release(memory);
  write_and_report(memory);
}

std::string named(long byte, size_t size) {
  return "nccl-rig: SIGSEGV at byte " + std::to_string(byte) + " of an allocation of " + std::to_string(size) +
         " bytes\n";
}

}  // namespace

// Sizes below a page, of one, and of one and of several pages of a GPU.
TEST(MemoryDeathTest, a_byte_behind_an_allocation_ends_the_process) {
  for (const size_t size : {256ul, 4096ul, 64ul << 10, 192ul << 10}) {
    char* const memory = device_memory(size);
    ASSERT_NE(memory, nullptr);
    write_to(memory + size - 1);
    EXPECT_EXIT(write_and_report(memory + size), testing::KilledBySignal(SIGSEGV),
                named(static_cast<long>(size), size));
    EXPECT_TRUE(release(memory));
  }
}

// Allocations end at multiples of 256 bytes, as those of CUDA do at the least.
TEST(MemoryDeathTest, a_byte_behind_the_alignment_ends_the_process) {
  char* const memory = device_memory(100);
  ASSERT_NE(memory, nullptr);
  write_to(memory + 255);
  EXPECT_EXIT(write_and_report(memory + 256), testing::KilledBySignal(SIGSEGV), named(256, 100));
  EXPECT_TRUE(release(memory));
}

TEST(MemoryDeathTest, a_byte_before_an_allocation_ends_the_process) {
  const size_t size = 64 << 10;
  char* const memory = device_memory(size);
  ASSERT_NE(memory, nullptr);
  write_to(memory);
  EXPECT_EXIT(write_and_report(memory - 1), testing::KilledBySignal(SIGSEGV), named(-1, size));
  EXPECT_TRUE(release(memory));
}

TEST(MemoryDeathTest, released_memory_is_no_allocation) {
  EXPECT_EXIT(write_after_release(), testing::KilledBySignal(SIGSEGV),
              "nccl-rig: SIGSEGV at 0x[0-9a-f]+, in no allocation of the rig\n");
}

TEST(MemoryTest, memory_of_devices_is_poisoned) {
  for (const size_t size : {100ul, 64ul << 10}) {
    char* const memory = device_memory(size);
    ASSERT_NE(memory, nullptr);
    for (const size_t at : {size_t{0}, size - 1}) EXPECT_EQ(static_cast<unsigned char>(memory[at]), kPoison);
    EXPECT_TRUE(release(memory));
    EXPECT_FALSE(release(memory));
  }
  EXPECT_EQ(live_allocations(), 0u);
}

}  // namespace mrc::nccl_rig::cuda
