// The UDP driver over real loopback sockets, both families, with and without the offloads.
#include "datapath/udp/udp_datapath.h"

#include <netinet/in.h>
#include <unistd.h>

#include <set>

#include "datapath/udp/socket.h"
#include "harness/limits.h"
#include "udp_fixture.h"
#include "unit/own_loopback.h"

namespace mrc::datapath {
namespace {

struct Variant {
  bool v4;
  Offload gso;
  Offload gro;
};

class UdpVariant : public ::testing::TestWithParam<Variant> {
 protected:
  UdpConfig config(uint32_t planes, uint32_t evs) {
    UdpConfig c = loopback_config(GetParam().v4, planes, evs);
    c.gso = GetParam().gso;
    c.gro = GetParam().gro;
    return c;
  }
  IpAddress ip() { return loopback(GetParam().v4); }
};

TEST_P(UdpVariant, carries_a_burst_unchanged) {
  auto a = open_or_fail(config(1, 1));
  auto b = open_or_fail(config(1, 1));
  TestBurst t(15, 4144, 100, 1);
  t.address(*a, *b, 0_ev, ip());
  ASSERT_TRUE(a->tx_one(Instant(), t.burst));
  auto got = receive(*b, 15);
  EXPECT_EQ(joined(got), t.payload);
  EXPECT_EQ(a->counters().tx_packets, 15u);
  EXPECT_EQ(a->counters().tx_bytes, t.burst.bytes);
  EXPECT_EQ(b->counters().rx_packets, 15u);
  EXPECT_EQ(b->counters().rx_bytes, t.burst.bytes);
  bool merged = GetParam().gso == Offload::kOn && GetParam().gro == Offload::kOn;
  if (merged) {
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].segment_size, 4144u);
    EXPECT_EQ(a->counters().tx_calls, 1u);
  }
  if (GetParam().gro == Offload::kOff) {
    EXPECT_EQ(got.size(), 15u);
  }
}

TEST_P(UdpVariant, largest_burst) {
  auto a = open_or_fail(config(1, 1));
  auto b = open_or_fail(config(1, 1));
  TestBurst t(64, 1015, 1015, 2);
  static_assert(64 * 1015 <= core::kMaxBurstBytes);
  t.address(*a, *b, 0_ev, ip());
  ASSERT_TRUE(a->tx_one(Instant(), t.burst));
  EXPECT_EQ(joined(receive(*b, 64)), t.payload);
  EXPECT_EQ(a->counters().tx_errors, 0u);
}

TEST_P(UdpVariant, single_packets_and_shorter_last) {
  auto a = open_or_fail(config(1, 1));
  auto b = open_or_fail(config(1, 1));
  for (uint32_t size : {1u, 40u, 64u, 4144u, 8240u}) {
    TestBurst t(1, size, size, size);
    t.address(*a, *b, 0_ev, ip());
    ASSERT_TRUE(a->tx_one(Instant(), t.burst));
    auto got = receive(*b, 1);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].bytes, t.payload);
    EXPECT_EQ(got[0].segment_size, size);
  }
}

TEST_P(UdpVariant, traffic_class_both_ways) {
  auto a = open_or_fail(config(1, 1));
  auto b = open_or_fail(config(1, 1));
  // DSCP 46 and 4 with each ECN value; a CE mark set by the sender survives loopback.
  for (uint8_t tc : {0, 46 << 2, 4 << 2 | 1, 4 << 2 | 2, 4 << 2 | 3}) {
    for (uint32_t segments : {1u, 3u}) {
      TestBurst t(segments, 200, 50, tc);
      if (segments == 1) t.burst.segment_size = t.burst.bytes;
      t.address(*a, *b, 0_ev, ip(), tc);
      ASSERT_TRUE(a->tx_one(Instant(), t.burst));
      auto got = receive(*b, segments);
      ASSERT_FALSE(got.empty());
      for (const Got& g : got) EXPECT_EQ(g.flow.traffic_class, tc);
    }
  }
}

