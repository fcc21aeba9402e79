// Which ACKs leave with data, by what the peer shows [MRC-ACK-3].
#include "core/ack_piggyback_policy.h"

#include <gtest/gtest.h>

#include <string>

namespace mrc::core {
namespace {

using Choice = AckPiggybackPolicy::Choice;

// A conversation: a message comes, data leaves. 'a': its ACK goes along; '-': it is left out, and the peer goes on.
std::string talk(AckPiggybackPolicy* policy, int messages, uint32_t* msn) {
  std::string choices;
  for (int i = 0; i < messages; ++i) {
    policy->on_message();
    const Choice choice = policy->choose(++*msn);
    choices += choice == Choice::kPiggyback ? 'a' : '-';
    if (choice == Choice::kPiggyback) policy->on_sent();
  }
  return choices;
}

const std::string kFirst(AckPiggybackPolicy::kFirstPause, 'a');
const std::string kCycle = std::string(AckPiggybackPolicy::kMaxLeftOut, '-') + 'a';

TEST(AckPiggybackPolicy, a_peer_that_keeps_sending_gets_the_ack_of_every_eighth_message) {
  AckPiggybackPolicy policy;
  uint32_t msn = 0;
  const std::string wanted = kFirst + kCycle + kCycle + kCycle;
  EXPECT_EQ(talk(&policy, static_cast<int>(wanted.size()), &msn), wanted);
}

// A peer that waits for each ACK is delayed at growing intervals.
TEST(AckPiggybackPolicy, a_peer_that_waits_gets_its_acks_and_is_tried_ever_more_rarely) {
  AckPiggybackPolicy policy;
  uint32_t msn = 0;
  for (int pause = AckPiggybackPolicy::kFirstPause; pause <= AckPiggybackPolicy::kLongestPause; pause *= 2) {
    EXPECT_EQ(talk(&policy, pause + 1, &msn), std::string(static_cast<size_t>(pause), 'a') + '-') << pause;
    policy.on_silence();
    EXPECT_FALSE(policy.left_out());
    policy.on_sent();
  }
  EXPECT_EQ(talk(&policy, AckPiggybackPolicy::kLongestPause + 1, &msn),
            std::string(AckPiggybackPolicy::kLongestPause, 'a') + '-');  // not more rarely than that
}

TEST(AckPiggybackPolicy, a_silence_now_and_then_costs_few_messages) {
  AckPiggybackPolicy policy;
  uint32_t msn = 0;
  talk(&policy, AckPiggybackPolicy::kFirstPause + 3, &msn);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(policy.left_out());
    policy.on_silence();
    policy.on_sent();
    EXPECT_EQ(talk(&policy, AckPiggybackPolicy::kFirstPause + 3, &msn), kFirst + "---") << i;
  }
}

TEST(AckPiggybackPolicy, more_data_without_a_new_message_changes_nothing) {
  AckPiggybackPolicy policy;
  uint32_t msn = 0;
  talk(&policy, AckPiggybackPolicy::kFirstPause + 1, &msn);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(policy.choose(msn), Choice::kLeftOutBefore);
  EXPECT_EQ(talk(&policy, AckPiggybackPolicy::kMaxLeftOut, &msn), kCycle.substr(1));
}

// An ACK that left for another reason, for example with a SACK: nothing is left out any more, and the peer is not
// judged.
TEST(AckPiggybackPolicy, an_ack_besides_starts_the_count_anew) {
  AckPiggybackPolicy policy;
  uint32_t msn = 0;
  talk(&policy, AckPiggybackPolicy::kFirstPause + 3, &msn);
  policy.on_sent();
  EXPECT_FALSE(policy.left_out());
  policy.on_silence();  // of a SACK's timer
  EXPECT_EQ(talk(&policy, 8, &msn), kCycle);
}

}  // namespace
}  // namespace mrc::core
