// Text of an untrusted peer.
#include "ctl/peer_json.h"

#include <gtest/gtest.h>

#include <string>

namespace mrc::ctl {
namespace {

std::string nested(size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(PeerJson, messages_are_read) {
  EXPECT_EQ(parse_peer_json(R"({"request": 1, "do": "show"})"), (nlohmann::json{{"request", 1}, {"do", "show"}}));
  EXPECT_TRUE(parse_peer_json("{\"a\": [1, {").is_discarded());
  EXPECT_TRUE(parse_peer_json("").is_discarded());
}

TEST(PeerJson, depth__up_to_the_limit_and_beyond) {
  EXPECT_TRUE(parse_peer_json(nested(kMaxJsonDepth)).is_array());
  EXPECT_TRUE(parse_peer_json(nested(kMaxJsonDepth + 1)).is_discarded());
  EXPECT_TRUE(parse_peer_json("{\"request\": " + nested(kMaxJsonDepth) + "}").is_discarded());
}

TEST(PeerJson, depth__brackets_in_strings_do_not_count) {
  const std::string brackets(2 * kMaxJsonDepth, '[');
  EXPECT_EQ(parse_peer_json("[\"" + brackets + "\"]")[0], brackets);
  EXPECT_EQ(parse_peer_json(R"(["\\\"{", ")" + brackets + "\"]")[1], brackets);
  EXPECT_TRUE(parse_peer_json(R"(["\\", )" + nested(kMaxJsonDepth) + "]").is_discarded());
}

// A line of a megabyte took minutes where each object's end looked at those before it.
TEST(PeerJson, many_objects_are_read_one_by_one) {
  constexpr size_t kObjects = 340000;
  std::string text = "[{}";
  for (size_t i = 1; i < kObjects; ++i) text += ",{}";
  EXPECT_EQ(parse_peer_json(text + "]").size(), kObjects);
}

// As many levels as a line may have: their copy would need gigabytes of stack.
TEST(PeerJson, depth__needs_no_stack) {
  EXPECT_TRUE(parse_peer_json(nested(1 << 19)).is_discarded());
  EXPECT_TRUE(parse_peer_json(std::string(1 << 20, '[')).is_discarded());
}

}  // namespace
}  // namespace mrc::ctl
