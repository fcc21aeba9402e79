// Requirements of a message transfer, for every ABI version: sizes, tags, groups, many in flight, closing.
#include <algorithm>

#include "fixture.h"

namespace mrc::nccl_test {

namespace {

class DataTest : public NetTest {
 protected:
  void SetUp() override {
    NetTest::SetUp();
    pair_ = std::make_unique<Pair>(*net_);
    pair_->join();
    ASSERT_FALSE(HasFatalFailure());
  }
  void TearDown() override {
    pair_.reset();
    NetTest::TearDown();
  }

  // One message from post to check.
  void transfer(size_t sent, size_t posted) {
    SCOPED_TRACE(testing::Message() << sent << " bytes into " << posted);
    Buffer from = pair_->buffer(true, pattern(std::max<size_t>(sent, 1), static_cast<uint32_t>(sent)));
    Buffer to = pair_->buffer(false, std::vector<uint8_t>(std::max<size_t>(posted, 1), 0xEE));
    void* recv = pair_->irecv(to, posted, 7);
    void* send = pair_->isend(from, sent, 7);
    ASSERT_NE(recv, nullptr);
    ASSERT_NE(send, nullptr);
    const size_t arrives = std::min(sent, posted);
    EXPECT_EQ(pair_->finish(recv)[0], static_cast<int>(arrives));
    EXPECT_EQ(pair_->finish(send)[0], static_cast<int>(arrives));
    EXPECT_TRUE(std::equal(to.bytes.begin(), to.bytes.begin() + arrives, from.bytes.begin()));
    EXPECT_TRUE(std::all_of(to.bytes.begin() + arrives, to.bytes.end(), [](uint8_t b) { return b == 0xEE; }));
    pair_->release(true, from);
    pair_->release(false, to);
  }

  std::unique_ptr<Pair> pair_;
};

TEST_P(DataTest, messages_of_all_sizes_arrive_whole) {
  for (size_t size : {0, 1, 7, 8, 64, 255, 4095, 4096, 4097, 65536, 1 << 20, (8 << 20) - 1, 8 << 20, (8 << 20) + 1})
    transfer(size, size);
}

TEST_P(DataTest, a_smaller_message_tells_its_size) {
  for (size_t size : {0, 1, 100, 5000}) transfer(size, 70000);
}

TEST_P(DataTest, a_larger_message_is_cut_off) {
  transfer(70000, 65536);
  transfer(9 << 20, 8 << 20);
  transfer(100, 0);
}

TEST_P(DataTest, a_send_waits_until_a_receive_is_posted) {
  Buffer from = pair_->buffer(true, pattern(1000, 1));
  Buffer to = pair_->buffer(false, std::vector<uint8_t>(1000));
  void* request = nullptr;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(net_->isend(pair_->sender(), from.data(), 1000, 1, from.memory, &request), ncclSuccess);
    ASSERT_EQ(request, nullptr);
  }
  void* recv = pair_->irecv(to, 1000, 1);
  pair_->finish(pair_->isend(from, 1000, 1));
  pair_->finish(recv);
  EXPECT_EQ(to.bytes, from.bytes);
  pair_->release(true, from);
  pair_->release(false, to);
}

TEST_P(DataTest, a_group_is_matched_by_tags_in_any_order_of_sends) {
  for (const int n : {2, 5, 8}) {
    std::vector<Buffer> from, to;
    std::vector<Buffer*> targets;
    std::vector<size_t> sizes;
    std::vector<int> tags;
    for (int i = 0; i < n; ++i) {
      const size_t size = i == 2 ? 0 : 1000 * static_cast<size_t>(i) + 3;
      from.push_back(pair_->buffer(true, pattern(size + 1, static_cast<uint32_t>(i))));
      to.push_back(pair_->buffer(false, std::vector<uint8_t>(size + 100)));
      sizes.push_back(size + 100);
      tags.push_back(100 + i);
    }
    for (Buffer& b : to) targets.push_back(&b);
    void* recv = pair_->irecv(targets, sizes, tags);
    std::vector<void*> sends(n);
    for (int k = 0; k < n; ++k) {
      const int i = (k * 3 + 1) % n;  // n has no factor 3
      sends[i] = pair_->isend(from[i], from[i].bytes.size() - 1, 100 + i);
      int done = 0;
      if (k + 1 < n) {
        ASSERT_EQ(net_->test(recv, &done, nullptr), ncclSuccess);
        EXPECT_EQ(done, 0);
      }
    }
    for (int i = 0; i < n; ++i) EXPECT_EQ(pair_->finish(sends[i])[0], static_cast<int>(from[i].bytes.size() - 1));
    const std::vector<int> got = pair_->finish(recv, n);
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(got[i], static_cast<int>(from[i].bytes.size() - 1));
      EXPECT_TRUE(std::equal(from[i].bytes.begin(), from[i].bytes.end() - 1, to[i].bytes.begin())) << i;
      pair_->release(true, from[i]);
      pair_->release(false, to[i]);
    }
  }
}

