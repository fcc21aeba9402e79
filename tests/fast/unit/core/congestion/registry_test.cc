// The registry of congestion control algorithms, and what holds for each of them [MRC-CC-10..15].
#include "core/congestion/registry.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "append_item.h"
#include "harness/congestion_of.h"

namespace mrc::core {
namespace {

// [MRC-CC-11]
TEST(congestion_registry, finds_by_name_and_by_profile_name) {
  std::set<std::string> names;
  std::string list;
  for (const CongestionAlgorithm* a : congestion_algorithms()) {
    EXPECT_EQ(find_congestion_algorithm(a->name), a);
    EXPECT_EQ(find_profile_algorithm(a->profile_name), a);
    EXPECT_TRUE(names.insert(a->name).second) << a->name;
    append_item(&list, a->name, " ");
  }
  EXPECT_EQ(congestion_algorithm_names(), list);
  EXPECT_EQ(find_congestion_algorithm("cubic"), nullptr);
  EXPECT_EQ(find_congestion_algorithm(""), nullptr);
  EXPECT_EQ(find_profile_algorithm("nscc"), nullptr);  // of settings, not of profiles
  EXPECT_EQ(find_profile_algorithm("none"), nullptr);
  EXPECT_STREQ(find_profile_algorithm("uet-1.0-nscc")->name, "nscc");
  EXPECT_STREQ(find_profile_algorithm(nullptr)->name, "none");
}

// Parameters have names of their own and ranges that a front end can check.
TEST(congestion_registry, parameters_are_declared_once) {
  for (const CongestionAlgorithm* a : congestion_algorithms()) {
    std::set<std::string> names;
    for (const CongestionParameter& p : a->parameters) {
      EXPECT_TRUE(names.insert(p.name).second) << a->name << " " << p.name;
      EXPECT_LT(p.low, p.high) << a->name << " " << p.name;
    }
  }
}

TEST(congestion_config, keeps_the_last_value_of_a_parameter) {
  CongestionConfig c;
  EXPECT_EQ(c.get("eta", -1), -1);
  c.set("eta", 5);
  c.set("fi", 6);
  c.set("eta", 7);
  EXPECT_EQ(c.get("eta", -1), 7);
  EXPECT_EQ(c.get("fi", -1), 6);
  c.set("target_delay", Duration::microseconds(3));
  EXPECT_EQ(c.get_time("target_delay"), Duration::microseconds(3));
  EXPECT_EQ(c.get_time("qa_threshold"), Duration());
}

// [MRC-CC-11]
TEST(congestion_config, parameters_from_text) {
  CongestionConfig c;
  EXPECT_TRUE(set_congestion_parameters("", &c));
  EXPECT_TRUE(
      set_congestion_parameters(" gamma=0.5,target_delay=1.5us\tqa_gate=0 max_cwnd=70000, disable_qa=true", &c));
  EXPECT_EQ(c.get("gamma", -1), 0.5);
  EXPECT_EQ(c.get("target_delay", -1), 1500);
  EXPECT_EQ(c.get("qa_gate", -1), 0);
  EXPECT_EQ(c.get("max_cwnd", -1), 70000);
  EXPECT_EQ(c.get("disable_qa", -1), 1);
  EXPECT_TRUE(set_congestion_parameters("target_delay=0 gamma=1 qa_gate=62 adjust_period=1s", &c));
  for (const char* bad : {"gamma", "gamma=", "=1", "gamma=-0.1", "gamma=1.1", "gamma=nan", "gamma=1x", "gama=1",
                          "qa_gate=1.5", "qa_gate=63", "target_delay=5", "target_delay=5m", "target_delay=-1us",
                          "target_delay=1.1s", "disable_qa=1", "max_cwnd=1.5", "max_cwnd=1KB", "gamma=0.5=1"})
    EXPECT_FALSE(set_congestion_parameters(bad, &c)) << bad;
  const Status unitless = set_congestion_parameters("target_delay=5", &c);
  EXPECT_EQ(unitless.error().text, "value is 'target_delay=5', allowed: target_delay=0..1s, with ns, us, ms or s");
  c.algorithm = find_congestion_algorithm("none");
  const Status unknown = set_congestion_parameters("gamma=1", &c);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().text, "'gamma=1' is no parameter of none, allowed: none");
}

// A parameter of the table reaches the algorithm.
TEST(congestion_config, parameters_reach_nscc) {
  CongestionConfig c;
  c.algorithm = find_congestion_algorithm("nscc");
  c.set("max_cwnd", 77777);
  EXPECT_EQ(make_congestion_control(c, {}, Instant())->snapshot().max_wnd, 77777);
}

class EveryAlgorithm : public testing::TestWithParam<const CongestionAlgorithm*> {
 protected:
  EveryAlgorithm() {
    CongestionConfig c;
    c.algorithm = GetParam();
    control = make_congestion_control(c, flow, now);
  }
  // Acknowledges `packets` full packets after a round trip of `us`.
  void ack(int packets, int64_t us, bool marked = false) {
    arrived_ += int64_t{packets} * flow.mtu;
    AckSample s;
    s.rcvd_bytes_24 = static_cast<uint32_t>((arrived_ + 255) / 256) & 0xFFFFFF;
    s.rtt = Duration::microseconds(us);
    s.ecn_marked = marked;
    now = now + Duration::microseconds(us);
    control->on_ack(now, s);
  }
  CongestionFlow flow;
  Instant now = Instant::from_ns(1000000);
  std::unique_ptr<CongestionControl> control;

