// Copies that were needless, as the sender counts them, beside the duplicates that the receiver counts [MRC-CNT-3]: on
// networks that lose nothing, but delay packets until their sender takes them for lost, by each way to find a loss.
#include "scenario/pair.h"
#include "wire/packet.h"

namespace mrc::scenario {
namespace {

constexpr uint32_t kMessage = 10000;

class Needless : public testing::Test {
 protected:
  static bool is_data(const wire::Packet& p) { return wire::is_request(p.bth.opcode); }
  static bool reports_duplicate(const wire::Packet& p) { return p.bth.opcode == wire::Opcode::kSack && p.bth.ack_req; }

  void open(int planes, uint8_t timeout = 14) {
    FabricConfig c = without_queries();
    c.planes = planes;
    QpAttr attr;
    attr.timeout = timeout;
    pair_ = std::make_unique<Pair>(c, attr);
    // The first round trips are measured without any fault.
    for (uint64_t i = 0; i < 20; ++i) transfer();
    ASSERT_EQ(sender().retransmits, 0u);
  }
  simnet::SimNet& net() { return pair_->fabric.net(); }
  const Counters& sender() { return pair_->counters(0); }
  const Counters& receiver() { return pair_->counters(1); }
  void post() {
    const size_t offset = posted_ * kMessage % (pair_->source.size() - kMessage);
    ASSERT_EQ(pair_->write(posted_, offset, kMessage), PostResult::kOk);
    ++posted_;
  }
  void transfer() {
    post();
    ASSERT_TRUE(pair_->until_sends(posted_));
  }
  // Until everything is done, and everything that is under way has arrived.
  void finish() {
    ASSERT_TRUE(pair_->until_sends(posted_));
    pair_->pass(Duration::milliseconds(50));
    EXPECT_TRUE(pair_->all_ok(posted_));
  }
  // The first copies of so many packets from now on arrive that much later.
  void delay_first_copies(uint32_t packets, Duration by) {
    net().set_filter([this, packets, by, seen = 0u](int node, int plane, const wire::Flow& flow,
                                                    const std::vector<uint8_t>& bytes) mutable {
      wire::Packet p;
      if (node != 0 || wire::decode(bytes, &p) != wire::DecodeError::kOk || !is_data(p) || p.bth.rtx) return false;
      if (seen++ >= packets) return false;
      net().inject(pair_->fabric.now() + by, 1, plane, flow, bytes);
      return true;
    });
  }
  void expect_all_needless() {
    EXPECT_GT(sender().retransmits, 0u);
    EXPECT_EQ(receiver().rx_duplicates, sender().retransmits);
    EXPECT_EQ(sender().spurious_retransmits, receiver().rx_duplicates);
    EXPECT_LE(sender().fast_retransmits, sender().retransmits);
  }

