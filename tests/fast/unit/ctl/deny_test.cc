// Rules that take paths out of use. [MRC-MRCD-6]
#include "ctl/deny.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mrc::ctl {
namespace {

using Json = nlohmann::json;

IpAddress address(const char* text) {
  return IpAddress::parse(text).value();
}

DenyRule rule_of(const Json& text) {
  const Result<DenyRule> rule = parse_deny(text);
  EXPECT_TRUE(rule) << text << ": " << rule.error().text;
  return rule ? *rule : DenyRule();
}

// Plane 2, the third path, over f202 to e203.
bool denied(const Json& text) {
  static const std::vector<uint16_t> usids = {0xf202, 0xe203, 0x0301};
  static const std::vector<IpAddress> peer = {IpAddress(), address("fcbb:bb02:301::")};
  return covers(rule_of(text), {2, 0x0003C001, usids, peer});
}

TEST(DenyRule, each_part_must_fit) {
  EXPECT_TRUE(denied({{"plane", 2}}));
  EXPECT_FALSE(denied({{"plane", 1}}));
  EXPECT_TRUE(denied({{"ev", "0x0003"}}));
  EXPECT_TRUE(denied({{"ev", "0x0003:49153"}}));
  EXPECT_TRUE(denied({{"ev", "49153"}}));
  EXPECT_FALSE(denied({{"ev", "0x0003:49154"}}));
  EXPECT_FALSE(denied({{"ev", "0x0004"}}));
  EXPECT_TRUE(denied({{"via", "f202"}}));
  EXPECT_TRUE(denied({{"via", "e203"}}));
  EXPECT_TRUE(denied({{"via", "f202:e203"}}));
  EXPECT_FALSE(denied({{"via", "e203:f202"}}));  // the other way round
  EXPECT_FALSE(denied({{"via", "f202:0301"}}));  // not one after the other
  EXPECT_TRUE(denied({{"to", "fcbb:bb02:300::/40"}}));
  EXPECT_FALSE(denied({{"to", "fcbb:bb02:400::/40"}}));
  EXPECT_TRUE(denied({{"to", "fcbb:bb02:301::"}}));
  EXPECT_FALSE(denied({{"plane", 1}, {"via", "f202"}}));
}

TEST(DenyRule, no_path_has_no_switches) {
  const DenyRule rule = rule_of({{"via", "f202"}});
  EXPECT_FALSE(covers(rule, {2, 1, {}, {}}));
  EXPECT_TRUE(covers(rule_of({{"plane", 2}}), {2, 1, {}, {}}));
}

TEST(DenyRule, prefixes_at_their_last_bit) {
  const IpAddress prefix = address("fcbb:bb02:300::");
  EXPECT_TRUE(in_prefix(address("fcbb:bb02:3ff::"), prefix, 40));
  EXPECT_FALSE(in_prefix(address("fcbb:bb02:400::"), prefix, 40));
  EXPECT_FALSE(in_prefix(address("fcbb:bb02:3ff::"), prefix, 41));
  EXPECT_TRUE(in_prefix(prefix, prefix, 128));
  EXPECT_TRUE(in_prefix(address("::"), prefix, 0));
  EXPECT_EQ(rule_of({{"to", "10.1.0.0/16"}}).to_bits, 112u);
  EXPECT_TRUE(in_prefix(address("10.1.2.3"), address("10.1.0.0"), 112));
}

TEST(DenyRule, numbers_are_the_same_however_they_are_written) {
  for (const char* text : {"0x0003:49152", "0x3:49152", "0X0003:049152", "0x000003:0xc000", "3:49152", "003:0xC000"})
    EXPECT_EQ(deny_json(rule_of({{"ev", text}})), (Json{{"plane", 0}, {"ev", "0x0003:49152"}})) << text;
  for (const char* text : {"49152", "049152", "0000049152"})
    EXPECT_EQ(deny_json(rule_of({{"ev", text}})), (Json{{"plane", 0}, {"ev", "49152"}})) << text;
  for (const char* text : {"f101:e102", "F101:E102", "0f101:00e102"})
    EXPECT_EQ(deny_json(rule_of({{"via", text}})), (Json{{"plane", 0}, {"via", "f101:e102"}})) << text;
  EXPECT_TRUE(rule_of({{"ev", "0x03"}}).same_paths(rule_of({{"ev", "0x0003"}})));
}

TEST(DenyRule, text_and_back) {
  for (const Json& text :
       {Json{{"plane", 2}}, Json{{"plane", 0}, {"ev", "0x00ff:49152"}}, Json{{"plane", 1}, {"via", "f101:e102"}},
        Json{{"plane", 0}, {"to", "fd00::/16"}}, Json{{"plane", 0}, {"to", "10.0.0.0/8"}},
        Json{{"plane", 3}, {"ev", "49152"}, {"by", "root"}, {"why", "a test"}}})
    EXPECT_EQ(deny_json(rule_of(text)), text);
  EXPECT_EQ(deny_text(rule_of({{"plane", 1}, {"ev", "0x0003"}, {"via", "f101:e102"}, {"to", "fd00::/16"}})),
            "plane 1, EV 0x0003, via f101:e102, to fd00::/16");
  EXPECT_TRUE(rule_of({{"plane", 1}, {"by", "a"}}).same_paths(rule_of({{"plane", 1}, {"by", "b"}})));
  EXPECT_FALSE(rule_of({{"plane", 1}}).same_paths(rule_of({{"plane", 2}})));
}

TEST(DenyRule, a_rule_with_a_prefix_or_a_spine_is_not_for_a_whole_plane) {
  DenyRule rule;
  EXPECT_FALSE(rule.is_whole_plane());
  rule.plane = 2;
  EXPECT_TRUE(rule.is_whole_plane());
  rule.to_bits = 8;
  EXPECT_FALSE(rule.is_whole_plane());
  rule.to_bits = 0;
  rule.via = {0xf101};
  EXPECT_FALSE(rule.is_whole_plane());
}

TEST(DenyRule, a_malformed_rule_is_refused) {
  for (const Json& text : {Json::object(),
                           Json{{"plane", 0}},
                           Json{{"plane", 33}},
                           Json{{"plane", "x"}},
                           Json{{"ev", "0x12345"}},
                           Json{{"ev", "x"}},
                           Json{{"ev", "70000"}},
                           Json{{"via", "g1"}},
                           Json{{"via", "0"}},
                           Json{{"via", "f101:"}},
                           Json{{"to", "fd00::/129"}},
                           Json{{"to", "host"}},
                           Json{{"to", "::/0"}},
                           Json{{"to", "0.0.0.0/0"}},
                           Json{{"ev", "0"}},
                           Json{{"ev", "0x0"}},
                           Json{{"ev", "0x0:0"}},
                           Json{{"plane", 1}, {"ev", "0"}},
                           Json(5),
                           Json{{"plane", (uint64_t{1} << 32) + 1}},
                           Json{{"plane", 1.9}},
                           Json{{"plane", -1}},
                           Json{{"plane", 1}, {"why", "\x1b[2J"}},
                           Json{{"plane", 1}, {"by", "a\nb"}}}) {
    const Result<DenyRule> rule = parse_deny(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_EQ(rule.error().code, EINVAL);
    EXPECT_FALSE(rule.error().text.empty()) << text;
  }
}

}  // namespace
}  // namespace mrc::ctl
