// Notifications and answers, without sockets. [MRC-MRCD-2..7]
#include "service.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <cerrno>

#include "at.h"
#include "metrics_check.h"
#include "report_check.h"
#include "reports.h"
#include "web.h"

namespace mrc::mrcd {
namespace {

using Json = nlohmann::json;

struct Line final : Client {
  void send(const Json& message) override { received.push_back(message); }
  // The last message with that key.
  Json last(const char* key) const {
    for (auto at = received.rbegin(); at != received.rend(); ++at)
      if (at->contains(key)) return (*at)[key];
    return nullptr;
  }
  int error() const { return received.empty() ? -1 : received.back().value("error", -1); }
  std::vector<Json> received;
};

struct Rig {
  Rig() : service([this] { ++saves; }, [this] { return wall_time; }) {
    service.add_device(std::make_unique<SharedDevice>("mrc0", 2, "srv6", 16));
    app_id = service.connect(&app, {100, 1000, false, "user"});
    root_id = service.connect(&root, {200, 0, true, "root"});
    service.message(
        app_id, {{"hello", {{"device", "mrc0"}, {"program", "app"}, {"planes", 2}, {"ev_mode", "srv6"}, {"evs", 16}}}},
        at(0));
  }
  // As a process on the device, with nothing of its own.
  void register_client(ClientId id) { service.message(id, {{"hello", {{"device", "mrc0"}}}}, at(0)); }
  void register_process(Line* line, const Peer& process) { register_client(service.connect(line, process)); }
  int ask(ClientId id, Line& line, Json message) {
    message["request"] = ++number;
    service.message(id, message, at(0));
    return line.last("answer") == number ? line.error() : -2;
  }
  Json automatic(uint64_t profile) {
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
    return ctl::call_json(profile, attr,
                          MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                              MRC_CTL_EV_PROFILE_EVENT_MASK);
  }
  Json go(uint64_t profile, mrc_ctl_profile_state to) {
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = to;
    return ctl::call_json(profile, attr, MRC_CTL_EV_PROFILE_STATE);
  }
  // EVs of profile 5 that a new process of that user finds assumed bad.
  size_t bad_paths(uid_t user) {
    Service view([] {}, [] { return 0.0; });
    view.add_device(std::make_unique<SharedDevice>("mrc0", 2, "srv6", 16));
    EXPECT_TRUE(view.device("")->restore(service.device("")->state_for(user)));
    const auto& entries = view.device("")->store().ev(5)->table().entries();
    return static_cast<size_t>(std::count_if(entries.begin(), entries.end(), [](const ctl::EvTable::Entry& entry) {
      return entry.state == MRC_CTL_EV_ASSUMED_BAD;
    }));
  }
  void bring_online(uint64_t profile) {
    modify(automatic(profile));
    modify(go(profile, MRC_CTL_PROFILE_ONLINE));
  }
  int modify(const Json& call) { return ask(root_id, root, {{"do", "modify"}, {"call", call}}); }

