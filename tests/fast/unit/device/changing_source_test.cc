// The application writes to the memory that a request reads: what arrives is either of its contents, and the packet is
// good all the same. A wrong ICRC would be dropped and sent again, and the path would be suspected of losses.
#include <optional>
#include <string>

#include "harness/changing_memory.h"
#include "virtual_devices.h"

namespace mrc::device {
namespace {

using harness::ChangingMemory;

// Packets straddle the pages, so that each one that reads a protected page has read of the page before.
constexpr size_t kPages = 64, kOffset = 24;

class ChangingSource : public testing::Test {
 protected:
  void start(const DeviceConfig& config, const std::string& faults) {
    pair_.emplace(config, faults);
    from_.emplace(pair_->a.get(), 1);
    to_.emplace(pair_->b.get(), 1);
    pair_->connect(&*from_, &*to_);
    const DeviceLock lock(pair_->a->mutex());
    key_ = pair_->a->endpoint().memory().add(source_.data(), reinterpret_cast<uint64_t>(source_.data()),
                                             source_.bytes(), core::kAccessLocalWrite, 1);
  }
  // The source changes while the packets are made, and between the steps.
  void write() {
    source_.arm();
    const int done = from_->completions + 1;
    {
      const DeviceLock lock(pair_->a->mutex());
      const core::Sge sge{reinterpret_cast<uint64_t>(source_.data()) + kOffset,
                          static_cast<uint32_t>(source_.bytes() - kOffset), key_};
      core::SendWr wr;
      wr.signaled = true;
      wr.sges = &sge;
      wr.num_sge = 1;
      wr.remote_addr = reinterpret_cast<uint64_t>(to_->memory.data());
      wr.rkey = to_->rkey;
      ASSERT_EQ(pair_->a->endpoint().post_send(pair_->a->now(), from_->qp, wr), core::PostResult::kOk);
      pair_->a->transmit_locked();
    }
    uint8_t value = 0;
    ASSERT_TRUE(pair_->run_until([&] {
      for (size_t page = 0; page < kPages; page += 2) source_.data()[page * ChangingMemory::kPage + 100] = ++value;
      return from_->completions == done;
    }));
    EXPECT_EQ(from_->sent.back().status, core::WcStatus::kSuccess);
  }
  uint64_t wrong_icrcs() {
    const DeviceLock lock(pair_->b->mutex());
    return pair_->b->endpoint().counters().drop_icrc;
  }

  ChangingMemory source_{kPages};
  std::optional<VirtualPair> pair_;
  std::optional<End> from_, to_;
  Key key_;
};

TEST_F(ChangingSource, a_write_arrives_without_a_wrong_icrc_and_keeps_its_evs) {
  start(virtual_config(), "");
  for (int i = 0; i < 8; ++i) write();
  EXPECT_GE(source_.changes(), 8 * kPages / 2);
  EXPECT_EQ(wrong_icrcs(), 0u);
  const DeviceLock lock(pair_->a->mutex());
  const core::Counters& counters = pair_->a->endpoint().counters();
  EXPECT_EQ(counters.ev_assumed_bad, 0u);
  EXPECT_EQ(counters.ev_skips, 0u);
}

// What is sent again is read again.
TEST_F(ChangingSource, retransmissions_have_the_icrc_of_what_they_carry) {
  start(virtual_config(), "seed=5; loss=0.05");
  for (int i = 0; i < 8; ++i) write();
  EXPECT_GE(source_.changes(), 8 * kPages / 2);
  EXPECT_EQ(wrong_icrcs(), 0u);
  const DeviceLock lock(pair_->a->mutex());
  EXPECT_GT(pair_->a->endpoint().counters().retransmits, 0u);
}

TEST_F(ChangingSource, without_the_icrc_it_arrives_likewise) {
  DeviceConfig config = virtual_config();
  config.settings.icrc = false;
  start(config, "");
  write();
  EXPECT_GE(source_.changes(), kPages / 2);
}

}  // namespace
}  // namespace mrc::device
