// Which ACKs leave with data, by what the peer shows [MRC-ACK-3].
#include "core/ack_company.h"

#include <gtest/gtest.h>

#include <string>

namespace mrc::core {
namespace {

using Choice = AckCompany::Choice;

// A conversation: a message comes, data leaves. 'a': its ACK goes along; '-': it is left out, and the peer goes on.
std::string talk(AckCompany* company, int messages, uint32_t* msn) {
  std::string choices;
  for (int i = 0; i < messages; ++i) {
    company->on_message();
    const Choice choice = company->choose(++*msn);
    choices += choice == Choice::kTakeAlong ? 'a' : '-';
    if (choice == Choice::kTakeAlong) company->on_sent();
  }
  return choices;
}

const std::string kFirst(AckCompany::kFirstPause, 'a');
const std::string kCycle = std::string(AckCompany::kMost, '-') + 'a';

TEST(AckCompany, AckOfEveryEighthMessageForWhoGoesOn) {
  AckCompany company;
  uint32_t msn = 0;
  const std::string wanted = kFirst + kCycle + kCycle + kCycle;
  EXPECT_EQ(talk(&company, static_cast<int>(wanted.size()), &msn), wanted);
}

// Who waits for each is kept waiting ever more rarely.
TEST(AckCompany, WhoWaitsHasItsAcksAndIsTriedEverMoreRarely) {
  AckCompany company;
  uint32_t msn = 0;
  for (int pause = AckCompany::kFirstPause; pause <= AckCompany::kLongestPause; pause *= 2) {
    EXPECT_EQ(talk(&company, pause + 1, &msn), std::string(static_cast<size_t>(pause), 'a') + '-') << pause;
    company.on_silence();
    EXPECT_FALSE(company.left_out());
    company.on_sent();
  }
  EXPECT_EQ(talk(&company, AckCompany::kLongestPause + 1, &msn),
            std::string(AckCompany::kLongestPause, 'a') + '-');  // not more rarely than that
}

TEST(AckCompany, ASilenceNowAndThenCostsFewMessages) {
  AckCompany company;
  uint32_t msn = 0;
  talk(&company, AckCompany::kFirstPause + 3, &msn);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(company.left_out());
    company.on_silence();
    company.on_sent();
    EXPECT_EQ(talk(&company, AckCompany::kFirstPause + 3, &msn), kFirst + "---") << i;
  }
}

TEST(AckCompany, MoreDataWithoutANewMessageChangesNothing) {
  AckCompany company;
  uint32_t msn = 0;
  talk(&company, AckCompany::kFirstPause + 1, &msn);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(company.choose(msn), Choice::kLeftOutBefore);
  EXPECT_EQ(talk(&company, AckCompany::kMost, &msn), kCycle.substr(1));
}

// An ACK that left for another reason, with a SACK say: nothing is left out any more, and nobody is judged.
TEST(AckCompany, AnAckBesidesStartsTheCountAnew) {
  AckCompany company;
  uint32_t msn = 0;
  talk(&company, AckCompany::kFirstPause + 3, &msn);
  company.on_sent();
  EXPECT_FALSE(company.left_out());
  company.on_silence();  // of a SACK's timer
  EXPECT_EQ(talk(&company, 8, &msn), kCycle);
}

}  // namespace
}  // namespace mrc::core
