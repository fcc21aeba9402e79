// From (dgid, QPN) to addresses and ports: templates, lists, own GIDs, slots, NICs.
#include "device/peers.h"

#include <gtest/gtest.h>

#include "append_item.h"
#include "device/host_identity.h"
#include "device/qpn.h"
#include "harness/text.h"

namespace mrc::device {
namespace {

using testing_text::ip;

AddressTemplate make_template(const std::string& text) {
  const auto t = AddressTemplate::parse(text);
  EXPECT_TRUE(t) << t.error().text;
  return t ? *t : AddressTemplate();
}

TEST(AddressTemplate, apply__plane_and_host) {
  EXPECT_EQ(make_template("fd00:0:{plane}::{host}").apply(ip("fd00:0:1::7"), 2), ip("fd00:0:3::7"));
  EXPECT_EQ(make_template("fd00:0:{plane+9}::{host}").apply(ip("fd00:0:1::7"), 0), ip("fd00:0:a::7"));
  EXPECT_EQ(make_template("fd00:0:{plane-1}::{host}").apply(ip("fd00:0:1::7"), 0), ip("fd00::7"));
  EXPECT_EQ(make_template("10.{plane}.{host}.{host}").apply(ip("10.1.2.3"), 3), ip("10.4.2.3"));
  EXPECT_EQ(make_template("10.{plane}.{host}.{host}").apply(ip("::ffff:10.1.2.3"), 0), ip("10.1.2.3"));
  EXPECT_EQ(make_template("fd00::{plane}:{host}").apply(ip("10.1.2.3"), 0), ip("fd00::1:203"));
  EXPECT_EQ(make_template("{host}:{host}:{host}:{host}:{plane}:{host}:{host}:{host}").apply(ip("1:2:3:4:5:6:7:8"), 8),
            ip("1:2:3:4:9:6:7:8"));
  EXPECT_EQ(make_template("::{plane}").apply(ip("1::"), 1), ip("::2"));
  EXPECT_EQ(make_template("fd00::").apply(ip("1::"), 1), ip("fd00::"));
  EXPECT_EQ(make_template("fc00::{host+4096}").apply(ip("fc00::c01"), 0), ip("fc00::c01"));
  EXPECT_EQ(make_template("fc00::{host+4096}").apply(ip("fc00::c01"), 2), ip("fc00::2c01"));
  EXPECT_EQ(make_template("10.0.0.{host-16}").apply(ip("10.0.0.99"), 3), ip("10.0.0.51"));
}

TEST(AddressTemplate, host_at__makes_the_same_addresses_as_the_gid) {
  struct Case {
    const char *text, *gid;
  };
  for (const Case& c :
       {Case{"fd00:0:{plane}::{host}", "2001:db8::1234"}, Case{"10.{plane}.{host}.{host}", "192.0.2.7"},
        Case{"fcbb:bb00:{host+4096}::", "2001:db8:c03::5"}, Case{"10.{plane+3}.0.{host-16}", "1.2.3.4"}}) {
    const AddressTemplate t = make_template(c.text);
    for (uint32_t plane = 0; plane < 4; ++plane) {
      const std::optional<IpAddress> found = t.host_at(t.apply(ip(c.gid), plane), plane);
      ASSERT_TRUE(found) << c.text << " " << plane;
      for (uint32_t p = 0; p < 4; ++p) EXPECT_EQ(t.apply(*found, p), t.apply(ip(c.gid), p)) << c.text << " " << plane;
    }
  }
}

TEST(AddressTemplate, host_at__none_of_addresses_that_it_does_not_make) {
  const AddressTemplate v6 = make_template("fd00:0:{plane}::{host}"), v4 = make_template("10.{plane}.0.{host}");
  EXPECT_TRUE(v6.host_at(ip("fd00:0:2::9"), 1));
  EXPECT_FALSE(v6.host_at(ip("fd00:0:2::9"), 0));    // of another plane
  EXPECT_FALSE(v6.host_at(ip("fd00:0:2::1:9"), 1));  // another literal
  EXPECT_FALSE(v6.host_at(ip("10.2.0.9"), 1));
  EXPECT_TRUE(v4.host_at(ip("10.2.0.9"), 1));
  EXPECT_FALSE(v4.host_at(ip("10.2.1.9"), 1));
  EXPECT_FALSE(v4.host_at(ip("fd00:0:2::9"), 1));
}

TEST(AddressTemplate, parse__malformed_templates_are_refused) {
  auto t = AddressTemplate::parse("10.0.{plane}");
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().text, "an IPv4 template has 4 parts, this one has 3");
  t = AddressTemplate::parse("fd00:{plane}:1");
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().text, "an IPv6 template has 8 groups or one '::', this one has 3 groups");
  for (const char* bad : {"10.0.0.256", "10.0.0.", "fd00::10000", "fd00::{plane+}", "fd00::{plane*2}", "fd00::{host*2}",
                          "fd00::{host+}", "fd00::{hostess}", "fd00::{plane", "fd00::{}", "1::2::3", "fd00::-1"})
    EXPECT_FALSE(AddressTemplate::parse(bad)) << bad;
  EXPECT_TRUE(AddressTemplate::parse("10.0.0.255"));
  EXPECT_TRUE(AddressTemplate::parse("fd00::ffff"));
}

