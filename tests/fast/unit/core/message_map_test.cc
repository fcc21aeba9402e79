// Which packets fit together, without an endpoint.
#include "core/message_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace mrc::core {
namespace {

using Fit = MessageMap::Fit;
constexpr uint64_t kO = MessageMap::kOrigin;

struct Message {
  uint16_t msn;
  uint64_t first;  // counted from the first packet
  uint32_t packets;
  uint64_t identity;
};

MessageClaim claim(const Message& m, uint32_t k) {
  MessageClaim c;
  c.seq = kO + m.first + k;
  c.identity = m.identity;
  c.packets = m.packets;
  c.msn = m.msn;
  c.begins = k == 0;
  c.ends = k + 1 == m.packets;
  return c;
}

class MessageMapTest : public testing::Test {
 protected:
  MessageMapTest() { map_.allocate(); }
  Fit check(const MessageClaim& c) { return map_.check(c).fit; }
  bool take(const MessageClaim& c, bool proven = true) {
    const MessageMap::Verdict v = map_.check(c);
    if (v.fit != Fit::kNew && v.fit != Fit::kMember) return false;
    map_.accept(c, v, proven);
    return true;
  }
  // Everything up to and with message `m` is complete.
  bool complete(const Message& m) {
    for (uint32_t k = 0; k < m.packets; ++k)
      if (!take(claim(m, k))) return false;
    return finish(m);
  }
  bool finish(const Message& m) {
    if (!map_.begin_front(kO + m.first) || map_.front_end() != kO + m.first + m.packets - 1 || !map_.front_whole())
      return false;
    map_.finish_front();
    return true;
  }
  MessageMap map_;
};

// [MRC-SEC-1]
TEST_F(MessageMapTest, every_packet_of_a_message_states_the_same) {
  const Message m{0, 0, 4, 77};
  ASSERT_TRUE(take(claim(m, 2)));  // a Middle: where the message begins is not known yet
  MessageClaim c = claim(m, 1);
  EXPECT_EQ(check(c), Fit::kMember);
  c.identity ^= 1;
  EXPECT_EQ(check(c), Fit::kMisfit);
  c = claim(m, 0);
  ++c.seq;  // a First where a Middle should be
  EXPECT_EQ(check(c), Fit::kMisfit);
  c.seq += 2;
  EXPECT_EQ(check(c), Fit::kMisfit);
  ASSERT_TRUE(take(claim(m, 3)));  // the Last: now it is known
  c = claim(m, 0);
  EXPECT_EQ(check(c), Fit::kMember);
  ++c.seq;
  EXPECT_EQ(check(c), Fit::kMisfit);
  c = claim(m, 1);
  c.ends = true;
  EXPECT_EQ(check(c), Fit::kMisfit);
  c = claim(m, 3);
  c.ends = false;
  EXPECT_EQ(check(c), Fit::kMisfit);
}

// [MRC-METH-1] [MRC-CHOICE-Q10]
TEST_F(MessageMapTest, the_first_message_has_number_0_or_1) {
  for (uint16_t msn : {0, 1, 2, 65535}) {
    map_.reset();
    map_.allocate();
    EXPECT_EQ(complete({msn, 0, 1, 5}), msn <= 1) << msn;
    if (msn > 1) continue;
    EXPECT_EQ(check(claim({static_cast<uint16_t>(msn + 2), 1, 1, 5}, 0)), Fit::kMisfit);
    EXPECT_EQ(check(claim({msn, 1, 1, 5}, 0)), Fit::kMisfit);
    EXPECT_EQ(check(claim({static_cast<uint16_t>(msn + 1), 1, 1, 5}, 0)), Fit::kNew);
    EXPECT_EQ(check(claim({static_cast<uint16_t>(msn - 1), 0, 1, 5}, 0)), Fit::kMisfit);
  }
}

TEST_F(MessageMapTest, numbers_rise_with_the_psn) {
  ASSERT_TRUE(complete({0, 0, 2, 5}));
  // Ten packets further there are one to ten messages more.
  EXPECT_EQ(check(claim({1, 11, 1, 9}, 0)), Fit::kMisfit);  // the next one begins at once
  EXPECT_EQ(check(claim({2, 11, 1, 9}, 0)), Fit::kNew);
  EXPECT_EQ(check(claim({10, 11, 1, 9}, 0)), Fit::kNew);
  EXPECT_EQ(check(claim({11, 11, 1, 9}, 0)), Fit::kMisfit);
  ASSERT_TRUE(take(claim({5, 11, 3, 9}, 0)));
  EXPECT_EQ(check(claim({6, 14, 1, 1}, 0)), Fit::kNew);
  EXPECT_EQ(check(claim({6, 13, 1, 1}, 0)), Fit::kMisfit);
  EXPECT_EQ(check(claim({6, 15, 1, 1}, 0)), Fit::kMisfit);
  EXPECT_EQ(check(claim({7, 14, 1, 1}, 0)), Fit::kMisfit);
  EXPECT_EQ(check(claim({7, 15, 1, 1}, 0)), Fit::kNew);
  EXPECT_EQ(check(claim({4, 10, 1, 1}, 0)), Fit::kNew);
  EXPECT_EQ(check(claim({4, 11, 1, 1}, 0)), Fit::kMisfit);
  EXPECT_EQ(check(claim({4, 9, 1, 1}, 0)), Fit::kMisfit);
  EXPECT_EQ(check(claim({4, 8, 3, 1}, 0)), Fit::kNew);
  EXPECT_EQ(check(claim({3, 9, 1, 1}, 0)), Fit::kNew);
  EXPECT_EQ(check(claim({3, 10, 1, 1}, 0)), Fit::kMisfit);
}

TEST_F(MessageMapTest, old_packets_are_compared_while_their_record_lasts) {
  ASSERT_TRUE(complete({0, 0, 1, 5}));
  MessageClaim c = claim({0, 0, 1, 5}, 0);
  EXPECT_EQ(check(c), Fit::kMember);
  c.identity = 6;
  EXPECT_EQ(check(c), Fit::kMisfit);
  for (uint16_t m = 1; m < 64; ++m) ASSERT_TRUE(complete({m, m, 1, 5}));
  EXPECT_EQ(check(c), Fit::kMisfit);
  for (uint16_t m = 64; m < 200; ++m) ASSERT_TRUE(complete({m, m, 1, 5}));
  EXPECT_EQ(check(c), Fit::kTooOld);
  c.msn = 300;  // an old PSN with a number to come
  EXPECT_EQ(check(c), Fit::kMisfit);
}

// An original that a queue kept for so long that its MSN comes round again is no contradiction.
TEST_F(MessageMapTest, nothing_is_said_of_packets_from_half_a_lap_back) {
  for (uint32_t m = 0; m < 70000; ++m) ASSERT_TRUE(complete({static_cast<uint16_t>(m), m, 1, m + 1}));
  for (uint32_t back : {40000u, 65536u, 66000u}) {
    const uint32_t m = 69999 - back;
    EXPECT_EQ(check(claim({static_cast<uint16_t>(m), m, 1, m + 1}, 0)), Fit::kTooOld) << back;
  }
  EXPECT_EQ(check(claim({static_cast<uint16_t>(69990), 69990, 1, 69991}, 0)), Fit::kMember);
}

TEST_F(MessageMapTest, the_last_packet_of_a_message_states_its_immediate) {
  MessageClaim c = claim({0, 0, 2, 5}, 1);
  c.with_imm = true;
  c.detail = 9;
  ASSERT_TRUE(take(c));
  EXPECT_EQ(check(c), Fit::kMember);
  c.detail = 8;
  EXPECT_EQ(check(c), Fit::kMisfit);
  c.with_imm = false;
  c.detail = 0;
  EXPECT_EQ(check(c), Fit::kMisfit);
}

// [MRC-SEC-2] Where a message begins may follow from its neighbour.
TEST_F(MessageMapTest, a_member_that_its_neighbour_excludes_is_a_misfit) {
  ASSERT_TRUE(complete({0, 0, 1, 5}));
  ASSERT_TRUE(take(claim({2, 8, 4, 7}, 2)));  // a Middle: message 2 begins at 8 or 9
  ASSERT_TRUE(take(claim({3, 13, 1, 9}, 0)));
  EXPECT_EQ(check(claim({2, 9, 4, 7}, 2)), Fit::kMember);
  EXPECT_EQ(check(claim({2, 8, 4, 7}, 1)), Fit::kMisfit);
}

// [MRC-SEC-3] A complete message is above doubt only if a key proved it.
TEST_F(MessageMapTest, a_complete_message_is_in_doubt_unless_proven) {
  for (bool proven : {false, true}) {
    map_.reset();
    map_.allocate();
    const Message m{0, 0, 1, 5};
    ASSERT_TRUE(take(claim(m, 0), proven));
    ASSERT_TRUE(finish(m));
    const MessageMap::Verdict v = map_.check(claim({1, 2, 1, 6}, 0));
    EXPECT_EQ(v.fit, Fit::kMisfit);
    EXPECT_EQ(v.against_proven, proven);
  }
}

// The nearest records are found at any distance.
TEST_F(MessageMapTest, neighbours_are_found_however_far_they_are) {
  ASSERT_TRUE(complete({0, 0, 1, 5}));
  ASSERT_TRUE(take(claim({200, 2000, 1, 6}, 0)));
  ASSERT_TRUE(take(claim({500, 5000, 1, 7}, 0)));
  for (uint16_t gap = 2; gap < 290; ++gap) {
    const auto after = static_cast<uint16_t>(200 + gap), before = static_cast<uint16_t>(500 - gap);
    EXPECT_EQ(check(claim({after, 2000u + gap - 1, 1, 8}, 0)), Fit::kMisfit) << gap;
    EXPECT_EQ(check(claim({after, 2000u + gap, 1, 8}, 0)), Fit::kNew) << gap;
    EXPECT_EQ(check(claim({before, 5000u - gap + 1, 1, 8}, 0)), Fit::kMisfit) << gap;
    EXPECT_EQ(check(claim({before, 5000u - gap, 1, 8}, 0)), Fit::kNew) << gap;
  }
}

// Growing keeps the records of complete messages and their places free for later ones.
TEST_F(MessageMapTest, after_growing_old_records_are_no_neighbours) {
  for (uint16_t m = 0; m < 10; ++m) ASSERT_TRUE(complete({m, m, 1, 5}));
  ASSERT_TRUE(take(claim({110, 110, 1, 5}, 0)));
  ASSERT_GT(map_.bytes(), 128u * 32);
  EXPECT_EQ(check(claim({9, 9, 1, 5}, 0)), Fit::kMember);
  for (uint16_t m = 10; m < 250; ++m) ASSERT_TRUE(m == 110 ? finish({m, m, 1, 5}) : complete({m, m, 1, 5})) << m;
  ASSERT_TRUE(take(claim({280, 280, 1, 5}, 0)));
  EXPECT_EQ(check(claim({262, 261, 1, 5}, 0)), Fit::kMisfit);
  EXPECT_EQ(check(claim({262, 262, 1, 5}, 0)), Fit::kNew);
}

// A forged message in the midst of another of which nothing had arrived is found at the latest when its turn comes.
TEST_F(MessageMapTest, a_message_must_have_all_its_packets_itself) {
  ASSERT_TRUE(take(claim({3, 4, 1, 666}, 0), false));
  const Message genuine{0, 0, 10, 5};
  EXPECT_EQ(check(claim(genuine, 0)), Fit::kMisfit);  // ten packets do not fit before it
  EXPECT_EQ(check(claim(genuine, 5)), Fit::kMisfit);
  const MessageMap::Verdict v = map_.check(claim(genuine, 0));
  EXPECT_FALSE(v.against_proven);
}

// The second guard against PSNs that were consumed by another message. begin_front() alone refused each of millions of
// random sequences of forged packets.
TEST_F(MessageMapTest, a_message_is_whole_with_its_last_packet) {
  const Message m{0, 0, 3, 5};
  for (uint32_t k : {2u, 0u}) ASSERT_TRUE(take(claim(m, k)));
  ASSERT_TRUE(map_.begin_front(kO));
  EXPECT_FALSE(map_.front_whole());
  ASSERT_TRUE(take(claim(m, 1)));
  EXPECT_TRUE(map_.front_whole());
}

// [MRC-SEC-2] The first packet of all ends or continues a message: it began before the first PSN, where nothing can be.
TEST_F(MessageMapTest, no_message_begins_before_the_first_psn) {
  for (const MessageClaim& c : {claim({0, 0, 3, 5}, 1), claim({0, 0, 2, 5}, 1)}) {
    map_.reset();
    map_.allocate();
    MessageClaim early = c;
    early.seq = kO;
    EXPECT_FALSE(take(early) && map_.begin_front(kO));
  }
}

// Any order of arrival of any messages fits, over many laps of the ring and of the MSN.
TEST_F(MessageMapTest, any_order_fits) {
  std::mt19937 rng(7);
  uint32_t msn = 0;
  uint64_t first = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Message> messages;
    std::vector<MessageClaim> claims;
    const uint32_t count = 1 + rng() % 60;
    for (uint32_t i = 0; i < count; ++i) {
      messages.push_back(
          {static_cast<uint16_t>(msn++), first, 1 + static_cast<uint32_t>(rng() % 3 == 0 ? rng() % 40 : 0), rng()});
      for (uint32_t k = 0; k < messages.back().packets; ++k) claims.push_back(claim(messages.back(), k));
      first += messages.back().packets;
    }
    std::shuffle(claims.begin(), claims.end(), rng);
    for (const MessageClaim& c : claims) {
      ASSERT_TRUE(take(c)) << round;
      ASSERT_EQ(check(c), Fit::kMember);
    }
    for (const Message& m : messages) ASSERT_TRUE(finish(m)) << round;
  }
  EXPECT_LE(map_.bytes(), 256u * 32);
}

