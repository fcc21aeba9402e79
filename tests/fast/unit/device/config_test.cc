// The text of a configuration file: what is taken from it, and the exact message for everything that is refused.
#include "device/config.h"

#include <gtest/gtest.h>

#include "device/fault_scope.h"
#include "harness/config_reader.h"
#include "harness/text.h"

namespace mrc::device {
namespace {

using testing_config::ConfigReader;
using testing_config::kTwoPlanes;
using testing_text::ip;

struct ConfigTest : ::testing::Test, ConfigReader {};

TEST_F(ConfigTest, file__everything_arrives) {
  ASSERT_EQ(parse(kTwoPlanes), "");
  ASSERT_EQ(config.devices.size(), 1u);
  const DeviceConfig& d = config.devices[0];
  EXPECT_EQ(config.file, "f.yaml");
  EXPECT_EQ(d.name, "nic");
  ASSERT_EQ(d.gids.size(), 4u);
  EXPECT_EQ(d.gids[0], ip("fd00:0:1::7"));
  EXPECT_EQ(d.gids[1], ip("10.0.0.7"));
  EXPECT_TRUE(d.gids[2].is_zero());
  EXPECT_EQ(d.gids[3], ip("10.0.0.7"));  // programs look for RoCE v2 over IPv4 at index 3
  ASSERT_EQ(d.planes.size(), 2u);
  EXPECT_EQ(d.planes[0].port, 4791);
  EXPECT_EQ(d.planes[0].port_base, 20000);
  EXPECT_EQ(d.planes[1].port, 5000);
  EXPECT_EQ(d.planes[1].port_base, 21024);
  EXPECT_EQ(d.peer_template.text(), "fd00:0:{plane}::{host}");
  ASSERT_EQ(d.peers.size(), 2u);
  EXPECT_TRUE(d.peers[0].nic);
  EXPECT_TRUE(d.peers[1].planes[1].is_zero());
  EXPECT_EQ(d.settings.ev_count, 32);
  EXPECT_EQ(d.settings.second_port, 4971);  // accepted besides the standard port
  EXPECT_TRUE(d.is_own_gid(ip("10.0.0.7")));
  EXPECT_FALSE(d.is_own_gid(IpAddress()));
}

TEST_F(ConfigTest, precedence__device_over_top_level_wherever_it_stands) {
  ASSERT_EQ(parse(std::string(kTwoPlanes) + "ev_count: 8\nmpr: 9\n"), "");
  EXPECT_EQ(config.devices[0].settings.ev_count, 32);
  EXPECT_EQ(config.devices[0].settings.mpr, 9);
}

TEST_F(ConfigTest, precedence__environment_over_device_over_top_level) {
  const std::string text = std::string("ev_backups: 5\nev_count: 8\n") + kTwoPlanes;
  ASSERT_EQ(parse(text), "");
  EXPECT_EQ(config.devices[0].settings.ev_backups, 5);
  EXPECT_EQ(config.devices[0].settings.ev_count, 32);
  env["MRC_EV_COUNT"] = "99";
  ASSERT_EQ(parse(text), "");
  EXPECT_EQ(config.devices[0].settings.ev_count, 99);
}

TEST_F(ConfigTest, environment__a_former_setting_is_refused_with_what_replaces_it) {
  for (const FormerSetting& former : former_settings()) {
    EXPECT_EQ(find_setting(former.name), nullptr) << former.name;
    env.clear();
    EXPECT_EQ(parse(std::string(former.name) + ": 1\n"),
              std::string("f.yaml:1: key '") + former.name + "' has been replaced by " + former.now);
    if (former.only_key) continue;
    env = {{former.environment, "20"}};
    EXPECT_EQ(parse(""), std::string("environment: ") + former.environment + " has been replaced by " + former.now);
  }
  env = {{"MRC_CONGESTION_PARAMETERS", "target_delay=20us"}};
  EXPECT_EQ(parse(""), "");
}

// What is in the section is checked by mrcd alone. [MRC-MRCD-8]
TEST_F(ConfigTest, section_of_mrcd__is_ignored_and_must_be_a_map) {
  ASSERT_EQ(parse("mrcd: {probe_rate: 100, no_such_setting: [1]}\nev_count: 8\n"), "");
  EXPECT_EQ(config.devices[0].settings.ev_count, 8);
  ASSERT_EQ(parse("mrcd: {token: secret}\n"), "");
  EXPECT_EQ(settings_json(config.devices[0].settings).find("secret"), std::string::npos);
  ASSERT_EQ(parse("mrcd:\n"), "");
  ASSERT_EQ(parse("devices:\n  - planes: [{address: \"::1\"}]\n    mrcd: {peers: fd00::1}\n"), "");
  for (const char* other : {"mrcd: 7\n", "mrcd: [probe_rate]\n", "mrcd: ''\n"})
    EXPECT_EQ(parse(other), "f.yaml:1: key 'mrcd': allowed: a map of mrcd's settings, which mrcd --help lists");
  EXPECT_EQ(parse("devices:\n  - planes: [{address: \"::1\"}]\n    mrcd: 7\n"),
            "f.yaml:3: key 'mrcd': allowed: a map of mrcd's settings, which mrcd --help lists");
}

// The variables of mrcd's settings have kept their names: libmrc ignores them.
TEST_F(ConfigTest, section_of_mrcd__its_variables_are_not_libmrcs) {
  env = {{"MRC_MRCD_PROBE_RATE", "often"}};
  EXPECT_EQ(parse(""), "");
}

TEST_F(ConfigTest, environment__bad_value_is_refused) {
  env["MRC_EV_COUNT"] = "1025";
  EXPECT_EQ(parse(""), "environment: MRC_EV_COUNT: value is '1025', allowed: 1..1024 EVs");
  env.clear();
  env["MRC_EV_COUNT"] = "3";  // the four planes of the default
  EXPECT_EQ(parse(""), "environment: MRC_EV_COUNT: value is '3', allowed with 4 planes: 4..1024 EVs");
  env["MRC_EV_COUNT"] = "4";
  EXPECT_EQ(parse(""), "");
  env.clear();
  env["MRC_DSCP_TRIMMED"] = "0";
  EXPECT_EQ(parse(""),
            "environment: MRC_DSCP_TRIMMED: value is '0', which dscp_no_trim has, too: the two kinds of packets "
            "could not be told apart");
  env.clear();
  env["MRC_DSCP_CONTROL"] = "12";
  EXPECT_EQ(parse(""),
            "environment: MRC_DSCP_CONTROL: value is '12', which dscp_trimmed has, too: the two kinds of packets "
            "could not be told apart");
  env.clear();
  env["MRC_FAULT"] = "loss=2";
  EXPECT_EQ(parse("").rfind("environment: MRC_FAULT: value is 'loss=2': MRC_FAULT position ", 0), 0u);
}

TEST_F(ConfigTest, fault__concerns_what_is_there) {
  for (const char* good : {"plane=4:loss=1", "plane=3-9:loss=1", "plane=*:loss=1", "ev=79:loss=1", "ev=*:loss=1"}) {
    env["MRC_FAULT"] = good;
    EXPECT_EQ(parse(""), "");
  }
  env["MRC_FAULT"] = "loss=0.1;plane=5:loss=1";
  EXPECT_EQ(parse(""),
            "environment: MRC_FAULT: value is 'loss=0.1;plane=5:loss=1', which concerns plane 5, and the device has 4");
  env["MRC_FAULT"] = "ev=80-90:dup=1";
  EXPECT_EQ(
      parse(""),
      "environment: MRC_FAULT: value is 'ev=80-90:dup=1', which concerns EVs 80-90, and the device has 80, from 0 on");
  env.clear();
  const std::string two =
      "devices:\n"
      "  - planes: [{address: 127.0.0.1}]\n"
      "  - planes: [{address: 127.0.0.1}, {address: 127.0.0.2}]\n";
  EXPECT_EQ(parse("fault: 'plane=3:loss=1'\n" + two),
            "f.yaml:1: key 'fault': value is 'plane=3:loss=1', which concerns plane 3, and the device has 1");
  // Of a setting for all devices one device needs to have the plane; the other one logs it.
  ASSERT_EQ(parse("fault: 'plane=2:loss=1'\n" + two), "");
  EXPECT_EQ(absent_in_fault(config.devices[0]),
            std::vector<std::string>{"fault 'plane=2:loss=1' concerns plane 2, and the device has 1"});
  EXPECT_TRUE(absent_in_fault(config.devices[1]).empty());
}

struct Refusal {
  const char* text;
  const char* message;
};

const Refusal kRefusals[] = {
    {"ev_count: 0\n", "f.yaml:1: key 'ev_count': value is '0', allowed: 1..1024 EVs"},
    {"icrc: true\n\nmtu: 1500\n",
     "f.yaml:3: key 'mtu': value is '1500', allowed: 256, 512, 1024, 2048, 4096 or 8192 bytes"},
    {"mtu: [4096]\n", "f.yaml:1: key 'mtu': allowed: 256, 512, 1024, 2048, 4096 or 8192 bytes"},
    {"ev_cuont: 1\n",
     "f.yaml:1: unknown key 'ev_cuont', did you mean 'ev_count'? Allowed: devices, mrcd and the settings that mrc-info "
     "--params lists"},
    {"icrc: true\nicrc: false\n", "f.yaml:2: key 'icrc' is given twice"},
    {"- 1\n", "f.yaml:1: key 'file': allowed: a map of devices, mrcd"},
    {"devices: 7\n", "f.yaml:1: key 'devices': allowed: a list"},
    {"devices: [7]\n", "f.yaml:1: key 'devices': allowed: a map of name, gids, planes, peers, mrcd"},
    {"devices:\n  - name: a\n", "f.yaml:2: key 'planes': device 'a' has 0 planes, allowed: 1..32"},
    {"devices:\n  - planes:\n      - {port: 5}\n", "f.yaml:3: key 'planes': a plane needs an address or an interface"},
    {"devices:\n  - planes:\n      - {address: here}\n",
     "f.yaml:3: key 'address': value is 'here', allowed: an IPv6 or IPv4 address"},
    {"devices:\n  - planes:\n      - {address: 224.0.0.1}\n",
     "f.yaml:3: key 'address': value is '224.0.0.1', allowed: a unicast address of this host"},
    {"devices:\n  - planes: [{address: \"::1\"}]\n    gids: [\"ff02::1\"]\n",
     "f.yaml:3: key 'gids': value is 'ff02::1', allowed: a unicast address, or :: for none"},
    {"devices:\n  - planes:\n      - {address: \"::1\", port: 0}\n",
     "f.yaml:3: key 'port': value is '0', allowed: 1..65535"},
    {"devices:\n  - planes:\n      - {address: \"fe80::1\"}\n",
     "f.yaml:3: key 'planes': bind and link-local addresses need an interface"},
    {"devices:\n  - planes:\n      - {address: \"::1\", bind: perhaps}\n",
     "f.yaml:3: key 'bind': value is 'perhaps', allowed: true or false"},
    {"devices:\n  - planes:\n      - {addres: \"::1\"}\n",
     "f.yaml:3: unknown key 'addres', did you mean 'address'? Allowed: address, interface, port, bind"},
    {"devices:\n  - planes: [{address: \"::1\"}]\n    gids: [7]\n",
     "f.yaml:3: key 'gids': value is '7', allowed: an IPv6 or IPv4 address"},
    {"devices:\n  - planes: [{address: \"::1\"}]\n    name: a\n  - planes: [{address: \"::1\"}]\n    name: a\n",
     "f.yaml:4: key 'name': two devices have the name 'a'"},
    {"devices:\n  - planes: [{address: \"::1\"}]\n    peers:\n      template: \"fd00:{plain}::1\"\n",
     "f.yaml:4: key 'template': value is 'fd00:{plain}::1': '{plain}' is neither a number nor {plane}, {plane+N}, "
     "{plane-N}, {host}, {host+N} or {host-N}"},
    {"devices:\n  - planes: [{address: \"::1\"}]\n    peers:\n      ask: true\n",
     "f.yaml:4: unknown key 'ask'. Allowed: template, list, learn, nic"},
    {"devices:\n  - planes: [{address: \"::1\"}]\n    peers:\n      list: [{nic: true}]\n",
     "f.yaml:4: key 'list': a peer needs a gid"},
    {"devices:\n  - planes: [{address: \"::1\"}]\n    peers:\n      list: [{gid: \"::2\", planes: [\"::2\", "
     "\"::3\"]}]\n",
     "f.yaml:4: key 'peers': peer ::2 has more planes than the device"},
    {"devices:\n  - planes: [{address: \"::1\", port: 5}, {address: \"::1\", port: 5}]\n",
     "device 'mrc0': planes 1 and 2 have the same address and port"},
    {"port_base: 63233\ndevices:\n  - planes: [{address: \"::1\"}, {address: \"::1\"}, {address: \"::1\"}]\n",
     "device 'mrc0': port_base: value is '63233', allowed with 3 planes: 1024..63232"},
    {"ev_count: 1\ndevices:\n  - planes: [{address: \"::1\"}, {address: \"::1\"}]\n",
     "f.yaml:1: key 'ev_count': value is '1', allowed with 2 planes: 2..1024 EVs"},
    {"devices:\n  - planes: [{address: \"::1\"}, {address: \"::1\"}]\n    ev_count: 1\n",
     "f.yaml:3: key 'ev_count': value is '1', allowed with 2 planes: 2..1024 EVs"},
    {"ev_min_active: 65\ndevices:\n  - planes: [{address: \"::1\"}]\n",
     "f.yaml:1: key 'ev_min_active': value is '65', allowed with ev_count 64: 0..64 EVs"},
    {"devices:\n  - planes: [{address: \"::1\"}]\n"
     "    name: a123456789012345678901234567890123456789012345678901234567890123\n",
     "f.yaml:3: key 'name': value is 'a123456789012345678901234567890123456789012345678901234567890123', allowed: 1 "
     "to 63 characters"},
    {"ev_mode: srv6\ndevices:\n  - planes: [{address: 127.0.0.1}]\n",
     "f.yaml:1: key 'ev_mode': value is 'srv6', but plane 1 has the IPv4 address 127.0.0.1"},
    {"ev_mode: srv6\nsrv6_paths: \"::/0 over 1\"\ndevices:\n  - planes: [{address: \"::1\"}]\n",
     "f.yaml:2: key 'srv6_paths': '::/0 over 1' is neither 'PREFIX/LENGTH via USIDS' nor 'PREFIX/LENGTH direct'"},
    {"ev_mode: srv6\nsrv6_loop: \"{row}\"\ndevices:\n  - planes: [{address: \"::1\"}]\n",
     "f.yaml:2: key 'srv6_loop': '{row}' is neither {plane}, {uplink}, {plane:N} nor {uplink:N} with N digits, 1 to "
     "4"},
    {"ev_mode: srv6\nsrv6_paths: \"::/0 via 1; ::/0 via 2\"\nsrv6_encap: kernel\nsrv6_source_ports: 5000-5000\n"
     "devices:\n  - planes: [{address: \"::1\"}]\n",
     "f.yaml:4: key 'srv6_source_ports': value is '5000-5000', allowed with srv6_encap kernel: FIRST-LAST, from 1024 to "
     "65535, at least a port for each of 2 paths"},
    {"dscp_trimmed: 46\ndevices:\n  - planes: [{address: \"::1\"}]\n",
     "f.yaml:1: key 'dscp_trimmed': value is '46', which dscp_control has, too: the two kinds of packets could not "
     "be told apart"},
    {"dscp_control: 4\ndevices:\n  - planes: [{address: \"::1\"}]\n",
     "f.yaml:1: key 'dscp_control': value is '4', which dscp_trimmable has, too: the two kinds of packets could not "
     "be told apart"},
    {"congestion_parameters: gamma=2\ndevices:\n  - planes: [{address: \"::1\"}]\n",
     "f.yaml:1: key 'congestion_parameters': value is 'gamma=2', allowed: gamma=0..1"},
    {"congestion_control: swift\ndevices:\n  - planes: [{address: \"::1\"}]\n    congestion_parameters: eta=1\n",
     "f.yaml:4: key 'congestion_parameters': 'eta=1' is no parameter of swift, allowed: NAME=VALUE with base_target, "
     "hop_target, hops, fs_range, fs_min_cwnd, fs_max_cwnd, ai, beta, max_mdf, max_cwnd, retx_threshold"},
    {"nscc_gamma: 0.5\n", "f.yaml:1: key 'nscc_gamma' has been replaced by congestion_parameters: gamma=NUMBER"},
    {"nscc_target_floor_us: 9\n", "f.yaml:1: key 'nscc_target_floor_us' has been replaced by host_jitter_us"},
    {"fault: loss\n", "f.yaml:1: key 'fault': value is 'loss': MRC_FAULT position "},  // the rest is the fault parser's
    {"a: [\n", "f.yaml:2: "},                                                          // and this the YAML parser's
};

TEST_F(ConfigTest, file__bad_values_are_refused_with_their_reason) {
  for (const Refusal& refusal : kRefusals) {
    const std::string error = parse(refusal.text);
    const std::string expected = refusal.message;
    if (expected.back() == ' ')
      EXPECT_EQ(error.substr(0, expected.size()), expected) << refusal.text;
    else
      EXPECT_EQ(error, expected) << refusal.text;
  }
}

TEST_F(ConfigTest, srv6_source_ports__needed_for_encapsulation_alone) {  // [MRC-SR-25]
  const std::string plan = "ev_mode: srv6\nsrv6_paths: \"::/0 via 1; ::/0 via 2\"\n",
                    device = "devices:\n  - planes: [{address: \"::1\"}]\n";
  EXPECT_EQ(parse(plan + "srv6_encap: kernel\nsrv6_source_ports: 5000-5001\n" + device), "");
  EXPECT_EQ(parse(plan + "srv6_source_ports: none\n" + device), "");
  EXPECT_EQ(parse("srv6_encap: kernel\n" + device), "");
  EXPECT_NE(parse(plan + "srv6_encap: kernel\n" + device), "");
}

TEST_F(ConfigTest, port_base__the_highest_that_fits) {
  EXPECT_EQ(
      parse("port_base: 63232\ndevices:\n  - planes: [{address: \"::1\"}, {address: \"::1\"}, {address: \"::1\"}]\n"),
      "");
  EXPECT_EQ(config.devices[0].planes[2].port_base + 255, 65535);
}

TEST_F(ConfigTest, empty__four_planes_on_loopback) {
  for (const char* text : {"", "# nothing\n", "devices:\n"}) {
    ASSERT_EQ(parse(text), "");
    ASSERT_EQ(config.devices.size(), 1u);
    EXPECT_EQ(config.devices[0].name, "mrc0");
    EXPECT_EQ(config.devices[0].planes.size(), 4u);
  }
}

TEST_F(ConfigTest, loopback__ports_and_addresses_of_both_families) {
  for (const bool ipv6 : {true, false}) {
    const DeviceConfig d = loopback_config(Settings(), ipv6);
    const uint16_t ports[] = {4791, 21024, 22048, 23072};
    for (size_t p = 0; p < 4; ++p) {
      EXPECT_EQ(d.planes[p].addr, ip(ipv6 ? "::1" : "127.0.0.1"));
      EXPECT_EQ(d.planes[p].port, ports[p]);
      EXPECT_EQ(d.planes[p].port_base, 20000 + 1024 * p);
    }
    EXPECT_TRUE(d.gids[2].is_zero());
    EXPECT_TRUE(d.gids[3].is_v4());
  }
}

TEST_F(ConfigTest, loopback__settings_from_the_environment) {
  env["MRC_PORT"] = "4971";
  env["MRC_PORT_BASE"] = "30000";
  ASSERT_EQ(parse(""), "");
  EXPECT_EQ(config.devices[0].planes[0].port, 4971);
  EXPECT_EQ(config.devices[0].planes[1].port, 31024);
}

TEST_F(ConfigTest, gids__one_becomes_a_table_with_a_usable_index_3) {
  ASSERT_EQ(parse("devices:\n  - planes: [{address: \"fd00::5\"}]\n"), "");
  const std::vector<IpAddress>& gids = config.devices[0].gids;
  ASSERT_EQ(gids.size(), 4u);
  EXPECT_EQ(gids[0], ip("fd00::5"));
  EXPECT_EQ(gids[1], ip("fd00::5"));
  EXPECT_TRUE(gids[2].is_zero());
  EXPECT_EQ(gids[3], ip("fd00::5"));
}

}  // namespace
}  // namespace mrc::device