  Line app, root;
  ClientId app_id = 0, root_id = 0;
  int saves = 0;
  double wall_time = 0;
  unsigned number = 0;
  Service service;
};

// [MRC-MRCD-3] [MRC-MRCD-4]
TEST(Service, a_change_reaches_processes_before_it_is_answered) {
  Rig rig;
  EXPECT_EQ(rig.app.last("state")["calls"].size(), 0u);
  EXPECT_EQ(rig.modify(rig.automatic(5)), 0);
  EXPECT_EQ(rig.app.last("call")["id"], 5);
  EXPECT_EQ(rig.modify(rig.go(5, MRC_CTL_PROFILE_ONLINE)), 0);
  EXPECT_EQ(rig.saves, 2);
  const size_t before = rig.app.received.size();
  EXPECT_EQ(rig.modify(rig.go(5, MRC_CTL_PROFILE_INIT)), EINVAL);
  EXPECT_EQ(rig.app.received.size(), before);
  EXPECT_EQ(rig.saves, 2);
  Line late;
  rig.service.message(rig.service.connect(&late, {}), {{"hello", {{"device", "mrc0"}}}}, at(0));
  EXPECT_EQ(late.last("state")["calls"].size(), 2u);
}

// [MRC-MRCD-2]
TEST(Service, a_refused_request_changes_nothing) {
  Rig rig;
  EXPECT_EQ(rig.ask(rig.app_id, rig.app, {{"do", "modify"}, {"call", rig.automatic(5)}}), EPERM);
  EXPECT_EQ(rig.ask(rig.app_id, rig.app, {{"do", "deny"}, {"rule", {{"plane", 1}}}}), EPERM);
  EXPECT_EQ(rig.ask(rig.app_id, rig.app, {{"do", "port"}, {"port", 1}, {"up", false}}), EPERM);
  EXPECT_EQ(rig.ask(rig.app_id, rig.app, {{"do", "show"}}), 0);
  EXPECT_EQ(rig.saves, 0);
}

TEST(Service, a_held_profile_is_busy_until_its_process_lets_go_or_dies) {
  Rig rig;
  rig.bring_online(5);
  rig.service.message(rig.app_id, {{"holds", {{"ev", {{5, 2}}}, {"cc", Json::array()}}}}, at(0));
  EXPECT_EQ(rig.modify(rig.go(5, MRC_CTL_PROFILE_OFFLINE)), EBUSY);
  rig.service.message(rig.app_id, {{"holds", {{"ev", Json::array()}, {"cc", Json::array()}}}}, at(0));
  EXPECT_EQ(rig.modify(rig.go(5, MRC_CTL_PROFILE_OFFLINE)), 0);
  rig.modify(rig.go(5, MRC_CTL_PROFILE_ONLINE));
  rig.service.message(rig.app_id, {{"holds", {{"ev", {{5, 1}}}, {"cc", Json::array()}}}}, at(0));
  EXPECT_EQ(rig.modify(rig.go(5, MRC_CTL_PROFILE_OFFLINE)), EBUSY);
  rig.service.disconnect(rig.app_id);
  EXPECT_EQ(rig.modify(rig.go(5, MRC_CTL_PROFILE_OFFLINE)), 0);
}

// [MRC-MRCD-5]
TEST(Service, a_bad_path_of_one_process_is_reported_to_the_others) {
  Rig rig;
  Line other;
  rig.register_process(&other, {101, 1000, false, "user"});
  rig.bring_online(5);
  const Json path = {{"profile", 5}, {"ev", "0001"}, {"port", 1}, {"state", MRC_CTL_EV_ASSUMED_BAD}, {"losses", 3}};
  rig.service.message(rig.app_id, {{"path", path}}, at(0));
  EXPECT_EQ(other.last("path"), path);
  EXPECT_TRUE(rig.app.last("path").is_null());
  EXPECT_EQ(rig.bad_paths(1000), 1u);
}

// [MRC-MRCD-5] A user's report takes no path from the processes of others.
TEST(Service, a_path_report_of_a_user_counts_for_that_user_alone) {
  Rig rig;
  Line other, same;
  rig.register_process(&other, {101, 1001, false, "other"});
  rig.register_process(&same, {102, 1000, false, "user"});
  rig.bring_online(5);
  Json path = {{"profile", 5}, {"ev", "0001"}, {"port", 1}, {"state", MRC_CTL_EV_ASSUMED_BAD}, {"losses", 3}};
  rig.service.message(rig.app_id, {{"path", path}}, at(0));
  EXPECT_EQ(same.last("path"), path);
  EXPECT_TRUE(other.last("path").is_null());
  EXPECT_EQ(rig.bad_paths(1000), 1u);
  EXPECT_EQ(rig.bad_paths(1001), 0u);
  EXPECT_EQ(rig.bad_paths(0), 0u);

  // The observations of a privileged process hold for all.
  rig.register_client(rig.root_id);
  path["ev"] = "0002";
  rig.service.message(rig.root_id, {{"path", path}}, at(0));
  EXPECT_EQ(other.last("path"), path);
  EXPECT_EQ(rig.bad_paths(1000), 2u);
  EXPECT_EQ(rig.bad_paths(1001), 1u);
  path["state"] = MRC_CTL_EV_GOOD;
  for (const char* ev : {"0001", "0002"}) {
    path["ev"] = ev;
    rig.service.message(rig.app_id, {{"path", path}}, at(0));
    EXPECT_EQ(same.last("path"), path);
  }
  EXPECT_EQ(rig.bad_paths(1000), 0u);
  EXPECT_EQ(rig.bad_paths(1001), 1u);

  // A profile that is created again has no memory of it.
  path["state"] = MRC_CTL_EV_ASSUMED_BAD;
  rig.service.message(rig.app_id, {{"path", path}}, at(0));
  path["ev"] = "0001";
  rig.service.message(rig.app_id, {{"path", path}}, at(0));
  EXPECT_EQ(rig.bad_paths(1000), 2u);
  rig.modify(rig.go(5, MRC_CTL_PROFILE_OFFLINE));
  rig.modify(rig.go(5, MRC_CTL_PROFILE_INIT));
  rig.bring_online(5);
  EXPECT_EQ(rig.bad_paths(1000), 0u);
}

// [MRC-MRCD-6]
TEST(Service, denies_and_ports) {
  Rig rig;
  const Json rule = {{"plane", 1}, {"via", "f101"}};
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "deny"}, {"rule", rule}}), 0);
  EXPECT_EQ(rig.app.last("denies")[0]["via"], "f101");
  EXPECT_EQ(rig.app.last("denies")[0]["by"], "root");
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "deny"}, {"rule", rule}}), EEXIST);
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "allow"}, {"rule", rule}}), 0);
  EXPECT_EQ(rig.app.last("denies").size(), 0u);
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "allow"}, {"rule", rule}}), ENOENT);
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "deny"}, {"rule", Json::object()}}), EINVAL);
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "port"}, {"port", 2}, {"up", false}}), 0);
  EXPECT_EQ(rig.app.last("ports_down"), Json({2}));
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "port"}, {"port", 3}, {"up", false}}), EINVAL);
}

