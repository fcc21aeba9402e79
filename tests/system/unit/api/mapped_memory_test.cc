// Whether a range of memory may be registered, as the kernel's table says and as probes find.
#include "api/mapped_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace mrc::api {
namespace {

constexpr size_t kPage = 4096;

class MappedMemory : public testing::Test {
 protected:
  // Three pages, the last of them unmapped.
  void SetUp() override {
    pages_ =
        static_cast<uint8_t*>(mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(pages_, MAP_FAILED);
    ASSERT_EQ(munmap(pages_ + 2 * kPage, kPage), 0);
  }
  void TearDown() override { munmap(pages_, 2 * kPage); }

  void expect(size_t offset, size_t length, bool writable, bool wanted) const {
    const auto start = reinterpret_cast<uint64_t>(pages_) + offset;
    EXPECT_EQ(memory_mapped(start, length, writable), wanted) << offset << " + " << length;
    EXPECT_EQ(probe_memory(start, length, writable), wanted) << offset << " + " << length;
    if (const std::optional<bool> known = query_mappings(start, length, writable)) {
      EXPECT_EQ(*known, wanted) << offset << " + " << length;
    }
  }

  uint8_t* pages_ = nullptr;
};

TEST_F(MappedMemory, ends_where_the_mapping_ends) {
  for (const bool writable : {false, true}) {
    expect(0, 2 * kPage, writable, true);
    expect(1, 1, writable, true);
    expect(2 * kPage - 1, 1, writable, true);
    expect(0, 2 * kPage + 1, writable, false);
    expect(2 * kPage - 1, 2, writable, false);
    expect(2 * kPage, 1, writable, false);
  }
}

TEST_F(MappedMemory, protection_counts_at_both_ends) {
  for (const size_t page : {size_t{0}, kPage}) {
    ASSERT_EQ(mprotect(pages_ + page, kPage, PROT_READ), 0);
    expect(0, 2 * kPage, false, true);
    expect(0, 2 * kPage, true, false);
    expect(kPage - page, kPage, true, true);  // the other one
    ASSERT_EQ(mprotect(pages_ + page, kPage, PROT_NONE), 0);
    expect(0, 2 * kPage, false, false);
    expect(kPage - page, kPage, false, true);
    ASSERT_EQ(mprotect(pages_ + page, kPage, PROT_READ | PROT_WRITE), 0);
  }
}

TEST_F(MappedMemory, a_hole_in_the_middle_is_found) {
  auto* const five =
      static_cast<uint8_t*>(mmap(nullptr, 5 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(five, MAP_FAILED);
  ASSERT_EQ(munmap(five + 2 * kPage, kPage), 0);
  const auto start = reinterpret_cast<uint64_t>(five);
  EXPECT_FALSE(memory_mapped(start, 5 * kPage, false));
  EXPECT_FALSE(probe_memory(start, 5 * kPage, false));
  EXPECT_TRUE(probe_memory(start, 2 * kPage, true));
  munmap(five, 5 * kPage);
}

// A probe for writing changes nothing.
TEST_F(MappedMemory, contents_stay) {
  for (size_t i = 0; i < 2 * kPage; ++i) pages_[i] = static_cast<uint8_t>(i * 7);
  for (size_t offset = 0; offset < 8; ++offset) expect(offset, 2 * kPage - 2 * offset, true, true);
  for (size_t i = 0; i < 2 * kPage; ++i) ASSERT_EQ(pages_[i], static_cast<uint8_t>(i * 7)) << i;
}

}  // namespace
}  // namespace mrc::api