TEST_P(UdpVariant, planes_and_source_ports) {
  auto a = open_or_fail(config(4, 8));
  auto b = open_or_fail(config(4, 8));
  std::set<uint16_t> ports;
  for (const EvIndex ev : EvRange(8)) {
    TestBurst t(2, 100, 60, ev.value());
    t.address(*a, *b, ev, ip());
    EXPECT_EQ(t.burst.plane, plane_at(ev.value() % 4));
    ASSERT_TRUE(a->tx_one(Instant(), t.burst));
    auto got = receive(*b, 2);
    ASSERT_FALSE(got.empty());
    for (const Got& g : got) {
      EXPECT_EQ(g.plane, plane_at(ev.value() % 4));
      EXPECT_EQ(g.flow.src_port, a->evs()[ev].value);
      EXPECT_EQ(g.flow.src, ip());
      EXPECT_EQ(g.flow.dst, ip());
      EXPECT_EQ(g.flow.dst_port, b->plane_port(g.plane));
      ports.insert(g.flow.src_port);
    }
  }
  EXPECT_EQ(ports.size(), 8u);
}

TEST_P(UdpVariant, bursts_of_many_planes_in_one_call) {
  auto a = open_or_fail(config(4, 4));
  auto b = open_or_fail(config(4, 4));
  std::vector<std::unique_ptr<TestBurst>> bursts;
  std::vector<const core::TxBurst*> list;
  for (const EvIndex ev : EvRange(4)) {
    bursts.push_back(std::make_unique<TestBurst>(4, 500, 500, ev.value()));
    bursts.back()->address(*a, *b, ev, ip());
    list.push_back(&bursts.back()->burst);
  }
  EXPECT_EQ(a->tx_burst(Instant(), list.data(), 4), 4);
  auto got = receive(*b, 16, 3);
  for (uint8_t p = 0; p < 4; ++p) {
    std::vector<uint8_t> bytes;
    for (const Got& g : got)
      if (g.plane == PlaneId(p)) bytes.insert(bytes.end(), g.bytes.begin(), g.bytes.end());
    EXPECT_EQ(bytes, bursts[p]->payload) << "plane " << int{p};
  }
}

TEST_P(UdpVariant, wait_fds__are_readable_exactly_while_there_is_something) {
  auto a = open_or_fail(config(2, 2));
  auto b = open_or_fail(config(2, 2));
  pollfd wait{-1, POLLIN, 0};
  ASSERT_EQ(b->wait_fds(&wait.fd, 1), 1);
  EXPECT_EQ(::poll(&wait, 1, 0), 0);
  TestBurst t(1, 100, 100, 3);
  t.address(*a, *b, 1_ev, ip());
  ASSERT_TRUE(a->tx_one(Instant(), t.burst));
  EXPECT_EQ(::poll(&wait, 1, harness::limit_ms(2000)), 1);
  core::RxBurst in[4];
  EXPECT_EQ(b->rx_burst(Instant(), in, 4), 1);
  EXPECT_EQ(b->rx_burst(Instant(), in, 4), 0);
  EXPECT_EQ(::poll(&wait, 1, 0), 0);
}

// A socket connects itself to the address of a streak of bursts; what arrives must not depend on it, nor may the class
// stick.
TEST_P(UdpVariant, alternating_peers_and_classes_before_and_after_a_streak) {
  auto a = open_or_fail(config(1, 1));
  auto b = open_or_fail(config(1, 1));
  auto c = open_or_fail(config(1, 1));
  uint32_t salt = 0;
  auto send = [&](UdpDatapath& to, uint8_t tc) {
    for (uint32_t segments : {1u, 3u}) {
      TestBurst t(segments, 120, 120, ++salt);
      t.address(*a, to, 0_ev, ip(), tc);
      ASSERT_TRUE(a->tx_one(Instant(), t.burst));
      auto got = receive(to, segments);
      ASSERT_EQ(joined(got), t.payload);
      for (const Got& g : got) {
        ASSERT_EQ(g.flow.traffic_class, tc);
        ASSERT_EQ(g.flow.src_port, a->evs()[0].value);
      }
    }
  };
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 12; ++i) send(*b, static_cast<uint8_t>(i % 3 == 0 ? 0xB8 : 0x12));
    send(*c, 0x10);
    send(*b, 0x22);
    for (int i = 0; i < 12; ++i) send(*c, 0x12);
  }
}