// [MRC-MRCD-7]
TEST(Service, the_file_has_what_was_decided_and_not_what_was_seen) {
  Rig rig;
  rig.bring_online(5);
  ctl::DenyRule rule;
  rule.plane = 1;
  rule.by = kMonitor;
  EXPECT_EQ(rig.service.deny(rig.service.device(""), rule), 0);
  rule.plane = 2;
  rule.by = "root";
  EXPECT_EQ(rig.service.deny(rig.service.device(""), rule), 0);
  rig.service.message(
      rig.app_id,
      {{"path", {{"profile", 5}, {"ev", "0001"}, {"port", 1}, {"state", MRC_CTL_EV_ASSUMED_BAD}, {"losses", 3}}}},
      at(0));
  const Json state = rig.service.file_state();
  Service next([] {}, [] { return 0.0; });
  ASSERT_TRUE(next.restore(state));
  next.add_device(std::make_unique<SharedDevice>("mrc0", 2, "srv6", 16));
  ASSERT_NE(next.device("")->store().ev(5), nullptr);
  EXPECT_EQ(next.device("")->store().ev(5)->table().entries()[0].state, MRC_CTL_EV_GOOD);
  ASSERT_EQ(next.device("")->denies().size(), 1u);
  EXPECT_EQ(next.device("")->denies()[0].plane, 2u);
  EXPECT_EQ(next.file_state(), state);
}

Json report() {
  return device_report();
}

TEST(Service, reports_come_from_those_that_answer_in_time) {
  Rig rig;
  Line silent;
  rig.service.message(rig.service.connect(&silent, {}), {{"hello", {{"device", "mrc0"}}}}, at(0));
  rig.ask(rig.root_id, rig.root, {{"do", "reports"}});
  const Json token = rig.app.last("want");
  rig.service.message(rig.app_id, {{"report", {{"token", token}, {"data", report()}}}}, at(10));
  rig.service.tick(at(900));
  EXPECT_TRUE(rig.root.last("answer").is_null());
  rig.service.tick(at(1100));
  ASSERT_EQ(rig.root.last("data").size(), 1u);
  EXPECT_EQ(rig.root.last("data")[0]["pid"], 100);  // as the kernel reports, not as in its own message
}

// One asks the processes; all who come while they answer get the next reports together.
TEST(Service, many_requests_for_reports_ask_the_processes_twice) {
  Rig rig;
  const auto asked = [&] {
    return std::count_if(rig.app.received.begin(), rig.app.received.end(),
                         [](const Json& m) { return m.contains("want"); });
  };
  int answered = 0;
  for (int i = 0; i < 40; ++i)
    rig.service.gather(at(i), [&](const Service::Reports& reports) { answered += static_cast<int>(reports.size()); });
  EXPECT_EQ(asked(), 1);
  rig.service.message(rig.app_id, {{"report", {{"token", rig.app.last("want")}, {"data", report()}}}}, at(50));
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(asked(), 2);
  rig.service.message(rig.app_id, {{"report", {{"token", rig.app.last("want")}, {"data", report()}}}}, at(60));
  EXPECT_EQ(answered, 40);
  EXPECT_EQ(asked(), 2);
}

