#include "losses.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace mrc::perf {
namespace {

using nlohmann::json;

Snapshot snapshot(std::map<std::string, uint64_t> counters) {
  Snapshot s;
  s.counters = std::move(counters);
  return s;
}

json sender() {
  return loss_counters(snapshot({{"tx_data", 1000}, {"retransmits", 5}}),
                       snapshot({{"tx_data", 101000}, {"retransmits", 105}, {"tx_packets", 7}}));
}
json receiver(uint64_t overflow = 0) {
  return loss_counters(snapshot({{"rx_duplicates", 1}}), snapshot({{"rx_duplicates", 11},
                                                                   {"rx_trimmed", 20},
                                                                   {"drop_icrc", 5},
                                                                   {"drop_decode", 2},
                                                                   {"driver.rx_overflow", overflow}}));
}

TEST(Losses, are_of_the_run_and_of_the_kind_that_the_receiver_knows) {
  const Losses l = losses_between(sender(), receiver());
  EXPECT_EQ(l.sent, 100000u);
  EXPECT_EQ(l.again, 100u);
  EXPECT_EQ(l.needlessly, 10u);
  EXPECT_EQ(l.trimmed, 20u);
  EXPECT_EQ(l.corrupted, 7u);
  EXPECT_EQ(l.overflowed, 0u);
  EXPECT_EQ(l.in_network(), 63u);
}

// The rest is 63 packets.
TEST(Losses, of_a_socket_are_merged_packets_that_count_as_one) {
  const Losses l = losses_between(sender(), receiver(1));
  EXPECT_EQ(l.overflowed, 63u);
  EXPECT_EQ(l.in_network(), 0u);
  const json more = loss_counters(snapshot({}), snapshot({{"tx_data", 1000}, {"retransmits", 102}}));
  const Losses m = losses_between(more, receiver(1));
  EXPECT_EQ(m.overflowed, 64u);
  EXPECT_EQ(m.in_network(), 1u);
}

// Control packets count as corrupted, too: more reasons than retransmissions.
TEST(Losses, of_the_network_are_never_below_zero) {
  Losses l;
  l.again = 3;
  l.corrupted = 3;
  EXPECT_EQ(l.in_network(), 0u);
  l.corrupted = 4;
  EXPECT_EQ(l.in_network(), 0u);
  l.corrupted = 2;
  EXPECT_EQ(l.in_network(), 1u);
}

TEST(Losses, duplicates_made_by_the_network_are_no_retransmissions) {
  json receiver_of_many = receiver();
  receiver_of_many["duplicates"] = 101;
  EXPECT_EQ(losses_between(sender(), receiver_of_many).needlessly, 100u);
}

TEST(Losses, name_the_direction_that_carried_packets) {
  json report;
  add_losses(&report, true, sender(), receiver());
  ASSERT_EQ(report["losses"].size(), 1u);
  EXPECT_EQ(report["losses"][0]["from"], "client");
  EXPECT_EQ(report["losses"][0]["to"], "server");
  EXPECT_EQ(report["losses"][0]["packets"], 100000);
  EXPECT_EQ(report["losses"][0]["network"], 63);

  add_losses(&report, false, receiver(), sender());
  ASSERT_EQ(report["losses"].size(), 1u);
  EXPECT_EQ(report["losses"][0]["from"], "client");
}

std::string printed(const json& report) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* const out = open_memstream(&text, &size);
  print_losses(report, out);
  std::fclose(out);
  const std::string all(text, size);
  std::free(text);
  return all;
}

TEST(Losses, of_a_socket_are_an_upper_bound_in_the_text) {
  json report;
  add_losses(&report, true, sender(), receiver(1));
  EXPECT_EQ(report["losses"][0]["overflowed"], 63);
  EXPECT_NE(printed(report).find("0 lost in the network"), std::string::npos);
  EXPECT_NE(printed(report).find(", up to 63 dropped because the server's socket was full\n"), std::string::npos);
  add_losses(&report, true, sender(), receiver(0));
  EXPECT_NE(printed(report).find("63 lost in the network"), std::string::npos);
  EXPECT_EQ(printed(report).find("up to"), std::string::npos);
}

TEST(Losses, an_answer_without_counters_is_refused) {
  json report;
  EXPECT_THROW(add_losses(&report, true, sender(), json::object()), json::exception);
  EXPECT_THROW(losses_between(sender(), json{{"duplicates", "many"}}), json::exception);
}

}  // namespace
}  // namespace mrc::perf
