// Pages of the web server, with and without the token. [MRC-MON-8]
#include "web.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "fast/mrcd/metrics_check.h"
#include "fast/mrcd/reports.h"
#include "http.h"

namespace mrc::mrcd {
namespace {

using Json = nlohmann::json;

// A process that answers every `want` later, like one behind a socket.
class Process final : public Client {
 public:
  Process(Loop* loop, Service* service, pid_t pid) : loop_(*loop), service_(*service), pid_(pid) {
    id_ = service_.connect(this, {pid, 1000, false, "user"});
    service_.message(id_, {{"hello", {{"device", "mrc0"}, {"program", "secret"}}}}, steady_now());
  }
  void send(const Json& message) override {
    if (!message.contains("want")) return;
    ++wanted;
    loop_.post([this, token = message["want"]] {
      service_.message(id_, {{"report", {{"token", token}, {"data", report()}}}}, steady_now());
    });
  }
  int wanted = 0;

 private:
  Json report() const {
    ctl::DeviceReport report = device_report(pid_, static_cast<uint64_t>(pid_) + 100);
    report.program = "secret";
    report.ports[0].losses = 1;
    ctl::PeerReport& peer = report.peers.emplace_back();
    peer.addresses = {"192.0.2.99"};
    return report;
  }

  Loop& loop_;
  Service& service_;
  const pid_t pid_;
  ClientId id_ = 0;
};

class WebTest : public testing::Test {
 protected:
  WebTest() {
    service_.add_device(std::make_unique<SharedDevice>("mrc0", 2, "srv6", 16));
    first_ = std::make_unique<Process>(&loop_, &service_, 7001);
    second_ = std::make_unique<Process>(&loop_, &service_, 7002);
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~WebTest() override {
    loop_.stop();
    thread_.join();
  }
  HttpReply get(const std::string& path, const std::string& authorization = "",
                const std::string& host = "127.0.0.1:9417") {
    return ask({"GET", path, "", authorization, host});
  }
  HttpReply ask(const HttpRequest& request) {
    std::promise<HttpReply> answered;
    loop_.post([&] { web_.handle(request, [&](HttpReply reply) { answered.set_value(std::move(reply)); }); });
    return answered.get_future().get();
  }
  static bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

  Loop loop_;
  Service service_{[] {}, [] { return 0.0; }};
  std::unique_ptr<Process> first_, second_;
  Web web_{&service_, [] { return MonitorStatus(); }, "open-sesame"};
  std::thread thread_;
};

// [MRC-MRCD-2] [MRC-MON-9]
TEST_F(WebTest, without_the_token_only_sums) {
  for (const char* authorization : {"", "Bearer wrong", "open-sesame"}) {
    const Json state = Json::parse(get("/api/state", authorization).body);
    EXPECT_EQ(state["reports"], Json::array());
    ASSERT_EQ(state["totals"].size(), 1u);
    EXPECT_EQ(state["totals"][0]["processes"], 2);
    EXPECT_EQ(state["totals"][0]["ports"][0]["tx_bytes"], 100 + 7001 + 100 + 7002);
    EXPECT_FALSE(has(state.dump(), "secret") || has(state.dump(), "7001")) << state;
    const std::string metrics = get("/metrics", authorization).body;
    EXPECT_EQ(complaint_about(metrics), "") << metrics;
    EXPECT_TRUE(has(metrics, "mrc_losses_total{device=\"mrc0\",port=\"1\"} 2\n")) << metrics;
    EXPECT_FALSE(has(metrics, "secret") || has(metrics, "7001") || has(metrics, "192.0.2.99")) << metrics;
    EXPECT_TRUE(has(metrics, "mrc_completion_latency_seconds_count{device=\"mrc0\",peer=\"all\"} 0\n")) << metrics;
  }
}

TEST_F(WebTest, with_the_token_every_process) {
  const Json state = Json::parse(get("/api/state", "Bearer open-sesame").body);
  ASSERT_EQ(state["reports"].size(), 2u);
  EXPECT_EQ(state["reports"][0]["program"], "secret");
  const std::string metrics = get("/metrics", "Bearer open-sesame").body;
  EXPECT_EQ(complaint_about(metrics), "") << metrics;
  EXPECT_TRUE(has(metrics, "mrc_tx_bytes_total{device=\"mrc0\",pid=\"7002\",program=\"secret\",port=\"1\"} 7102\n"))
      << metrics;
  EXPECT_TRUE(has(metrics, "mrc_completion_latency_seconds_count{device=\"mrc0\",peer=\"192.0.2.99\"} 0\n")) << metrics;
}

// A request for health every second queries no process.
TEST_F(WebTest, health_is_the_daemons_own) {
  const HttpReply reply = get("/healthz");
  EXPECT_EQ(reply.status, 200u);
  EXPECT_EQ(Json::parse(reply.body)["processes"], 2);
  EXPECT_EQ(first_->wanted, 0);
}

TEST_F(WebTest, names_of_others_are_misdirected) {
  for (const char* host : {"evil.example", "evil.example:9417", "", "localhost.evil.example", "127.0.0.1.evil.example"})
    for (const char* path : {"/", "/api/state", "/metrics", "/healthz", "/api/deny"})
      EXPECT_EQ(get(path, "Bearer open-sesame", host).status, 421u) << host << path;
  for (const char* host : {"localhost", "LOCALHOST:9417", "127.0.0.1", "10.1.2.3:80", "[::1]:9417", "[fd00::1]"})
    EXPECT_EQ(get("/healthz", "", host).status, 200u) << host;
}

// Refused with what would be taken, in the words of mrcctl.
TEST_F(WebTest, changes_are_taken_word_by_word) {
  const auto post = [&](const std::string& path, const std::string& body) {
    const HttpReply reply = ask({"POST", path, body, "Bearer open-sesame", "localhost"});
    return std::to_string(reply.status) + " " + Json::parse(reply.body).value("error", "");
  };
  const std::pair<const char*, const char*> refused[] = {
      {R"({"plane": 2})", "400 unknown key 'plane': the body is {\"rule\""},
      {R"({"rule": {"plane": 2, "evs": "49152"}})", "400 unknown key 'evs': "},
      {R"({"rule": 5})", "400 the body is {\"rule\""},
      {R"({"device": 5, "rule": {"plane": 2}})", "400 the body is {\"rule\""},
      {R"([])", "400 the body is {\"rule\""},
      {R"({"device": "mrc7", "rule": {"plane": 2}})", "400 no such device"},
      {R"({"rule": {}})", "400 a rule names a plane"},
      {R"({"rule": {"plane": "2"}})", "400 a rule has plane (whole number)"},
      {R"({"rule": {"plane": 3}})", "400 device 'mrc0' has no plane 3: it has 1 to 2"}};
  for (const auto& [body, error] : refused) {
    const std::string answer = post("/api/deny", body);
    EXPECT_EQ(answer.rfind(error, 0), 0u) << body << ": " << answer;
  }
  const std::string rule = R"({"device": "mrc0", "rule": {"plane": 2, "via": "f101", "why": "a test"}})";
  EXPECT_EQ(post("/api/deny", rule), "200 ");
  EXPECT_EQ(post("/api/deny", rule), "409 denied already: plane 2, via f101");
  // As the page does it: with all keys of the rule in /api/state.
  const Json shown = Json::parse(get("/api/state").body)["devices"][0]["denies"][0];
  EXPECT_EQ(post("/api/allow", Json{{"rule", shown}}.dump()), "200 ");
  EXPECT_EQ(post("/api/allow", rule), "409 not denied: plane 2, via f101");
  EXPECT_EQ(post("/api/port", R"({"port": 9, "up": false})"), "400 device 'mrc0' has no port 9: it has 1 to 2");
  for (const char* body : {R"({"port": 1})", R"({"port": -1, "up": true})", R"({"port": "1", "up": true})",
                           R"({"port": 4294967297, "up": true})"})
    EXPECT_EQ(post("/api/port", body).rfind("400 the body is {\"port\": NUMBER", 0), 0u) << body;
  EXPECT_EQ(post("/api/port", R"({"port": 1, "up": false, "upp": 1})").rfind("400 unknown key 'upp': ", 0), 0u);
  EXPECT_EQ(post("/api/port", R"({"port": 1, "up": false})"), "200 ");
}

TEST_F(WebTest, a_body_of_brackets_is_refused) {
  const std::string deep = "{\"rule\": " + std::string(1 << 19, '[') + std::string(1 << 19, ']') + "}";
  EXPECT_EQ(ask({"POST", "/api/deny", deep, "Bearer open-sesame", "localhost"}).status, 400u);
}

}  // namespace
}  // namespace mrc::mrcd