TEST(Service, a_report_that_is_none_is_left_out) {
  const Json no_ports = {{"device", "mrc0"}, {"program", "app"}};
  Json wrong_type = report(), missing = report(), no_name = report();
  wrong_type["ports"][0]["tx_bytes"] = "many";
  missing["peers"] = {{{"peer", 0}, {"addresses", Json::array()}, {"evs", {{{"port", 1}}}}}};
  no_name["program"] = std::string(1 << 20, 'x');
  Json state = report(), negative = report(), wide = report(), flag = report();
  state["peers"] = {ctl::PeerReport{0, {}, {ev_report("GOOD")}}};
  negative["ports"][0]["tx_bytes"] = -1;
  wide["ports"][0]["port"] = (uint64_t{1} << 32) + 1;
  flag["ports"][0]["up"] = 1;
  EXPECT_TRUE(is_report(state));
  Json short_histogram = state;
  short_histogram["peers"][0]["retransmission"]["counts"] = {1, 2, 3};
  state["peers"][0]["evs"][0]["state"] = "one of a million";
  for (const Json& data : {Json(), Json(5), Json::array(), no_ports, wrong_type, missing, no_name, state, negative,
                           wide, flag, short_histogram}) {
    Rig rig;
    rig.ask(rig.root_id, rig.root, {{"do", "reports"}});
    rig.service.message(rig.app_id, {{"report", {{"token", rig.app.last("want")}, {"data", data}}}}, at(10));
    EXPECT_EQ(rig.root.last("data"), Json::array()) << data.dump().substr(0, 200);
  }
}

// Processes keep the library with which they were started. One from before the histograms has none.
TEST(Service, the_report_of_an_older_library_is_taken) {
  Json old = report();
  old["peers"] = {{{"peer", 3}, {"addresses", {"10.0.0.2"}}, {"evs", {ev_report("GOOD")}}}};
  const auto read = parse_report(old);
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->peers.size(), 1u);
  EXPECT_EQ(read->peers[0].peer, 3u);
  EXPECT_TRUE(read->peers[0].completion.counts.empty());
  EXPECT_TRUE(read->peers[0].retransmission.counts.empty());
}

Json hello(const std::string& device, uint32_t planes = 2) {
  return {{"hello", {{"device", device}, {"program", "app"}, {"planes", planes}, {"ev_mode", "srv6"}, {"evs", 16}}}};
}

// [MRC-MON-9]
TEST(Service, latencies_stay_when_a_process_goes_and_go_with_their_device) {
  Rig rig;
  Json data = report();
  ctl::PeerReport peer;
  peer.completion = {8000, std::vector<ctl::Whole<uint64_t>>(ctl::DelayReport::kCounts)};
  peer.completion.counts[3] = 1;
  data["peers"] = {peer};
  const auto count = [&rig](const std::string& device) {
    const LatencyByDevice latency = rig.service.latencies().all_peers();
    const auto found = latency.find(device);
    return found == latency.end() ? uint64_t{0} : found->second.at("all").completion.counts[3].number();
  };
  const auto send_report = [&](ClientId id, Line* line) {
    rig.service.message(id, {{"report", {{"token", line->last("want")}, {"data", data}}}}, at(10));
  };
  Line line;
  const ClientId made = rig.service.connect(&line, {100, 1000, false, "user"});
  rig.service.message(made, hello("made"), at(0));
  rig.ask(rig.root_id, rig.root, {{"do", "reports"}});
  send_report(made, &line);
  send_report(rig.app_id, &rig.app);
  EXPECT_EQ(count("mrc0"), 1u);
  EXPECT_EQ(count("made"), 1u);
  rig.service.disconnect(rig.app_id);
  rig.service.disconnect(made);
  EXPECT_EQ(count("mrc0"), 1u) << "of the configuration";
  EXPECT_EQ(count("made"), 0u) << "a device of processes alone";
}