  std::unique_ptr<Pair> pair_;
  uint64_t posted_ = 0;
};

// Packets behind them on their plane arrive first: before the copy, after it, and after the end of all work.
TEST_F(Needless, copies_of_packets_that_later_ones_overtook) {
  for (const int64_t late_us : {60, 150, 400, 3000}) {
    posted_ = 0;
    open(1);
    delay_first_copies(8, Duration::microseconds(late_us));
    for (int i = 0; i < 40; ++i) {
      post();
      pair_->pass(Duration::microseconds(5));
    }
    finish();
    EXPECT_EQ(sender().fast_retransmits, sender().retransmits) << late_us;
    EXPECT_EQ(sender().timeouts, 0u);
    expect_all_needless();
  }
}

// The receiver does not run for longer than the timeout, several times over.
TEST_F(Needless, copies_of_packets_whose_time_expired) {
  open(2, 10);  // 1 ms
  pair_->fabric.add_pause({1, pair_->fabric.now(), pair_->fabric.now() + Duration::milliseconds(9), Duration()});
  for (int i = 0; i < 10; ++i) post();
  finish();
  EXPECT_GT(sender().timeouts, 1u);
  expect_all_needless();
}

// A probe overtakes the data, and its answer says that they are missing.
TEST_F(Needless, copies_of_packets_that_a_probe_overtook) {
  open(1);
  const uint64_t probes = sender().tx_probes;
  delay_first_copies(UINT32_MAX, Duration::milliseconds(2));
  post();
  finish();
  EXPECT_GT(sender().tx_probes, probes);
  EXPECT_EQ(sender().timeouts, 0u);
  expect_all_needless();
}

// The first copy is late, the second is trimmed, and the NACK brings forth a third: of the two that were sent again one
// has arrived as a duplicate, and the other one is counted as trimmed.
TEST_F(Needless, copies_that_a_nack_brought_forth) {
  open(1);
  int copies = 0;
  net().set_filter([&](int node, int plane, const wire::Flow& flow, const std::vector<uint8_t>& bytes) {
    wire::Packet p;
    if (node != 0 || wire::decode(bytes, &p) != wire::DecodeError::kOk || !is_data(p)) return false;
    if (!p.bth.rtx && copies > 0) return false;
    if (++copies > 2) return false;
    wire::Flow changed = flow;
    std::vector<uint8_t> rest = bytes;
    if (copies == 2) {
      changed.traffic_class = static_cast<uint8_t>(DscpConfig().trimmed << 2 | (flow.traffic_class & 3));
      rest.resize(40);
    }
    net().inject(pair_->fabric.now() + Duration::microseconds(copies == 1 ? 1000 : 5), 1, plane, changed, rest);
    return true;
  });
  for (int i = 0; i < 40; ++i) {
    post();
    pair_->pass(Duration::microseconds(5));
  }
  finish();
  EXPECT_EQ(copies, 3);
  EXPECT_EQ(sender().retransmits, 2u);
  EXPECT_EQ(receiver().rx_trimmed, 1u);
  EXPECT_EQ(receiver().rx_duplicates, 1u);
  EXPECT_EQ(sender().spurious_retransmits, 1u);
}

// All answers are lost for a while, except reports of duplicates from the second on. The sender never learns of the
// first duplicate.
TEST_F(Needless, copies_of_packets_whose_answers_were_lost) {
  open(2, 8);  // 262 us
  const Instant until = pair_->fabric.now() + Duration::microseconds(1500);
  uint64_t reports = 0;
  net().set_filter([&](int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
    wire::Packet p;
    if (node != 1 || pair_->fabric.now() >= until || wire::decode(bytes, &p) != wire::DecodeError::kOk) return false;
    return reports_duplicate(p) ? ++reports == 1 : true;
  });
  for (int i = 0; i < 4; ++i) post();
  finish();
  EXPECT_GE(reports, 2u);
  EXPECT_GT(sender().timeouts, 0u);
  EXPECT_EQ(receiver().rx_duplicates, sender().retransmits);
  EXPECT_EQ(sender().spurious_retransmits + 1, receiver().rx_duplicates);
}

// A network that reorders at random and loses nothing; what arrives back to back comes as one burst, or does not.
TEST_F(Needless, every_copy_on_a_network_that_only_reorders) {
  for (const bool coalescing : {false, true}) {
    posted_ = 0;
    open(3);
    net().set_coalescing(coalescing);
    for (int plane = 0; plane < 3; ++plane) {
      net().link(plane).reorder = 0.05;
      net().link(plane).reorder_delay = Duration::microseconds(200 + 400 * plane);
      net().link(plane).jitter = Duration::microseconds(20);
    }
    for (int i = 0; i < 200; ++i) {
      post();
      pair_->pass(Duration::microseconds(20));
    }
    finish();
    EXPECT_EQ(net().counters().lost + net().counters().queue_drops, 0u);
    expect_all_needless();
  }
}

}  // namespace
}  // namespace mrc::scenario