// No lane carries an empty message that is not the last one of its row.
TEST_P(DataTest, a_group_begins_with_an_empty_message) {
  Buffer from = pair_->buffer(true, pattern(100, 6));
  Buffer one = pair_->buffer(false, std::vector<uint8_t>(100)), two = pair_->buffer(false, std::vector<uint8_t>(100));
  for (const size_t second : {size_t{100}, size_t{0}}) {
    void* recv = pair_->irecv({&one, &two}, {100, 100}, {1, 2});
    void* a = pair_->isend(from, 0, 1);
    void* b = pair_->isend(from, second, 2);
    EXPECT_EQ(pair_->finish(a)[0], 0);
    EXPECT_EQ(pair_->finish(b)[0], static_cast<int>(second));
    EXPECT_EQ(pair_->finish(recv, 2), (std::vector<int>{0, static_cast<int>(second)}));
  }
  EXPECT_EQ(two.bytes, from.bytes);
  pair_->release(true, from);
  pair_->release(false, one);
  pair_->release(false, two);
}

TEST_P(DataTest, two_members_of_one_tag_are_served_in_order) {
  Buffer from = pair_->buffer(true, pattern(2000, 3));
  Buffer one = pair_->buffer(false, std::vector<uint8_t>(1000)), two = pair_->buffer(false, std::vector<uint8_t>(1000));
  void* recv = pair_->irecv({&one, &two}, {1000, 1000}, {5, 5});
  void* a = pair_->isend(from, 1000, 5);
  void* b = pair_->isend(from, 1000, 5, 1000);
  pair_->finish(a);
  pair_->finish(b);
  pair_->finish(recv, 2);
  EXPECT_TRUE(std::equal(one.bytes.begin(), one.bytes.end(), from.bytes.begin()));
  EXPECT_TRUE(std::equal(two.bytes.begin(), two.bytes.end(), from.bytes.begin() + 1000));
  pair_->release(true, from);
  pair_->release(false, one);
  pair_->release(false, two);
}

TEST_P(DataTest, a_wrong_tag_takes_no_buffer) {
  Buffer from = pair_->buffer(true, pattern(100, 4)), to = pair_->buffer(false, std::vector<uint8_t>(100));
  void* recv = pair_->irecv(to, 100, 1);
  void* request = nullptr;
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(net_->isend(pair_->sender(), from.data(), 100, 2, from.memory, &request), ncclSuccess);
    ASSERT_EQ(request, nullptr);
  }
  pair_->finish(pair_->isend(from, 100, 1));
  pair_->finish(recv);
  pair_->release(true, from);
  pair_->release(false, to);
}

// As many as NCCL may have: 32 groups of 8, several times over, so that every place is used again.
TEST_P(DataTest, all_requests_may_be_in_flight) {
  constexpr int kGroups = NCCL_NET_MAX_REQUESTS, kMembers = 8, kRounds = 12;
  constexpr size_t kSize = 300;
  Buffer from = pair_->buffer(true, pattern(kSize * kGroups * kMembers, 5));
  std::vector<Buffer> to;
  for (int i = 0; i < kGroups * kMembers; ++i) to.push_back(pair_->buffer(false, std::vector<uint8_t>(kSize)));
  for (int round = 0; round < kRounds; ++round) {
    std::vector<void*> receives, sends;
    for (int g = 0; g < kGroups; ++g) {
      std::vector<Buffer*> targets;
      std::vector<int> tags(kMembers);
      std::iota(tags.begin(), tags.end(), 0);
      for (int m = 0; m < kMembers; ++m) targets.push_back(&to[g * kMembers + m]);
      receives.push_back(pair_->irecv(targets, std::vector<size_t>(kMembers, kSize), tags));
    }
    for (int i = 0; i < kGroups * kMembers; ++i)
      sends.push_back(pair_->isend(from, kSize - round, i % kMembers, i * kSize));
    for (void* send : sends) pair_->finish(send);
    for (void* recv : receives)
      for (int size : pair_->finish(recv, kMembers)) ASSERT_EQ(size, static_cast<int>(kSize) - round);
    for (int i = 0; i < kGroups * kMembers; ++i)
      ASSERT_TRUE(std::equal(to[i].bytes.begin(), to[i].bytes.end() - round, from.bytes.begin() + i * kSize)) << i;
  }
  pair_->release(true, from);
  for (Buffer& b : to) pair_->release(false, b);
}