// [MRC-MON-9] The last figures come without a request, and a report may come too late for it.
TEST(Service, latencies_of_unrequested_and_late_reports_count) {
  Rig rig;
  ctl::PeerReport peer;
  peer.completion = {8000, std::vector<ctl::Whole<uint64_t>>(ctl::DelayReport::kCounts)};
  const auto count = [&rig] {
    const LatencyByDevice latency = rig.service.latencies().all_peers();
    return latency.empty() ? 0 : latency.at("mrc0").at("all").completion.counts[3].number();
  };
  const auto send_report = [&](uint64_t token, uint64_t completions, int64_t ms) {
    Json data = report();
    peer.completion.counts[3] = completions;
    data["peers"] = {peer};
    rig.service.message(rig.app_id, {{"report", {{"token", token}, {"data", data}}}}, at(ms));
  };
  send_report(5, 1, 0);
  EXPECT_EQ(count(), 0u) << "nothing was requested";
  rig.ask(rig.root_id, rig.root, {{"do", "reports"}});
  const auto token = rig.app.last("want").get<uint64_t>();
  rig.service.tick(at(1100));
  EXPECT_EQ(rig.root.last("data"), Json::array());
  send_report(token, 2, 1200);
  EXPECT_EQ(count(), 2u);
  send_report(ctl::kLastFigures, 5, 60000);
  EXPECT_EQ(count(), 5u);
  rig.service.disconnect(rig.app_id);
  EXPECT_EQ(count(), 5u);
}

// Only while a report is requested may a process send more than a line of a few hundred kilobytes.
TEST(Service, a_process_asked_for_its_report_is_awaited_for_a_while) {
  Rig rig;
  EXPECT_FALSE(rig.service.awaits_report(rig.app_id, at(0)));
  rig.ask(rig.root_id, rig.root, {{"do", "reports"}});
  EXPECT_TRUE(rig.service.awaits_report(rig.app_id, at(9999)));
  EXPECT_FALSE(rig.service.awaits_report(rig.app_id, at(10000)));
  EXPECT_FALSE(rig.service.awaits_report(rig.root_id, at(0)));
}

// A process may come with a device that mrcd's configuration does not name; not with any number of them.
TEST(Service, devices_that_only_processes_name_are_few_and_go_with_their_last_process) {
  Rig rig;
  std::vector<std::unique_ptr<Line>> lines;
  std::vector<ClientId> ids;
  for (int i = 0; i < 17; ++i) {
    lines.push_back(std::make_unique<Line>());
    ids.push_back(rig.service.connect(lines.back().get(), {100, 1000, false, "user"}));
    rig.service.message(ids.back(), hello("made" + std::to_string(i)), at(0));
  }
  EXPECT_FALSE(lines[15]->last("state").is_null());
  EXPECT_TRUE(lines[16]->last("state").is_null());
  EXPECT_EQ(lines[16]->error(), ENOSPC);
  EXPECT_EQ(rig.service.devices().size(), 17u);
  EXPECT_EQ(rig.service.file_state()["devices"].size(), 1u);
  // One on which something is configured stays, and is in the file.
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "port"}, {"device", "made3"}, {"port", 1}, {"up", false}}), 0);
  for (ClientId id : ids) rig.service.disconnect(id);
  EXPECT_EQ(rig.service.devices().size(), 2u);
  EXPECT_NE(rig.service.device("made3"), nullptr);
  EXPECT_TRUE(rig.service.file_state()["devices"].contains("made3"));
  // When it no longer is, the device makes room for the next.
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "port"}, {"device", "made3"}, {"port", 1}, {"up", true}}), 0);
  rig.service.message(rig.service.connect(lines[0].get(), {100, 1000, false, "user"}), hello("later"), at(0));
  EXPECT_EQ(rig.service.device("made3"), nullptr);
  EXPECT_NE(rig.service.device("later"), nullptr);
}

// Another process uses a device of that name and another shape first: the file's entry is for the one that fits.
TEST(Service, the_state_in_the_file_waits_for_a_device_that_fits) {
  const Json file = {
      {"version", 1},
      {"devices",
       {{"far", {{"calls", Json::array()}, {"denies", {{{"plane", 3}, {"by", "root"}}}}, {"ports_down", {4}}}}}}};
  Service service([] {}, [] { return 0.0; });
  ASSERT_TRUE(service.restore(file));
  Line line;
  const ClientId id = service.connect(&line, {});
  service.message(id, hello("far", 1), at(0));
  EXPECT_EQ(line.last("state")["denies"].size(), 0u);
  EXPECT_EQ(service.file_state(), file);
  service.disconnect(id);
  service.message(service.connect(&line, {}), hello("far", 4), at(0));
  EXPECT_EQ(line.last("state")["ports_down"], Json({4}));
  EXPECT_EQ(service.file_state()["devices"]["far"]["ports_down"], Json({4}));
}

