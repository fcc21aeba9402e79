// The messages between libmrc and mrcd: each one sent can be read, and malformed ones are refused with a reason.
// [MRC-MRCD-4]
#include "ctl/messages.h"

#include <gtest/gtest.h>

namespace mrc::ctl {
namespace {

using Json = nlohmann::json;

template <typename Message>
std::string refusal_of(const char* text) {
  try {
    (void)Json::parse(text).get<Message>();
    return "";
  } catch (const Json::exception& e) {
    return e.what();
  }
}

TEST(Whole, both_ends_of_its_range) {
  const auto takes = [](const char* text) { return refusal_of<Whole<uint8_t>>(text).empty(); };
  EXPECT_TRUE(takes("0") && takes("255"));
  for (const char* text : {"-1", "256", "4294967296", "18446744073709551615", "0.5", "1.0", "true", "\"1\"", "null"})
    EXPECT_FALSE(takes(text)) << text;
  EXPECT_TRUE(refusal_of<Whole<uint64_t>>("18446744073709551615").empty());
  EXPECT_FALSE(refusal_of<Whole<int64_t>>("9223372036854775808").empty());
  EXPECT_EQ(Json::parse("-5").get<Whole<int>>(), -5);
}

TEST(Messages, a_written_message_is_read_back) {
  const PathChange path{5, "0001", 2, 1, 3};
  const Json text = path;
  EXPECT_EQ(text, Json::parse(R"({"profile": 5, "ev": "0001", "port": 2, "state": 1, "losses": 3})"));
  EXPECT_EQ(Json(text.get<PathChange>()), text);
  const Json holds = Holds{{{5, 2}}, {}};
  EXPECT_EQ(holds, Json::parse(R"({"ev": [[5, 2]], "cc": []})"));
  EXPECT_EQ(Json(holds.get<Holds>()), holds);
  DeviceReport report;
  report.ports.emplace_back();
  report.qps.emplace_back();
  report.peers.push_back({1, {"fd00::1"}, {EvReport()}});
  const Json whole = ReportAnswer{7, report};
  EXPECT_EQ(Json(whole.get<ReportAnswer>()), whole);
}

TEST(Messages, a_newer_peer_is_understood) {
  EXPECT_EQ(Json::parse(R"({"port": 1, "up": true, "new": []})").get<PortChange>().port, 1u);
}

TEST(Messages, a_malformed_message_is_refused_by_the_name_of_the_fault) {
  EXPECT_NE(refusal_of<PathChange>(R"({"profile": 5})").find("'ev' not found"), std::string::npos);
  EXPECT_NE(refusal_of<DeviceState>(R"({"calls": {"a": 5}, "denies": 5, "ports_down": []})"), "");
  EXPECT_NE(refusal_of<DeviceState>(R"({"calls": [], "denies": [], "ports_down": [-1]})").find("out of range"),
            std::string::npos);
  EXPECT_NE(refusal_of<Holds>(R"({"ev": [[1]], "cc": []})"), "");
  EXPECT_NE(refusal_of<Registration>("5"), "");
  EXPECT_NE(refusal_of<PortChange>(R"({"port": 1, "up": 1})"), "");
}

}  // namespace
}  // namespace mrc::ctl