// One forged packet among them, at any place and of any shape that is not the genuine one's: either it is refused, or a
// genuine packet is, or the turn of its message finds it.
TEST_F(MessageMapTest, a_forged_packet_never_passes_unnoticed) {
  std::mt19937 rng(11);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    map_.reset();
    map_.allocate();
    std::vector<Message> messages;
    std::vector<MessageClaim> claims;
    uint64_t first = 0;
    const uint16_t start = rng() % 2;
    for (uint16_t i = 0; i < 6; ++i) {
      const uint32_t packets = 1 + rng() % 4;
      messages.push_back({static_cast<uint16_t>(start + i), first, packets, 1 + rng() % 100});
      for (uint32_t k = 0; k < packets; ++k) claims.push_back(claim(messages.back(), k));
      first += packets;
    }
    std::shuffle(claims.begin(), claims.end(), rng);
    Message lie{static_cast<uint16_t>(rng() % 9), rng() % first, 1 + static_cast<uint32_t>(rng() % 3), 1000};
    const MessageClaim forged = claim(lie, rng() % lie.packets);
    if (forged.seq >= kO + first) continue;
    const size_t when = rng() % claims.size();
    std::vector<bool> received(first, false);
    bool noticed = false, taken = false;
    for (size_t i = 0; i < claims.size() && !noticed; ++i) {
      if (i == when && !received[forged.seq - kO] && take(forged, false)) {
        taken = true;
        received[forged.seq - kO] = true;
        ++accepted;
      }
      const Fit fit = check(claims[i]);
      if (fit == Fit::kMisfit) {
        noticed = true;
        EXPECT_TRUE(taken) << round;
      } else if (!received[claims[i].seq - kO]) {
        ASSERT_TRUE(take(claims[i]));
        received[claims[i].seq - kO] = true;
      }
    }
    for (const Message& m : messages) noticed = noticed || !finish(m);
    EXPECT_EQ(noticed, taken) << round;
  }
  EXPECT_GT(accepted, 1000);
}