TEST(Service, a_process_that_opens_another_device_holds_nothing_of_the_first) {
  Rig rig;
  rig.bring_online(5);
  rig.service.message(rig.app_id, {{"holds", {{"ev", {{5, 2}}}, {"cc", Json::array()}}}}, at(0));
  EXPECT_EQ(rig.modify(rig.go(5, MRC_CTL_PROFILE_OFFLINE)), EBUSY);
  rig.service.message(rig.app_id, hello("other"), at(0));
  EXPECT_EQ(rig.modify(rig.go(5, MRC_CTL_PROFILE_OFFLINE)), 0);
}

TEST(Service, a_hello_of_wrong_types_opens_nothing) {
  Rig rig;
  Line line;
  const ClientId id = rig.service.connect(&line, {100, 1000, false, "user"});
  rig.service.message(id, {{"hello", {{"device", "mrc0"}, {"program", 5}}}}, at(0));
  EXPECT_EQ(line.error(), EINVAL);
  EXPECT_EQ(rig.service.processes(), 1u);
  rig.service.disconnect(id);
  const ClientId long_name = rig.service.connect(&line, {100, 1000, false, "user"});
  rig.service.message(long_name, {{"hello", {{"device", "mrc0"}, {"program", std::string(1000, 'x')}}}}, at(0));
  rig.ask(rig.root_id, rig.root, {{"do", "show"}});
  EXPECT_EQ(rig.root.last("data")[0]["processes"][1]["program"], std::string(64, 'x'));
}

// [MRC-MRCD-3]
TEST(Service, of_a_batch_the_part_that_is_done_reaches_followers_and_one_that_is_refused_does_not) {
  Rig rig;
  rig.bring_online(5);
  const auto there = ctl::parse_ev_hex("0001", 1), absent = ctl::parse_ev_hex("7777", 1);
  ASSERT_TRUE(there && absent);
  mrc_ctl_ev_op_entry entries[] = {{*there, {}, MRC_CTL_EV_DENIED, 0}, {*absent, {}, MRC_CTL_EV_DENIED, 0}};
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op.op = MRC_CTL_EV_OP_MODIFY_EV_STATE;
  attr.ev_op.entries = entries;
  attr.ev_op.entry_count = 2;
  const auto state = [&] { return rig.service.device("")->store().ev(5)->table().entries()[0].state; };
  EXPECT_EQ(rig.modify(ctl::call_json(5, attr, MRC_CTL_EV_PROFILE_EV_OP)), ENOENT);
  EXPECT_EQ(state(), MRC_CTL_EV_DENIED);
  EXPECT_EQ(rig.app.last("call")["mask"], MRC_CTL_EV_PROFILE_EV_OP);

  rig.service.message(rig.app_id, {{"holds", {{"ev", {{5, 2}}}, {"cc", Json::array()}}}}, at(0));
  entries[0].state = MRC_CTL_EV_GOOD;
  attr.ev_op.entry_count = 1;
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  const size_t received = rig.app.received.size();
  const int saves = rig.saves;
  EXPECT_EQ(rig.modify(ctl::call_json(5, attr, MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_EV_OP)), EBUSY);
  EXPECT_EQ(state(), MRC_CTL_EV_DENIED);
  EXPECT_EQ(rig.app.received.size(), received);
  EXPECT_EQ(rig.saves, saves);
}

// [MRC-MRCD-7] The monitor denies and allows by itself, often at a bad time for writing files.
TEST(Service, rules_of_the_monitor_save_nothing) {
  Rig rig;
  ctl::DenyRule rule;
  rule.plane = 1;
  rule.by = kMonitor;
  EXPECT_EQ(rig.service.deny(rig.service.device(""), rule), 0);
  EXPECT_EQ(rig.service.allow(rig.service.device(""), rule), 0);
  EXPECT_EQ(rig.saves, 0);
  rule.by = "monitor";  // a user of that name
  EXPECT_EQ(rig.service.deny(rig.service.device(""), rule), 0);
  EXPECT_EQ(rig.service.file_state()["devices"]["mrc0"]["denies"].size(), 1u);
  rule.by = kMonitor;  // removes a rule of the file, for any client
  EXPECT_EQ(rig.service.allow(rig.service.device(""), rule), 0);
  EXPECT_EQ(rig.saves, 2);
}

