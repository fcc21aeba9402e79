#include "core/send_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <span>

namespace mrc::core {
namespace {

constexpr uint32_t kMtu = 256;
constexpr uint32_t kPd = 4;
constexpr uint32_t kLongest = SendQueue::kMaxMessage;

class SendQueueTest : public testing::Test {
 protected:
  SendQueueTest() : table_(3) {
    q_.init({4, 1, 3, 32});
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<uint8_t>(i * 7);
    key_ = table_.add(bytes_.data(), base(), bytes_.size(), 1, kPd);
  }

  uint64_t base() const { return reinterpret_cast<uint64_t>(bytes_.data()); }

  PostResult post(std::vector<Sge> sges, bool imm = false, bool inline_data = false) {
    SendWr wr;
    wr.wr_id = next_id_++;
    wr.op = imm ? SendOp::kWriteImm : SendOp::kWrite;
    wr.sges = sges.data();
    wr.num_sge = static_cast<uint32_t>(sges.size());
    wr.inline_data = inline_data;
    return q_.post(Instant(), wr, kMtu);
  }
  PostResult post_bytes(uint32_t n, bool imm = false) { return post({{base(), n, key_}}, imm); }

  std::vector<uint8_t> gathered(const Wqe& w, uint64_t offset, uint32_t n) {
    const int count = q_.gather(w, offset, n, table_, kPd, iov_.data(), static_cast<int>(iov_.size()));
    std::vector<uint8_t> out;
    for (int i = 0; i < count; ++i) {
      const auto* p = static_cast<const uint8_t*>(iov_[static_cast<size_t>(i)].iov_base);
      out.insert(out.end(), p, p + iov_[static_cast<size_t>(i)].iov_len);
    }
    return out;
  }
  int count(const Wqe& w, uint64_t offset, uint32_t n, int room = 8) {
    return q_.gather(w, offset, n, table_, kPd, iov_.data(), room);
  }

