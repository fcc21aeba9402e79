// PeerSilence: which answers a host delayed [MRC-NSCC-34].
#include "core/peer_silence.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

constexpr Duration of_us(int64_t n) {
  return Duration::microseconds(n);
}

struct Answers {
  // `n` answers, one per `gap`.
  void come(int n, Duration gap) {
    for (int i = 0; i < n; ++i) silence.on_answer(now = now + gap);
  }
  bool delayed(Duration ago) const { return silence.delayed(now, now - ago); }

  PeerSilence silence;
  Instant now = Instant::from_ns(5000000000);
};

TEST(PeerSilence, an_answer_after_a_long_gap_in_a_stream_was_delayed_if_sent_before) {
  Answers a;
  a.come(100, of_us(20));
  EXPECT_FALSE(a.delayed(of_us(50)));
  a.come(1, of_us(300));
  EXPECT_FALSE(a.delayed(of_us(50)));
  a.come(100, of_us(20));
  a.come(1, of_us(401));
  EXPECT_TRUE(a.delayed(of_us(50)));
  EXPECT_FALSE(a.delayed(of_us(0)));
}

TEST(PeerSilence, answers_count_as_delayed_until_the_queue_is_taken_to_be_read) {
  Answers a;
  a.come(100, of_us(20));
  a.come(1, of_us(4000));
  const Instant sent = a.now - of_us(100);
  EXPECT_TRUE(a.silence.delayed(a.now + of_us(999), sent));
  EXPECT_FALSE(a.silence.delayed(a.now + of_us(1000), sent));
}

// Bursts of a link at 100 Mb/s take 5 ms each.
TEST(PeerSilence, answers_of_a_slow_link_are_not_delayed_by_a_host) {
  Answers a;
  a.come(40, of_us(5000));
  EXPECT_FALSE(a.delayed(of_us(20000)));
}

TEST(PeerSilence, the_first_answer_was_not_delayed) {
  Answers a;
  a.come(1, of_us(20));
  EXPECT_FALSE(a.delayed(of_us(500)));
}

}  // namespace
}  // namespace mrc::core