TEST(Service, a_path_report_is_passed_on_without_unknown_members) {
  Rig rig;
  Line other;
  rig.register_process(&other, {101, 1000, false, "user"});
  rig.bring_online(5);
  Json path = {{"profile", 5}, {"ev", "0001"}, {"port", 1}, {"state", MRC_CTL_EV_ASSUMED_BAD}, {"losses", 3}};
  const Json plain = path;
  path["ballast"] = std::string(1 << 16, 'x');
  rig.service.message(rig.app_id, {{"path", path}}, at(0));
  EXPECT_EQ(other.last("path"), plain);
}

TEST(Service, nonsense_ends_nothing) {
  Rig rig;
  for (const Json& text : {Json(), Json(5), Json::array(), Json{{"hello", 5}}, Json{{"holds", {{"ev", 5}}}},
                           Json{{"path", Json::object()}}, Json{{"report", {{"token", "x"}}}}, Json{{"request", 1}},
                           Json{{"request", 1}, {"do", 5}}, Json{{"request", 1}, {"do", "modify"}},
                           Json{{"hello", {{"device", "mrc0"}, {"program", 5}}}},
                           Json{{"hello", {{"device", "new"}, {"planes", "many"}}}}})
    for (ClientId id : {rig.app_id, rig.root_id}) rig.service.message(id, text, at(0));
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "fly"}}), ENOSYS);
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "modify"}, {"call", {{"kind", "ev"}}}}), EINVAL);
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "port"}, {"device", "none"}, {"port", 1}, {"up", true}}), ENODEV);
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "show"}}), 0);
}

// Numbers that another type would make something else of: refused with a reason, and nothing is done.
TEST(Service, numbers_out_of_range_are_no_message) {
  Rig rig;
  const Json port_257 = {{"profile", 5}, {"ev", "0001"}, {"port", 257}, {"state", MRC_CTL_EV_GOOD}, {"losses", 3}};
  Json port_half = port_257;
  port_half["port"] = 0.5;
  for (const Json& message : {Json{{"path", port_257}}, Json{{"path", port_half}},
                              Json{{"holds", {{"ev", {{5, -1}}}, {"cc", Json::array()}}}},
                              Json{{"hello", {{"device", "new"}, {"planes", -1}, {"ev_mode", "srv6"}, {"evs", 1}}}}}) {
    rig.service.message(rig.app_id, message, at(0));
    EXPECT_EQ(rig.app.error(), EINVAL) << message;
    EXPECT_NE(rig.app.last("why").get<std::string>().find("number"), std::string::npos) << rig.app.last("why");
    rig.app.received.clear();
  }
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "port"}, {"port", (uint64_t{1} << 32) + 1}, {"up", false}}), EINVAL);
  EXPECT_TRUE(rig.service.device("")->ports_down().empty());
}

// Every user of the host may open the socket: none may fill the history of events, or change what a terminal shows.
TEST(Service, a_path_of_no_profile_is_no_event) {
  Rig rig;
  const auto paths = [&](uint64_t profile, const char* ev) {
    rig.service.message(
        rig.app_id,
        {{"path", {{"profile", profile}, {"ev", ev}, {"port", 1}, {"state", MRC_CTL_EV_ASSUMED_BAD}, {"losses", 3}}}},
        at(0));
    size_t count = 0;
    rig.ask(rig.root_id, rig.root, {{"do", "events"}});
    for (const Json& event : rig.root.last("data")) count += event["what"] == "path";
    return count;
  };
  EXPECT_EQ(paths(5, "0001"), 0u);  // there is none
  ASSERT_EQ(rig.modify(rig.automatic(5)), 0);
  ASSERT_EQ(rig.modify(rig.go(5, MRC_CTL_PROFILE_ONLINE)), 0);
  EXPECT_EQ(paths(5, "7777"), 0u);
  EXPECT_EQ(paths(5, "0001"), 1u);
  EXPECT_EQ(paths(5, "0001"), 1u);  // already so
}