  std::array<uint8_t, 4096> bytes_;
  MemoryTable table_;
  SendQueue q_;
  Key key_;
  uint64_t next_id_ = 0;
  std::array<iovec, 8> iov_;
};

TEST_F(SendQueueTest, packets_by_mtu) {
  for (auto [length, packets] : {std::pair{0u, 1u}, {1u, 1u}, {kMtu, 1u}, {kMtu + 1, 2u}, {4096u, 16u}}) {
    q_.reset();
    ASSERT_EQ(post_bytes(length), PostResult::kOk);
    EXPECT_EQ(q_.front().packets, packets) << length;
    EXPECT_EQ(q_.end_seq(), packets);
  }
}

TEST_F(SendQueueTest, full_at_its_limit_even_when_the_ring_has_more) {
  SendQueue odd;
  odd.init({3, 1, 1, 0});
  SendWr wr;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(odd.post(Instant(), wr, kMtu), PostResult::kOk);
  EXPECT_EQ(odd.post(Instant(), wr, kMtu), PostResult::kQueueFull);
  odd.pop_front();
  EXPECT_EQ(odd.post(Instant(), wr, kMtu), PostResult::kOk);
  EXPECT_EQ(odd.size(), 3u);
}

TEST_F(SendQueueTest, refuses_what_is_too_much) {
  const Sge one{base(), 1, key_};
  EXPECT_EQ(post({one, one, one}), PostResult::kOk);
  EXPECT_EQ(post({one, one, one, one}), PostResult::kTooManySges);
  EXPECT_EQ(post({{base(), 32, Key()}}, false, true), PostResult::kOk);
  EXPECT_EQ(post({{base(), 33, Key()}}, false, true), PostResult::kInlineTooLong);
  EXPECT_EQ(post({{base(), kLongest, key_}}), PostResult::kOk);
  EXPECT_EQ(post({{base(), kLongest, key_}, one}), PostResult::kTooLong);
  EXPECT_EQ(q_.size(), 3u);  // a refusal leaves nothing behind
}

// [MRC-METH-1] [MRC-METH-2]
TEST_F(SendQueueTest, numbers_messages_and_immediates) {
  post_bytes(300);
  post_bytes(10, true);
  post_bytes(10);
  post_bytes(10, true);
  const uint16_t msns[] = {0, 1, 2, 3};
  const int rqmsns[] = {-1, 0, -1, 1};
  const uint64_t seqs[] = {0, 2, 3, 4};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(q_.front().msn, msns[i]);
    EXPECT_EQ(q_.front().first_seq, seqs[i]);
    if (rqmsns[i] >= 0) {
      EXPECT_EQ(q_.front().rqmsn, rqmsns[i]);
    }
    q_.pop_front();
  }
  EXPECT_TRUE(q_.empty());
}

TEST_F(SendQueueTest, finds_the_request_of_a_packet_whatever_the_hint) {
  post_bytes(300);  // 0, 1
  post_bytes(0);    // 2
  post_bytes(800);  // 3 .. 6
  post_bytes(1);    // 7
  const uint64_t ids[] = {0, 0, 1, 2, 2, 2, 2, 3};
  for (uint64_t first_hint : {0ull, 1ull, 2ull, 3ull, 99ull})
    for (uint64_t seq = 0; seq < 8; ++seq) {
      uint64_t hint = first_hint;
      EXPECT_EQ(q_.find(seq, &hint).wr_id, ids[seq]) << seq << " from " << first_hint;
      EXPECT_EQ(hint, ids[seq]);
    }
  q_.pop_front();
  uint64_t stale = 0;
  EXPECT_EQ(q_.find(2, &stale).wr_id, 1u);
}

TEST_F(SendQueueTest, gathers_across_elements_and_skips_empty_ones) {
  const uint64_t nowhere = 0xDEAD;
  post({{base() + 10, 5, key_}, {nowhere, 0, Key(12345)}, {base() + 100, 300, key_}});
  const Wqe& w = q_.front();
  EXPECT_EQ(w.num_sge, 2);
  EXPECT_EQ(w.length, 305u);
  std::vector<uint8_t> want(bytes_.begin() + 10, bytes_.begin() + 15);
  want.insert(want.end(), bytes_.begin() + 100, bytes_.begin() + 400);
  EXPECT_EQ(gathered(w, 0, kMtu), std::vector<uint8_t>(want.begin(), want.begin() + kMtu));
  EXPECT_EQ(gathered(w, kMtu, 49), std::vector<uint8_t>(want.begin() + kMtu, want.end()));
  EXPECT_EQ(gathered(w, 4, 2), std::vector<uint8_t>(want.begin() + 4, want.begin() + 6));
  EXPECT_EQ(count(w, 305, 0), 0);
}

TEST_F(SendQueueTest, inline_data_is_taken_at_once_without_keys) {
  post({{base(), 3, Key()}, {base() + 50, 4, Key()}}, false, true);
  std::vector<uint8_t> want(bytes_.begin(), bytes_.begin() + 3);
  want.insert(want.end(), bytes_.begin() + 50, bytes_.begin() + 54);
  bytes_.fill(0);
  EXPECT_EQ(gathered(q_.front(), 0, 7), want);
}

// With several elements, inline bytes, and the oldest in the middle of the ring.
TEST_F(SendQueueTest, keeps_requests_when_it_grows) {
  SendQueue q;
  q.init({100, 1, 3, 8});
  SendWr wr;
  for (int i = 0; i < 10; ++i) ASSERT_EQ(q.post(Instant(), wr, kMtu), PostResult::kOk);
  for (int i = 0; i < 10; ++i) q.pop_front();
  for (uint64_t i = 0; i < 100; ++i) {
    const Sge sges[] = {{base() + i, 1, key_}, {base() + 2 * i, 1, key_}, {base() + 3 * i, 1, key_}};
    wr.wr_id = i;
    wr.sges = sges;
    wr.num_sge = 3;
    wr.inline_data = i % 2 == 1;
    ASSERT_EQ(q.post(Instant(), wr, kMtu), PostResult::kOk) << i;
  }
  EXPECT_EQ(q.post(Instant(), wr, kMtu), PostResult::kQueueFull);
  uint64_t hint = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    const Wqe& w = q.find(10 + i, &hint);
    EXPECT_EQ(w.wr_id, i);
    EXPECT_EQ(w.msn, 10 + i);
    const int n = q.gather(w, 0, 3, table_, kPd, iov_.data(), static_cast<int>(iov_.size()));
    std::vector<uint8_t> bytes;
    for (const iovec& v : std::span(iov_).first(static_cast<size_t>(n))) {
      const auto* at = static_cast<const uint8_t*>(v.iov_base);
      bytes.insert(bytes.end(), at, at + v.iov_len);
    }
    EXPECT_THAT(bytes, testing::ElementsAre(bytes_[i], bytes_[2 * i], bytes_[3 * i])) << i;
  }
}

TEST_F(SendQueueTest, bad_keys_and_ranges_are_found_when_gathering) {
  EXPECT_EQ(post({{base(), 10, Key(key_.value() + 1)}}), PostResult::kOk);
  EXPECT_EQ(count(q_.front(), 0, 10), -1);
  q_.pop_front();
  post({{base() + 4090, 6, key_}});
  EXPECT_EQ(count(q_.front(), 0, 6), 1);
  q_.pop_front();
  post({{base() + 4090, 7, key_}});
  EXPECT_EQ(count(q_.front(), 0, 1), -1);  // the whole element counts, not the part that is sent first
  q_.pop_front();
  const Key other_pd = table_.add(bytes_.data(), base(), 10, 1, kPd + 1);
  post({{base(), 10, other_pd}});
  EXPECT_EQ(count(q_.front(), 0, 10), -1);
}

TEST_F(SendQueueTest, no_room_is_no_success) {
  post({{base(), 5, key_}, {base() + 10, 5, key_}});
  EXPECT_EQ(count(q_.front(), 0, 10, 2), 2);
  EXPECT_EQ(count(q_.front(), 0, 10, 1), -1);
}

}  // namespace
}  // namespace mrc::core