INSTANTIATE_TEST_SUITE_P(
    all, UdpVariant,
    ::testing::Values(Variant{false, Offload::kOn, Offload::kOn}, Variant{false, Offload::kOff, Offload::kOn},
                      Variant{false, Offload::kOn, Offload::kOff}, Variant{false, Offload::kOff, Offload::kOff},
                      Variant{true, Offload::kOn, Offload::kOn}, Variant{true, Offload::kOff, Offload::kOn},
                      Variant{true, Offload::kOn, Offload::kOff}, Variant{true, Offload::kOff, Offload::kOff}),
    [](const auto& v) {
      return std::string(v.param.v4 ? "v4" : "v6") + (v.param.gso == Offload::kOn ? "_gso" : "_plain") +
             (v.param.gro == Offload::kOn ? "_gro" : "_single");
    });

// Three paths, an entropy value of each plane for each of them and one more; a rule that covers the loopback address.
UdpConfig encapsulated_config() {
  UdpConfig config = loopback_config(false, 2, 8);
  Srv6Plan::Text text;
  text.paths = "::/0 via 1; ::/0 via 2; ::/0 via 3";
  const auto plan = Srv6Plan::parse(text, 2);
  EXPECT_TRUE(plan);
  config.srv6 = *plan;
  config.srv6_encap = Srv6Encap::kKernel;
  config.source_ports = {33000, 33599};
  return config;
}

TEST(UdpEncapsulated, a_path_has_its_part_of_the_source_ports) {  // [MRC-SR-25]
  // Two processes share each part.
  const auto a = open_or_fail(encapsulated_config()), b = open_or_fail(encapsulated_config());
  std::set<uint16_t> different;
  for (const UdpDatapath* dp : {a.get(), b.get()}) {
    PerPlane<uint32_t> count(2);
    for (const core::EvEntry& ev : dp->evs()) {
      const auto port = static_cast<uint16_t>(ev.value);
      const uint32_t part = count[ev.plane]++ % 3;
      EXPECT_GE(port, 33000 + 200 * part);
      EXPECT_LE(port, 33199 + 200 * part);
      different.insert(port);
    }
  }
  EXPECT_EQ(different.size(), 16u);
}

TEST(UdpEncapsulated, bursts_go_to_the_peers_own_address) {  // [MRC-SR-26] [MRC-SR-27]
  auto a = open_or_fail(encapsulated_config());
  auto b = open_or_fail(loopback_config(false, 2, 2));
  EXPECT_TRUE(a->gso());
  EXPECT_EQ(a->describe().rfind("udp with SRv6 by the kernel: ", 0), 0u) << a->describe();
  TestBurst t(15, 4144, 100, 1);
  t.address(*a, *b, 3_ev, loopback(false));
  ASSERT_TRUE(a->tx_one(Instant(), t.burst));
  EXPECT_EQ(joined(receive(*b, 15)), t.payload);
  EXPECT_EQ(a->counters().tx_calls, 1u);
}

TEST(UdpEncapsulated, warns_where_the_host_has_no_rules) {  // [MRC-SR-26]
  const std::vector<std::string> advice = open_or_fail(encapsulated_config())->advice();
  EXPECT_TRUE(std::any_of(advice.begin(), advice.end(), [](const std::string& line) {
    return line.find("UDP source ports 33000-33199") != std::string::npos;
  }));
}

TEST(UdpEncapsulated, room_is_left_for_the_outer_header) {  // [MRC-SR-27]
  const auto plain = open_or_fail(loopback_config(false, 2, 2)), encapsulated = open_or_fail(encapsulated_config());
  EXPECT_EQ(plain->plane_payload(0_plane), encapsulated->plane_payload(0_plane) + 64);
}

TEST(UdpEncapsulated, carries_no_multicast) {  // a path leads to one host [API-UD-5]
  const auto dp = open_or_fail(encapsulated_config());
  EXPECT_EQ(dp->max_groups(), 0u);
  const auto sources = dp->group_sources();
  ASSERT_FALSE(sources);
  EXPECT_EQ(sources.error().code, EOPNOTSUPP);
}

TEST(UdpEncapsulated, too_few_ports_are_refused) {
  UdpConfig config = encapsulated_config();
  config.source_ports = {33000, 33002};  // one for each path, and eight sockets
  EXPECT_NE(refusal(config).text.find("no UDP port from 3300"), std::string::npos) << refusal(config).text;
  config.source_ports = {33000, 33001};
  EXPECT_EQ(refusal(config).code, EINVAL);
  config = encapsulated_config();
  config.srv6 = nullptr;
  EXPECT_EQ(refusal(config).code, EINVAL);
}