struct PeersTest : ::testing::Test {
  PeersTest() {
    config.name = "nic";
    for (int p = 0; p < 2; ++p) {
      PlaneConfig plane;
      plane.addr = ip(p == 0 ? "fd00:0:1::7" : "fd00:0:2::7");
      plane.port = 4791;
      plane.port_base = static_cast<uint16_t>(20000 + p * kSlotsPerPlane);
      config.planes.push_back(plane);
    }
    config.gids = {ip("fd00:0:1::7"), IpAddress()};
  }
  bool resolve(const std::string& gid, Qpn qpn, uint8_t slot = 0) {
    const auto resolved = resolve_peer(config, slot, ip(gid), qpn);
    if (resolved) {
      peer = *resolved;
    } else {
      EXPECT_EQ(resolved.error().code, ENETUNREACH);
      error = resolved.error().text;
    }
    return resolved.has_value();
  }
  std::string shown() const {
    std::string text;
    for (const core::PlaneAddress& a : peer.planes)
      append_item(&text, a.addr.to_string() + "/" + std::to_string(a.port), " ");
    return text;
  }
  DeviceConfig config;
  core::PeerDescription peer;
  std::string error;
};

TEST_F(PeersTest, own_gid__port_follows_from_the_slot) {
  ASSERT_TRUE(resolve("fd00:0:1::7", make_qpn(0, 3)));
  EXPECT_EQ(shown(), "fd00:0:1::7/4791 fd00:0:2::7/4791");
  ASSERT_TRUE(resolve("fd00:0:1::7", make_qpn(1, 3), 5));
  EXPECT_EQ(shown(), "fd00:0:1::7/20001 fd00:0:2::7/21025");
  ASSERT_TRUE(resolve("fd00:0:1::7", make_qpn(255, 3)));
  EXPECT_EQ(shown(), "fd00:0:1::7/20255 fd00:0:2::7/21279");
}

