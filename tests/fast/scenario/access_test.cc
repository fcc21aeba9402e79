// Keys, bounds and access rights on both sides, and the order in which work ends when they refuse.
#include "scenario/pair.h"

namespace mrc::scenario {
namespace {

struct Refused {
  const char* name;
  int kind;
};

class Remote : public testing::TestWithParam<Refused> {};

// [MRC-RETH-3], [MRC-AETH-1]: NAK 0x62. What was posted before succeeds, what was posted after is flushed in order.
TEST_P(Remote, refused_by_the_responder) {
  Pair p;
  std::vector<uint8_t> closed(4096, kFill);
  const Key closed_key = p.fabric.register_memory(1, closed, kAccessLocalWrite);
  uint8_t* to = p.target.data() + 40000;
  Key key = p.rkey;
  switch (GetParam().kind) {
    case 0:
      key = Key(key.value() ^ 0x40);
      break;
    case 1:
      to = p.target.data() + p.target.size() - 99;
      break;
    case 2:
      to = p.target.data() - 1;
      break;
    case 3:
      to = closed.data(), key = closed_key;
      break;
    case 4:
      key = Key();
      break;
  }
  for (uint64_t i = 0; i < 4; ++i) ASSERT_EQ(p.write(i, i * 10000, 10000), PostResult::kOk);
  ASSERT_EQ(p.fabric.write(0, p.link.qa, 4, p.source.data(), 100, p.lkey, to, key), PostResult::kOk);
  for (uint64_t i = 5; i < 9; ++i) ASSERT_EQ(p.write(i, i * 10000, 10000, false), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(9));
  for (uint64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(p.sends()[i].wr_id, i);
    EXPECT_EQ(p.sends()[i].status,
              i < 4 ? WcStatus::kSuccess : (i == 4 ? WcStatus::kRemoteAccess : WcStatus::kFlushed));
  }
  EXPECT_TRUE(p.arrived(0, 40000));
  EXPECT_TRUE(p.untouched(40000, 10000));
  EXPECT_TRUE(std::all_of(closed.begin(), closed.end(), [](uint8_t b) { return b == kFill; }));
  EXPECT_EQ(p.state(0), QpState::kError);
  EXPECT_EQ(p.state(1), QpState::kError);
  const auto& events = p.fabric.node(1).events;
  EXPECT_EQ(std::count(events.begin(), events.end(), AsyncEvent::kQpAccessError), 1);
}
INSTANTIATE_TEST_SUITE_P(Kinds, Remote,
                         testing::Values(Refused{"WrongKey", 0}, Refused{"BeyondTheEnd", 1},
                                         Refused{"BeforeTheBeginning", 2}, Refused{"NoRemoteWrite", 3},
                                         Refused{"NoKey", 4}),
                         [](const auto& i) { return std::string(i.param.name); });

// [MRC-RETH-3]: the last byte of a region may be written, the one behind it not.
TEST(Access, the_last_byte_of_a_region_is_inside) {
  Pair p;
  ASSERT_EQ(p.write(1, p.target.size() - 100, 100), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_TRUE(p.all_ok(1));
}

// [MRC-RETH-3]: a message that leaves the region midway is refused, however many of its packets fit.
TEST(Access, a_message_that_leaves_the_region_fails) {
  Pair p;
  const size_t at = p.target.size() - 20000;
  ASSERT_EQ(p.fabric.write(0, p.link.qa, 1, p.source.data(), 20001, p.lkey, p.target.data() + at, p.rkey),
            PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_EQ(p.sends()[0].status, WcStatus::kRemoteAccess);
  EXPECT_EQ(p.state(1), QpState::kError);
}

// A key that was deregistered while the QP lives is refused like one that never was.
TEST(Access, a_removed_key_is_refused) {
  Pair p;
  ASSERT_EQ(p.write(1, 0, 100), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1));
  ASSERT_TRUE(p.fabric.at(1).memory().remove(p.rkey));
  ASSERT_EQ(p.write(2, 100, 100), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(2));
  EXPECT_EQ(p.sends()[1].status, WcStatus::kRemoteAccess);
  EXPECT_TRUE(p.untouched(100, 100));
}

// A bad local key or range ends the QP with a protection error; what is before it succeeds.
TEST(Access, bad_local_key_is_a_local_protection_error) {
  for (int kind : {0, 1}) {
    Pair p;
    ASSERT_EQ(p.write(1, 0, 5000), PostResult::kOk);
    ASSERT_TRUE(p.until_sends(1));
    const PostResult posted = kind == 0 ? p.fabric.write(0, p.link.qa, 2, p.source.data(), 10,
                                                         Key(p.lkey.value() ^ 0x40), p.target.data() + 5000, p.rkey)
                                        : p.fabric.write(0, p.link.qa, 2, p.source.data() + p.source.size() - 9, 10,
                                                         p.lkey, p.target.data() + 5000, p.rkey);
    ASSERT_EQ(posted, PostResult::kOk);
    ASSERT_EQ(p.write(3, 6000, 10), PostResult::kOk);
    ASSERT_TRUE(p.until_sends(3));
    EXPECT_EQ(p.sends()[0].status, WcStatus::kSuccess);
    EXPECT_EQ(p.sends()[1].status, WcStatus::kLocalProtection);
    EXPECT_EQ(p.sends()[2].status, WcStatus::kFlushed);
    EXPECT_EQ(p.state(0), QpState::kError);
    EXPECT_TRUE(p.untouched(5000, 2000));
  }
}

}  // namespace
}  // namespace mrc::scenario