// Between finding free ports and requesting them by number another process may get them.
constexpr int kMaxChoices = 20;

TEST(Udp, explicit_ev_ports_are_shared_by_two_datapaths) {
  // Take two ports that are free now, then ask for them by number, twice.
  uint32_t first = 0;
  uint32_t second = 0;
  std::unique_ptr<UdpDatapath> a, c;
  std::string error;
  for (int i = 0; i < kMaxChoices && c == nullptr; ++i) {
    {
      auto finder = open_or_fail(loopback_config(false, 1, 2));
      first = finder->evs()[0].value;
      second = finder->evs()[1].value;
    }
    UdpConfig config = loopback_config(false, 1, 2);
    config.evs[0].value = first;
    config.evs[1].value = 0x50000u | second;  // the high half is the flow label and stays
    auto opened = UdpDatapath::open(config);
    if (!opened) continue;
    a = *std::move(opened);
    if (auto second_opened = UdpDatapath::open(config)) c = *std::move(second_opened);
  }
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(a->evs()[0].value, first);
  EXPECT_EQ(c->evs()[1].value, 0x50000u | second);
}

TEST(Udp, flow_label_travels_in_structured_mode_only) {
  for (bool structured : {true, false}) {
    UdpConfig config = loopback_config(false, 1, 2);
    config.structured_ev = structured;
    config.evs[0].value = 0xABCDu << 16;
    config.evs[1].value = 0;
    auto a = open_or_fail(config);
    auto b = open_or_fail(config);
    for (uint16_t i = 0; i < 24; ++i) {  // long enough for the sockets to connect themselves
      const EvIndex ev = ev_at(i % 2);
      TestBurst t(2, 100, 100, 1);
      t.address(*a, *b, ev, loopback(false), 46 << 2);
      ASSERT_TRUE(a->tx_one(Instant(), t.burst));
      auto got = receive(*b, 2);
      ASSERT_FALSE(got.empty());
      EXPECT_EQ(got[0].flow.flow_label, structured && ev == 0_ev ? 0xABCDu : 0u);
      EXPECT_EQ(got[0].flow.traffic_class, 46 << 2);
    }
  }
}

// [MRC-UDP-1]
TEST(Udp, second_port_is_received_on) {
  UdpConfig config = loopback_config(true, 2, 2);
  std::unique_ptr<UdpDatapath> b;
  for (int i = 0; i < kMaxChoices && (b == nullptr || !b->notes().empty()); ++i) {
    b.reset();
    config.planes[1].second_port = 0;
    config.planes[1].second_port = open_or_fail(config)->plane_port(1_plane);
    b = open_or_fail(config);
  }
  auto a = open_or_fail(loopback_config(true, 2, 2));
  TestBurst t(1, 80, 80, 9);
  t.address(*a, *b, 1_ev, loopback(true));
  t.burst.flow.dst_port = config.planes[1].second_port;
  ASSERT_TRUE(a->tx_one(Instant(), t.burst));
  auto got = receive(*b, 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].plane, 1_plane);
  EXPECT_EQ(got[0].flow.dst_port, config.planes[1].second_port);
  EXPECT_NE(b->plane_port(1_plane), config.planes[1].second_port);
}

// Peers that use it are the exception, and another program may have it: no reason not to start.
TEST(Udp, second_port_that_is_taken_is_done_without) {
  UdpConfig config = loopback_config(true, 2, 2);
  auto owner = open_or_fail(config);
  config.planes[1].second_port = owner->plane_port(0_plane);
  auto b = open_or_fail(config);
  ASSERT_EQ(b->notes().size(), 1u);
  EXPECT_EQ(b->notes()[0],
            "plane 2 receives on port 0 alone: port " + std::to_string(owner->plane_port(0_plane)) + " is taken");
  auto a = open_or_fail(loopback_config(true, 2, 2));
  TestBurst t(1, 80, 80, 9);
  t.address(*a, *b, 1_ev, loopback(true));
  ASSERT_TRUE(a->tx_one(Instant(), t.burst));
  EXPECT_EQ(receive(*b, 1).size(), 1u);
  // The first port is not to be done without.
  config.planes[1] = config.planes[0];
  config.planes[0].port = owner->plane_port(0_plane);
  EXPECT_EQ(refusal(config).code, EADDRINUSE);
}