// [MRC-UD-9]
TEST_F(PeersTest, group__address_and_port_on_every_plane) {
  EXPECT_FALSE(resolve("239.1.2.3", make_qpn(0, 3)));
  EXPECT_NE(error.find("multicast"), std::string::npos);
  PerPlane<core::PlaneAddress> sources{{ip("10.0.0.1"), 1000}, {ip("fd00::1"), 1001}};
  const auto group = resolve_group(config, sources, ip("239.1.2.3"));
  ASSERT_TRUE(group);
  EXPECT_EQ(*group, (PerPlane<core::PlaneAddress>{{ip("239.1.2.3"), 4791}, {ip("ff0e::ffff:239.1.2.3"), 4791}}));
  // Of one link: only the planes of IPv4 carry it.
  const auto local = resolve_group(config, sources, ip("ff02::1:2:3"));
  ASSERT_TRUE(local);
  EXPECT_TRUE((*local)[0].addr.is_multicast());
  EXPECT_TRUE((*local)[1].addr.is_zero());
  sources.erase(sources.begin());
  EXPECT_TRUE(resolve_group(config, sources, ip("ff03::1:2:3")));
  const auto none = resolve_group(config, sources, ip("ff02::1:2:3"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, EADDRNOTAVAIL);
}

TEST_F(PeersTest, template__other_hosts) {
  config.peer_template = make_template("fd00:0:{plane}::{host}");
  ASSERT_TRUE(resolve("fd00:0:1::9", make_qpn(2, 3)));
  EXPECT_EQ(shown(), "fd00:0:1::9/20002 fd00:0:2::9/21026");
}

TEST_F(PeersTest, template__nics_have_one_port_and_know_slot_0_only) {
  config.peer_template = make_template("fd00:0:{plane}::{host}");
  config.peers_are_nics = true;
  config.settings.port = 4971;
  ASSERT_TRUE(resolve("fd00:0:1::9", make_qpn(2, 3)));
  EXPECT_EQ(shown(), "fd00:0:1::9/4971 fd00:0:2::9/4971");
  EXPECT_FALSE(resolve("fd00:0:1::9", make_qpn(2, 3), 1));
  EXPECT_EQ(error, "GID fd00:0:1::9 is a NIC, which sends to port 4971 only, and another process of this host has it");
  EXPECT_TRUE(resolve("fd00:0:1::7", make_qpn(2, 3), 1));  // own GIDs are no NICs
}

TEST_F(PeersTest, list__goes_before_the_template) {
  config.peer_template = make_template("fd00:0:{plane}::{host}");
  config.peers.push_back({ip("fd00:0:1::9"), true, {}});
  config.peers.push_back({ip("fd00:0:1::8"), false, {ip("fd00:5::8"), IpAddress()}});
  config.peers.push_back({ip("fd00:0:1::6"), false, {ip("fd00:5::6")}});
  ASSERT_TRUE(resolve("fd00:0:1::9", Qpn(0x123456)));
  EXPECT_EQ(shown(), "fd00:0:1::9/4791 fd00:0:2::9/4791");
  ASSERT_TRUE(resolve("fd00:0:1::8", make_qpn(0, 5)));
  EXPECT_EQ(shown(), "fd00:5::8/4791 ::/0");
  ASSERT_TRUE(resolve("fd00:5::8", make_qpn(0, 5)));  // found by an address of a plane, too
  EXPECT_EQ(shown(), "fd00:5::8/4791 ::/0");
  ASSERT_TRUE(resolve("fd00:0:1::6", make_qpn(0, 5)));
  EXPECT_EQ(shown(), "fd00:5::6/4791 ::/0");
}

TEST_F(PeersTest, one_plane__the_gid_is_the_address) {
  config.planes.resize(1);
  ASSERT_TRUE(resolve("fd00::99", make_qpn(0, 5)));
  EXPECT_EQ(shown(), "fd00::99/4791");
  EXPECT_FALSE(resolve("10.0.0.1", make_qpn(0, 5)));
  EXPECT_EQ(error,
            "GID 10.0.0.1 leads to 10.0.0.1 on plane 1, whose own address fd00:0:1::7 is of the other IP version");
}

TEST_F(PeersTest, learn__plane_1_is_the_gid_and_the_others_are_asked_for) {
  config.learn_peers = true;
  ASSERT_TRUE(resolve("fd00:9::9", make_qpn(3, 5)));
  EXPECT_EQ(shown(), "fd00:9::9/20003 ::/0");
  EXPECT_TRUE(peer.learn);
  EXPECT_EQ(peer.slot, 3);
  EXPECT_FALSE(resolve("10.0.0.1", Qpn(5)));  // the other IP version
  ASSERT_TRUE(resolve("fd00:0:1::7", make_qpn(3, 5)));
  EXPECT_FALSE(peer.learn);  // our own planes are known
}

TEST_F(PeersTest, learn__rules_go_first_and_nics_are_not_asked) {
  config.learn_peers = true;
  config.peers.push_back({ip("fd00:0:1::6"), false, {ip("fd00:5::6")}});
  ASSERT_TRUE(resolve("fd00:0:1::6", Qpn(5)));
  EXPECT_FALSE(peer.learn);
  EXPECT_EQ(shown(), "fd00:5::6/4791 ::/0");
  config.peers_are_nics = true;
  ASSERT_TRUE(resolve("fd00:9::9", make_qpn(3, 5)));
  EXPECT_EQ(shown(), "fd00:9::9/4791 ::/0");
  EXPECT_FALSE(peer.learn);
  config.peer_template = make_template("fd00:0:{plane}::{host}");
  ASSERT_TRUE(resolve("fd00:9::9", Qpn(5)));
  EXPECT_FALSE(peer.learn);
}

TEST_F(PeersTest, nothing_matches) {
  EXPECT_FALSE(resolve("fd00:0:1::9", Qpn(5)));
  EXPECT_EQ(error,
            "no way to GID fd00:0:1::9: it is not a GID of device 'nic', and the configuration has neither "
            "peers.template nor an entry for it in peers.list, and peers.learn is false");
  EXPECT_FALSE(resolve("::", Qpn(5)));
  EXPECT_EQ(error, "the destination GID is empty");
}

// Its GIDs are those of this host's loopback alone, and the one by which all processes know it.
TEST_F(PeersTest, built_in__another_host_is_refused_with_the_file_to_write) {
  config = loopback_config(Settings(), true);
  for (const size_t i : {0, 1, 3}) EXPECT_TRUE(resolve(config.gids[i].to_string(), Qpn(5))) << i;
  EXPECT_TRUE(resolve("127.0.0.1", Qpn(5)));
  EXPECT_FALSE(resolve("127.9.9.9", Qpn(5)));
  EXPECT_NE(error.find("is on loopback, because no configuration gives it planes"), std::string::npos) << error;
  EXPECT_NE(error.find("/etc/mrc/mrc.yaml"), std::string::npos) << error;
}

// Of the two hosts one has a file.
TEST_F(PeersTest, learn__the_loopback_of_a_host_that_nothing_configured) {
  config.learn_peers = true;
  for (const IpAddress& gid : loopback_gids(77)) {
    if (gid.is_zero()) continue;
    EXPECT_FALSE(resolve(gid.to_string(), Qpn(5)));
    EXPECT_NE(error.find("is on the loopback of a process that nothing configured"), std::string::npos) << error;
  }
  EXPECT_TRUE(resolve("fe80::6d72:6400:1:2", Qpn(5)));
}

}  // namespace
}  // namespace mrc::device