TEST_P(DataTest, more_receives_than_there_is_room_for_are_put_off) {
  Buffer from = pair_->buffer(true, pattern(64, 6)), to = pair_->buffer(false, std::vector<uint8_t>(64));
  void* data = to.data();
  const size_t size = 64;
  int tag = 0;
  std::vector<void*> receives;
  for (;;) {
    void* request = nullptr;
    ASSERT_EQ(net_->irecv(pair_->receiver(), 1, &data, &size, &tag, &to.memory, &request), ncclSuccess);
    if (request == nullptr) break;
    receives.push_back(request);
    ASSERT_LT(receives.size(), 100000U);
  }
  EXPECT_GE(receives.size(), size_t{NCCL_NET_MAX_REQUESTS} * 8);
  for (void* recv : receives) {
    pair_->finish(pair_->isend(from, 64));
    pair_->finish(recv);
  }
  pair_->finish(pair_->isend(from, (receives.push_back(pair_->irecv(to, 64)), 64)));
  pair_->finish(receives.back());
  pair_->release(true, from);
  pair_->release(false, to);
}

TEST_P(DataTest, flush_of_host_memory_has_nothing_to_wait_for) {
  Buffer to = pair_->buffer(false, std::vector<uint8_t>(64));
  void *data = to.data(), *request = &data;
  int size = 64;
  EXPECT_EQ(net_->iflush(pair_->receiver(), 1, &data, &size, &to.memory, &request), ncclSuccess);
  EXPECT_EQ(request, nullptr);
  pair_->release(false, to);
}

TEST_P(DataTest, a_receive_whose_completion_is_optional_completes) {
  Buffer from = pair_->buffer(true, pattern(64, 6)), to = pair_->buffer(false, std::vector<uint8_t>(64));
  void *data = to.data(), *request = reinterpret_cast<void*>(uintptr_t{NCCL_NET_OPTIONAL_RECV_COMPLETION});
  const size_t size = 64;
  int tag = 0;
  ASSERT_EQ(net_->irecv(pair_->receiver(), 1, &data, &size, &tag, &to.memory, &request), ncclSuccess);
  ASSERT_NE(request, nullptr);
  pair_->finish(pair_->isend(from, 64));
  pair_->finish(request);
  EXPECT_EQ(to.bytes, from.bytes);
  pair_->release(true, from);
  pair_->release(false, to);
}

TEST_P(DataTest, a_registration_serves_other_connections_of_the_device) {
  Pair other(*net_);
  other.join();
  Buffer from = pair_->buffer(true, pattern(500, 9)), to = pair_->buffer(false, std::vector<uint8_t>(500));
  void* recv = other.irecv(to, 500);
  other.finish(other.isend(from, 500));
  other.finish(recv);
  EXPECT_EQ(to.bytes, from.bytes);
  pair_->release(true, from);
  pair_->release(false, to);
}

TEST_P(DataTest, device_memory_is_refused) {
  std::vector<uint8_t> bytes(64);
  void* memory = &bytes;
  EXPECT_NE(net_->reg(pair_->sender(), bytes.data(), 64, NCCL_PTR_CUDA, &memory), ncclSuccess);
  EXPECT_EQ(memory, nullptr);
  EXPECT_NE(net_->reg_dma_buf(pair_->sender(), bytes.data(), 64, 0, -1, &memory), ncclSuccess);
}

TEST_P(DataTest, closing_with_requests_pending_leaves_nothing_behind) {
  Buffer from = pair_->buffer(true, pattern(1 << 20, 1));
  Buffer to = pair_->buffer(false, std::vector<uint8_t>(1 << 20));
  for (int i = 0; i < 8; ++i) pair_->irecv(to, 1 << 20);
  for (int i = 0; i < 4; ++i) pair_->isend(from, 1 << 20);
  pair_->release(true, from);
  pair_->release(false, to);
  pair_->close_receiver();
  pair_->close_sender();
}

INSTANTIATE_TEST_SUITE_P(Abi, DataTest, testing::ValuesIn(kVersions), testing::PrintToStringParamName());

}  // namespace

}  // namespace mrc::nccl_test