TEST(Udp, overflow_of_the_receive_buffer_is_counted) {
  UdpConfig small = loopback_config(false, 1, 1);
  small.rcvbuf = 64 << 10;
  auto a = open_or_fail(loopback_config(false, 1, 1));
  auto b = open_or_fail(small);
  TestBurst t(15, 4144, 4144, 1);
  t.address(*a, *b, 0_ev, loopback(false));
  uint64_t sent = 0;
  for (int i = 0; i < 50; ++i, sent += 15) ASSERT_TRUE(a->tx_one(Instant(), t.burst));
  uint64_t got = 0;
  core::RxBurst in[4];
  for (int n; (n = b->rx_burst(Instant(), in, 4)) > 0;) got += static_cast<uint64_t>(n) * 15;
  EXPECT_LT(got, sent);
  EXPECT_EQ(b->counters().rx_overflow, 0u) << "the count comes with the next packet that gets through";
  ASSERT_TRUE(a->tx_one(Instant(), t.burst));
  ASSERT_EQ(receive(*b, 15).size(), 1u);
  EXPECT_GT(b->counters().rx_overflow, 0u);
}

TEST(Udp, empty_datagrams_use_no_buffers_up) {
  UdpConfig single = loopback_config(false, 1, 1);
  single.gro = Offload::kOff;
  auto b = open_or_fail(single);
  const int fd = ::socket(AF_INET6, SOCK_DGRAM, 0);
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(b->plane_port(0_plane));
  to.sin6_addr = in6addr_loopback;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(::sendto(fd, "", 0, 0, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  ::close(fd);
  auto a = open_or_fail(loopback_config(false, 1, 1));
  TestBurst t(1, 100, 100, 1);
  t.address(*a, *b, 0_ev, loopback(false));
  ASSERT_TRUE(a->tx_one(Instant(), t.burst));
  EXPECT_EQ(receive(*b, 1).size(), 1u);
  EXPECT_EQ(b->counters().rx_errors, 100u);
}

TEST(Udp, without_any_plane_it_is_refused_with_each_plane_named) {  // [MRC-PORT-6]
  UdpConfig config = loopback_config(true, 2, 2);
  config.planes[0].addr = IpAddress();  // that of an interface without one
  config.planes[1].addr = IpAddress::parse("192.0.2.77").value();
  const Error error = refusal(config);
  EXPECT_EQ(error.code, EADDRNOTAVAIL);
  EXPECT_NE(error.text.find("plane 1: its interface is missing"), std::string::npos) << error.text;
  EXPECT_NE(error.text.find("plane 2: cannot bind for 192.0.2.77"), std::string::npos) << error.text;
}

// Its source ports are those that were announced when it was closed. [MRC-PORT-6]
TEST(Udp, a_plane_without_its_address_begins_closed_and_is_opened_later) {
  with_own_loopback([] {
    ASSERT_TRUE(set_loopback(true));
    UdpConfig config = loopback_config(true, 2, 4);
    const IpAddress missing = IpAddress::parse("192.0.2.77").value();
    config.planes[1].addr = missing;
    auto a = open_or_fail(config), b = open_or_fail(config);
    EXPECT_EQ(a->closed_planes().ids(), 0b10_planes);
    EXPECT_NE(a->closed_planes().why(1_plane).find("no interface of this host has this address"), std::string::npos);
    const PerEv<core::EvEntry> evs = a->evs();
    for (const core::EvEntry& ev : evs) EXPECT_NE(ev.value & 0xFFFFu, 0u);
    EXPECT_EQ(a->open_plane(1_plane, missing).error().code, EADDRNOTAVAIL);
    ASSERT_TRUE(add_loopback_address("192.0.2.77"));
    for (UdpDatapath* dp : {a.get(), b.get()}) {
      const Status opened = dp->open_plane(1_plane, missing);
      ASSERT_TRUE(opened) << opened.error().text;
      EXPECT_TRUE(dp->closed_planes().empty());
    }
    for (const EvIndex i : evs.ids()) {
      EXPECT_EQ(a->evs()[i].value, evs[i].value);
      TestBurst t(3, 1000, 500, i.value());
      t.address(*a, *b, i, config.planes[evs[i].plane].addr);
      ASSERT_TRUE(a->tx_one(Instant(), t.burst));
      const std::vector<Got> got = receive(*b, 3);
      ASSERT_FALSE(got.empty());
      EXPECT_EQ(got[0].plane, evs[i].plane);
      EXPECT_EQ(got[0].flow.src_port, evs[i].value & 0xFFFFu);
      EXPECT_EQ(joined(got), t.payload);
    }
  });
}

// Another process may have taken the port meanwhile: the plane stays closed as a whole.
TEST(Udp, a_closed_plane_whose_port_is_taken_stays_closed) {
  with_own_loopback([] {
    ASSERT_TRUE(set_loopback(true));
    UdpConfig config = loopback_config(true, 2, 2);
    const IpAddress missing = IpAddress::parse("192.0.2.77").value();
    config.planes[1].addr = missing;
    config.planes[1].port = 4791;
    auto dp = open_or_fail(config);
    ASSERT_TRUE(add_loopback_address("192.0.2.77"));
    {
      const auto other = open_udp(kernel_syscalls(), {missing, 4791, "", false});
      ASSERT_TRUE(other);
      EXPECT_EQ(dp->open_plane(1_plane, missing).error().code, EADDRINUSE);
      EXPECT_EQ(dp->closed_planes().ids(), 0b10_planes);
    }
    EXPECT_TRUE(dp->open_plane(1_plane, missing));
  });
}

TEST(Udp, port_in_use_is_refused) {
  auto first = open_or_fail(loopback_config(false, 1, 1));
  UdpConfig config = loopback_config(false, 1, 1);
  config.planes[0].port = first->plane_port(0_plane);
  EXPECT_EQ(refusal(config).code, EADDRINUSE);
}

TEST(Udp, ev_on_a_missing_plane_is_refused) {
  UdpConfig config = loopback_config(false, 2, 2);
  config.evs[1].plane = 2_plane;
  const Error error = refusal(config);
  EXPECT_NE(error.text.find("no plane 3"), std::string::npos) << error.text;
}

TEST(Udp, describes_itself_and_says_what_to_raise) {
  UdpConfig config = loopback_config(false, 2, 6);
  config.rcvbuf = 1u << 30;  // more than any limit grants without privilege, and half of what INT_MAX allows
  auto dp = open_or_fail(config);
  std::string text = dp->describe();
  EXPECT_NE(text.find("2 planes, 6 EVs"), std::string::npos) << text;
  EXPECT_NE(text.find("plane 2: ::1 port " + std::to_string(dp->plane_port(1_plane)) + " on lo, MTU"),
            std::string::npos)
      << text;
  EXPECT_EQ(dp->plane_payload(0_plane), dp->plane_payload(1_plane));
  EXPECT_GT(dp->plane_payload(0_plane), 1400u);
}

// No other process can send from our address and port by binding the port at another address [MRC-SEC-12].
TEST(Udp, source_ports_are_held_on_every_address) {
  auto dp = open_or_fail(loopback_config(true, 2, 8));
  ASSERT_NE(dp, nullptr);
  for (const core::EvEntry& ev : dp->evs())
    for (const char* other : {"127.0.0.9", "::1", "0.0.0.0", "::"}) {
      const IpAddress addr = IpAddress::parse(other).value();
      for (const bool reuse : {false, true}) {
        const auto bound = open_udp(kernel_syscalls(), {addr, static_cast<uint16_t>(ev.value), "", reuse});
        ASSERT_FALSE(bound) << other << " port " << ev.value;
        EXPECT_TRUE(!addr.is_v4() || bound.error().code == EADDRINUSE);
      }
    }
}

TEST(Udp, auto_evs_spread_equally) {
  auto evs = auto_evs(64, 4);
  std::array<int, 4> count{};
  for (const auto& ev : evs) ++count[ev.plane.value()];
  EXPECT_EQ(count, (std::array<int, 4>{16, 16, 16, 16}));
}

}  // namespace
}  // namespace mrc::datapath