// A QP with few messages behind it stays small, and none of the first 128 is forgotten for that. [MRC-SEC-5]
TEST_F(MessageMapTest, the_first_messages_are_all_remembered) {
  EXPECT_EQ(map_.bytes(), 8u * 32);
  std::vector<Message> all;
  for (uint16_t n = 0; n < 128; ++n) {
    all.push_back({n, 2ull * n, 2, 1000ull + n});
    ASSERT_TRUE(complete(all.back())) << n;
    for (const Message& old : all) {
      EXPECT_EQ(check(claim(old, 0)), Fit::kMember) << n << " " << old.msn;
      Message forged = old;
      forged.identity ^= 1;
      EXPECT_EQ(check(claim(forged, 0)), Fit::kMisfit) << n << " " << old.msn;
    }
  }
  EXPECT_EQ(map_.bytes(), 128u * 32);
  ASSERT_TRUE(complete({128, 256, 2, 1}));
  EXPECT_EQ(map_.bytes(), 128u * 32);
}

TEST_F(MessageMapTest, the_ring_grows_with_the_messages_in_flight_and_has_a_limit) {
  const size_t small = map_.bytes();
  EXPECT_LE(small, 4096u);
  for (uint16_t m = 4000; m > 0; --m) ASSERT_TRUE(take(claim({m, m, 1, 5}, 0)));
  EXPECT_LE(map_.bytes(), 8192u * 32);
  for (uint16_t m : {8192, 8200, 12190, 20000}) EXPECT_EQ(check(claim({m, m, 1, 5}, 0)), Fit::kNew);  // laps ahead
  ASSERT_TRUE(take(claim({32640, 32640, 1, 5}, 0)));
  EXPECT_LE(map_.bytes(), 65536u * 32);
  ASSERT_TRUE(take(claim({0, 0, 1, 5}, 0)));
  for (uint32_t m = 0; m <= 4000; ++m) ASSERT_TRUE(finish({static_cast<uint16_t>(m), m, 1, 5})) << m;
}

// The ring grows to the space of MSNs, where the record of a message would be in the place of the one that has its MSN
// next.
TEST_F(MessageMapTest, the_largest_ring_forgets_before_msns_come_again) {
  constexpr uint64_t kAhead = 20000;  // of one packet each
  const auto message = [](uint64_t i) { return Message{static_cast<uint16_t>(i), i, 1, 7777 + i}; };
  const auto arrive = [&](uint64_t i) {
    const MessageClaim c = claim(message(i), 0);
    const MessageMap::Verdict v = map_.check(c);
    if (v.fit != Fit::kNew) return false;
    map_.make_room(c, v);
    map_.accept(c, v, true);
    return true;
  };
  for (uint64_t i = 1; i < kAhead; ++i) ASSERT_TRUE(arrive(i)) << i;
  ASSERT_TRUE(arrive(0));
  for (uint64_t i = 0; i < kAhead; ++i) ASSERT_TRUE(finish(message(i))) << i;
  for (uint64_t i = kAhead; i < 140000; ++i) {
    ASSERT_TRUE(arrive(i)) << i;
    ASSERT_TRUE(finish(message(i))) << i;
    map_.check();
  }
}

}  // namespace
}  // namespace mrc::core