 private:
  int64_t arrived_ = 0;
};

// [MRC-CC-12]: with any fate of a packet, its bytes leave the count once.
TEST_P(EveryAlgorithm, counts_bytes_in_flight) {
  for (int i = 0; i < 4; ++i) control->on_sent(flow.mtu);
  EXPECT_EQ(control->snapshot().inflight, 4 * flow.mtu);
  control->on_loss(now, flow.mtu, LossCause::kOvertaken);
  control->on_nack(now, {flow.mtu, std::nullopt, true, false});
  EXPECT_EQ(control->snapshot().inflight, 2 * flow.mtu);
  control->on_sent(flow.mtu);  // again
  ack(2, 12);
  EXPECT_LE(control->snapshot().inflight, flow.mtu);
  EXPECT_GT(control->snapshot().inflight, flow.mtu - 256);
  control->on_loss(now, flow.mtu, LossCause::kTimedOut);
  control->on_lost_packet_acked(flow.mtu);  // its first copy arrived after all
  ack(1, 12);
  EXPECT_LE(control->snapshot().inflight, 0);
  EXPECT_GT(control->snapshot().inflight, -256);
}

// [MRC-CC-13]: it never stalls, for any behaviour of the network.
TEST_P(EveryAlgorithm, lets_a_packet_leave_when_nothing_is_in_flight) {
  for (int i = 0; i < 2000; ++i) {
    control->on_sent(flow.mtu);
    control->on_loss(now, flow.mtu, i % 2 == 0 ? LossCause::kTimedOut : LossCause::kOvertaken);
    now = now + Duration::milliseconds(1);
  }
  EXPECT_TRUE(control->can_send(flow.mtu));
  const int64_t least = control->snapshot().cwnd;
  EXPECT_GE(least, flow.mtu);
  for (int i = 0; i < 2000; ++i) {
    control->on_sent(flow.mtu);
    ack(1, 12);
  }
  EXPECT_EQ(control->snapshot().cwnd, control->snapshot().max_wnd);  // and recovers
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm,
                         testing::ValuesIn(congestion_algorithms().begin(), congestion_algorithms().end()),
                         [](const auto& i) { return std::string(i.param->name); });

}  // namespace
}  // namespace mrc::core
