#include "datagrams.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "error.h"
#include "report.h"
#include "test_json.h"

namespace mrc::perf {
namespace {

using nlohmann::json;

Options datagrams(std::vector<uint64_t> sizes, Test test = Test::kBandwidth) {
  Options o;
  o.host = "peer";
  o.transport = Transport::kUd;
  o.op = Op::kSend;
  o.test = test;
  o.sizes = std::move(sizes);
  o.duration_s = 1;
  o.inline_bytes = 64;
  return o;
}

std::string refusal(Options o, uint32_t mtu) {
  try {
    fit_datagrams(&o, mtu);
  } catch (const UsageError& e) {
    return std::string(e.what()) + "; " + e.advice();
  }
  return "";
}

TEST(Datagrams, are_at_most_one_path_mtu) {
  EXPECT_EQ(refusal(datagrams({1, 4096}), 4096), "");
  const std::string text = refusal(datagrams({1, 4097}), 4096);
  EXPECT_NE(text.find("a datagram of 4097 bytes is larger than the path MTU of this device, 4096 bytes"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("a --size of at most 4096"), std::string::npos) << text;
  Options reliable;
  reliable.sizes = {1U << 20};
  EXPECT_EQ(refusal(reliable, 4096), "");
}

TEST(Datagrams, are_as_large_as_the_device_carries_by_default) {
  Options o = datagrams({});
  fit_datagrams(&o, 2048);
  EXPECT_EQ(o.sizes, std::vector<uint64_t>{2048});
}

TEST(Datagrams, the_server_receives_the_transport) {
  Options server;
  const json sent = json::parse(test_to_json(datagrams({64})).dump());
  test_from_json(sent, &server);
  EXPECT_EQ(server.transport, Transport::kUd);
  EXPECT_EQ(server.op, Op::kSend);
  json older = sent;
  older.erase("transport");
  EXPECT_THROW(test_from_json(older, &(server = Options())), PerfError);
  older["op"] = "write";
  test_from_json(older, &(server = Options()));
  EXPECT_EQ(server.transport, Transport::kMrc);
}

json side(uint64_t sent, double seconds, uint64_t received, double receive_s) {
  return {{"sent", sent}, {"seconds", seconds},  {"received", received}, {"receive_s", receive_s},
          {"cpu_s", 0.5}, {"checked", received}, {"mismatches", 0},      {"first_mismatch", ""}};
}

json entry(const Options& o, const json& client, const json& server) {
  json report = make_report(o, "mrc0", 3);
  Plan plan;
  plan.size = 1000;
  add_size(&report, o, plan, true, client, server);
  return report.at("sizes").at(0);
}

TEST(Datagrams, count_where_they_arrive) {
  const json e = entry(datagrams({1000}), side(1000, 1.0, 0, 0), side(0, 0, 800, 2.0));
  EXPECT_EQ(e.at("sent"), 1000);
  EXPECT_EQ(e.at("messages"), 800);
  EXPECT_EQ(e.at("bytes"), 800000);
  EXPECT_EQ(e.at("lost"), 200);
  EXPECT_DOUBLE_EQ(e.at("message_rate"), 400);  // the last one arrived after 2 s
  EXPECT_DOUBLE_EQ(e.at("seconds"), 2);
}

TEST(Datagrams, count_in_both_directions) {
  Options o = datagrams({1000});
  o.bidirectional = true;
  const json e = entry(o, side(100, 1.0, 180, 1.0), side(200, 1.0, 90, 1.0));
  EXPECT_EQ(e.at("lost"), 30);
  EXPECT_EQ(e.at("messages"), 270);
}

TEST(Datagrams, duplicated_by_the_network_are_not_lost) {
  EXPECT_EQ(entry(datagrams({1000}), side(10, 1, 0, 0), side(0, 0, 12, 1)).at("lost"), 0);
}

TEST(Datagrams, reliable_messages_count_at_the_sender) {
  Options o = datagrams({1000});
  o.transport = Transport::kMrc;
  o.op = Op::kWrite;
  const json e = entry(o, side(1000, 1.0, 0, 0), side(0, 0, 0, 0));
  EXPECT_EQ(e.at("messages"), 1000);
  EXPECT_DOUBLE_EQ(e.at("message_rate"), 1000);
  EXPECT_FALSE(e.contains("lost"));
}

std::string printed_size(const json& report) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* const out = open_memstream(&text, &size);
  print_size(report, out);
  std::fclose(out);
  const std::string all(text, size);
  std::free(text);
  return all;
}

TEST(Datagrams, lost_ones_are_printed) {
  const Options o = datagrams({1000});
  const json e = entry(o, side(1000, 1.0, 0, 0), side(0, 0, 800, 1.0));
  EXPECT_NE(printed_size({{"sizes", {e}}}).find("800 messages right, 200 of 1000 lost\n"), std::string::npos);
}

TEST(Datagrams, lost_rounds_are_those_of_both_directions) {
  const Options o = datagrams({1000}, perf::Test::kLatency);
  const json figures{{"samples", 90},  {"min_us", 1.0}, {"p50_us", 1.0},  {"p90_us", 1.0},  {"p99_us", 1.0},
                     {"p999_us", 1.0}, {"max_us", 1.0}, {"mean_us", 1.0}, {"seconds", 1.0}, {"cpu_s", 1.0}};
  json client = figures, server = figures;
  client.update({{"sent", 110}, {"received", 100}, {"repeated", 9}});
  server.update({{"sent", 106}, {"received", 106}, {"repeated", 0}});
  const json e = entry(o, client, server);
  EXPECT_EQ(e.at("latency").at("lost"), 10);
  EXPECT_EQ(e.at("latency").at("repeated"), 9);
  EXPECT_NE(printed_size({{"sizes", {e}}}).find("10 datagrams lost; 9 rounds were asked for again"), std::string::npos);
  server["received"] = 110;
  EXPECT_EQ(entry(o, client, server).at("latency").at("lost"), 6);
}

}  // namespace
}  // namespace mrc::perf