// One user's processes come and go, and the paths that they report, too: the history keeps what others did.
TEST(Service, no_user_displaces_the_events_of_others) {
  Rig rig;
  Line other;
  const ClientId other_id = rig.service.connect(&other, {101, 1001, false, "other"});
  const Json hello = {{"hello", {{"device", "mrc0"}, {"program", "there"}}}};
  rig.service.message(other_id, hello, at(0));
  EXPECT_EQ(rig.ask(rig.root_id, rig.root, {{"do", "deny"}, {"rule", {{"plane", 1}}}}), 0);
  const size_t before = rig.service.events().size();
  for (int i = 0; i < 2000; ++i) rig.service.message(other_id, hello, at(0));
  EXPECT_EQ(rig.service.events().size(), before);  // it is the same process still
  for (int i = 0; i < 2000; ++i) {
    Line line;
    const ClientId id = rig.service.connect(&line, {300, 1002, false, "busy"});
    rig.service.message(id, hello, at(0));
    rig.service.disconnect(id);
  }
  EXPECT_EQ(rig.service.events().size(), EventHistory::kMaxEvents);
  const auto count = [&](const char* what, std::optional<uid_t> user) {
    return std::count_if(rig.service.events().begin(), rig.service.events().end(),
                         [&](const Event& event) { return event.what == what && event.user == user; });
  };
  EXPECT_EQ(count("deny", {}), 1);
  EXPECT_EQ(count("process", 1000), 1);
  EXPECT_EQ(count("process", 1001), 1);
  EXPECT_EQ(rig.service.events().back().user, 1002u);
}

TEST(Service, an_event_has_the_time_at_which_it_happened) {
  Rig rig;
  for (const double now : {1.5, 4.0}) {
    rig.wall_time = now;
    rig.service.event({"fault", "a link is down", "mrc0"});
    EXPECT_EQ(rig.service.events().back().time, now);
  }
}

TEST(Service, names_with_control_characters_are_not_passed_on) {
  Rig rig;
  const auto hello = [](const char* device, const char* program) {
    return Json{{"hello", {{"device", device}, {"program", program}, {"planes", 2}, {"ev_mode", "srv6"}, {"evs", 16}}}};
  };
  rig.service.message(rig.app_id, hello("\x1b[32mdev", "app"), at(0));
  EXPECT_EQ(rig.app.error(), EINVAL);
  Line red;
  rig.service.message(rig.service.connect(&red, {101, 1000, false, "user"}), hello("mrc0", "\x1b[31mRED\nFAKE"), at(0));
  rig.ask(rig.root_id, rig.root, {{"do", "events"}});
  EXPECT_EQ(rig.root.last("data").dump().find("\\u001b"), std::string::npos);
  EXPECT_NE(rig.root.last("data").dump().find("?[31mRED?FAKE"), std::string::npos);
}

TEST(Service, a_file_of_another_form_restores_nothing) {
  for (const Json& file :
       {Json{{"version", 99}, {"devices", Json::object()}}, Json{{"version", 1.5}}, Json{{"devices", 5}},
        Json{{"devices", {{"mrc0", {{"calls", 5}}}}}}, Json{{"eevices", Json::object()}}}) {
    Service service([] {}, [] { return 0.0; });
    EXPECT_FALSE(service.restore(file)) << file;
    EXPECT_EQ(service.file_state()["devices"].size(), 0u);
  }
}

// [MRC-MON-8]
TEST(Metrics, are_well_formed) {
  ctl::DeviceReport one = device_report(7);
  one.program = "a\nb";
  one.peers = {{0, {}, {ev_report("GOOD"), ev_report("DENIED")}}};
  // A second connection of the process, a port that it reports twice, and two loops between the same switches.
  ctl::DeviceReport again = one;
  again.ports.push_back(again.ports[0]);
  WebState state;
  state.processes = 1;
  state.devices = {{"mrc\"0\\", 2, {2}, {}}};
  state.reports = {one, again};
  state.monitor.running = true;
  state.monitor.planes = {{1, "e101", {{"f101", true, 0.05, 20, 9, 1}, {"f101", false, 0, 20, 9, 0}}}};
  const std::string text = metrics_text(state);
  EXPECT_EQ(complaint_about(text), "") << text;
  EXPECT_NE(text.find("mrc_tx_bytes_total{device=\"mrc0\",pid=\"7\",program=\"a\\nb\",port=\"1\"} 15\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("mrcd_path_bad{plane=\"1\",t0=\"e101\",t1=\"f101\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("mrcd_port_enabled{device=\"mrc\\\"0\\\\\",port=\"2\"} 0\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace mrc::mrcd
