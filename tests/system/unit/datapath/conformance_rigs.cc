// The rigs of the conformance suite.
#include "conformance_rigs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "datapath/dpdk/dpdk_datapath.h"
#include "datapath/local/local_datapath.h"
#include "datapath/mem/mem_datapath.h"
#include "datapath/raw/raw_datapath.h"
#include "link.h"
#ifdef MRC_DPDK_MODULE
#include "dpdk/ring_ports.h"
#endif
#include "udp_fixture.h"

namespace mrc::datapath {

namespace {

constexpr uint32_t kPlanes = 2;
constexpr uint32_t kEvs = 8;

Rig::End end_of(std::unique_ptr<HostDatapath> datapath, const PerPlane<HostPlane>& planes) {
  Rig::End end;
  for (const PlaneId p : planes.ids()) end.planes.push_back({planes[p].addr, datapath->plane_port(p)});
  end.evs = datapath->evs();
  end.datapath = std::move(datapath);
  return end;
}

void make_mem(Rig* rig) {
  auto [a, b] = MemDatapath::make_pair(kPlanes, 64);
  for (Rig::End* end : {&rig->a, &rig->b}) {
    end->evs = auto_evs(kEvs, kPlanes);
    for (uint16_t i = 0; i < kEvs; ++i) end->evs[i].value = 0x10000u * (i + 1u) + 50000u + i;
    end->planes.assign(kPlanes, {loopback(false), static_cast<uint16_t>(end == &rig->a ? 1000 : 2000)});
  }
  rig->a.datapath = std::move(a);
  rig->b.datapath = std::move(b);
  rig->carries_labels = true;
}

void make_udp(Rig* rig, const UdpConfig& config) {
  for (Rig::End* end : {&rig->a, &rig->b}) {
    auto datapath = open_or_fail(config);
    ASSERT_NE(datapath, nullptr);
    *end = end_of(std::move(datapath), config.planes);
  }
  rig->carries_labels = config.structured_ev;
}

UdpConfig udp(bool v4, Offload offload) {
  UdpConfig config = loopback_config(v4, kPlanes, kEvs);
  config.gso = config.gro = offload;
  return config;
}

std::shared_ptr<const Srv6Plan> plan_of(const std::string& paths) {
  const auto plan = Srv6Plan::parse({paths, "", 1}, kPlanes);
  EXPECT_TRUE(plan) << plan.error().text;
  return plan ? *plan : nullptr;
}

// Every EV has a label; the plan leads straight to the peer, without checksums as over a fabric that rewrites
// addresses.
UdpConfig udp_srv6() {
  UdpConfig config = udp(false, Offload::kOff);
  config.srv6 = plan_of("::/0 direct");
  config.structured_ev = true;
  for (uint32_t i = 0; i < kEvs; ++i) config.evs[i].value = (i + 1) << 16;
  return config;
}

// As over routes that encapsulate: addresses stay, source ports come from the parts of two paths.
UdpConfig udp_encapsulated() {
  UdpConfig config = udp(false, Offload::kAuto);
  config.srv6 = plan_of("::/0 via 1; ::/0 via 2");
  config.srv6_encap = Srv6Encap::kKernel;
  config.source_ports = {34000, 34999};
  return config;
}

// `standing`: the pipes are there before the first burst, else they come about while the test goes on.
void make_local(Rig* rig, bool standing) {
  const UdpConfig config = udp(false, Offload::kAuto);
  std::vector<LocalDatapath*> ends;
  for (Rig::End* end : {&rig->a, &rig->b}) {
    std::unique_ptr<UdpDatapath> driver = open_or_fail(config);
    ASSERT_NE(driver, nullptr);
    std::unique_ptr<LocalDatapath> local = LocalDatapath::make(std::move(driver), config);
    EXPECT_TRUE(local->notes().empty()) << local->notes()[0];
    ends.push_back(local.get());
    *end = end_of(std::move(local), config.planes);
  }
  if (!standing) {
    rig->told_by = 2;  // the burst by the driver, and the query for a pipe
    return;
  }
  ends[0]->request_pipe(Instant(), rig->b.planes[0].addr, rig->b.planes[0].port);
  ends[1]->request_pipe(Instant(), rig->a.planes[0].addr, rig->a.planes[0].port);
  for (int turn = 0; turn < 2; ++turn)
    for (LocalDatapath* end : ends) end->before_wait();
}

// By the switch that link.h puts between the hosts: it shifts its uSID away, the outer header stays.
std::shared_ptr<const Srv6Plan> encapsulating(const std::string& switches) {
  return plan_of("fc00:{plane}::/32 via " + switches);
}

// Opens one end of a pair of hosts.
using Open = std::function<Result<std::unique_ptr<HostDatapath>>(const HostConfig& config, int side)>;

HostConfig host_config(std::shared_ptr<const Srv6Plan> plan) {
  HostConfig config;
  config.evs = auto_evs(kEvs, kPlanes);
  config.structured_ev = true;
  config.srv6 = std::move(plan);
  for (uint32_t i = 0; i < kEvs; ++i) config.evs[i].value = (i + 1) << 16;
  config.planes.assign(kPlanes, HostPlane());
  for (HostPlane& plane : config.planes) plane.port = 4791;
  return config;
}

void make_linked(Rig* rig, std::shared_ptr<const Srv6Plan> plan, const Open& open) {
  // Its own: the kernel ends AF_XDP sockets a while after they are closed, and refuses others at that queue until then.
  auto link = std::make_shared<Link>(kPlanes);
  HostConfig config = host_config(std::move(plan));
  for (int side : {0, 1}) {
    for (uint32_t p = 0; p < kPlanes; ++p) config.planes[p].addr = link->address(p, side);
    Result<std::unique_ptr<HostDatapath>> datapath = Error{ENODEV, "not opened"};
    link->inside(side, [&] { datapath = open(config, side); });
    ASSERT_TRUE(datapath) << datapath.error().text;
    (side == 0 ? rig->a : rig->b) = end_of(*std::move(datapath), config.planes);
  }
  rig->surroundings = link;
  rig->carries_labels = true;
}

void make_raw(Rig* rig, std::shared_ptr<const Srv6Plan> plan, RawIo io) {
  make_linked(rig, std::move(plan), [io](const HostConfig& config, int) { return open_raw_datapath(config, io); });
}

#ifdef MRC_DPDK_MODULE
DpdkConfig dpdk_config() {
  DpdkConfig dpdk;
  dpdk.module = MRC_DPDK_MODULE;
  dpdk.eal = "--no-huge --no-shconf --no-pci --no-telemetry -m 1024 --log-level=4";
  dpdk.gateways.resize(kPlanes);
  dpdk.mtu = 9000;
  return dpdk;
}

// Over the interfaces of the hosts, by the switch.
void make_dpdk_linked(Rig* rig, std::shared_ptr<const Srv6Plan> plan) {
  make_linked(rig, std::move(plan), [](const HostConfig& config, int side) {
    DpdkConfig dpdk = dpdk_config();
    std::string gateway = "fe80::" + std::to_string(side + 1);
    const auto gateways = parse_gateways(gateway, kPlanes);
    EXPECT_TRUE(gateways) << gateways.error().text;
    if (gateways) dpdk.gateways = *gateways;
    for (uint32_t p = 0; p < kPlanes; ++p)
      dpdk.ports.push_back("net_af_packet" + std::to_string(2 * side + p) + ",iface=plane" + std::to_string(p) +
                           ",framesz=9216,blocksz=36864,framecnt=512");
    return open_dpdk_datapath(config, dpdk);
  });
}

// Pairs of ports in this process, joined by rings in memory: no privilege, no kernel between.
void make_dpdk_ring(Rig* rig, bool checksum) {
  HostConfig config = host_config(nullptr);
  for (int side : {0, 1}) {
    DpdkConfig dpdk = dpdk_config();
    dpdk.checksum = checksum;
    for (uint32_t p = 0; p < kPlanes; ++p) {
      // Addresses that no interface of this machine has: their ports would be held.
      const std::string address = "2001:db8:" + std::to_string(p) + "::" + std::to_string(side + 1);
      config.planes[p].addr = IpAddress::parse(address).value();
      dpdk.ports.push_back(ring_port(dpdk.eal, p, side));
    }
    Result<std::unique_ptr<HostDatapath>> datapath = open_dpdk_datapath(config, dpdk);
    ASSERT_TRUE(datapath) << datapath.error().text;
    (side == 0 ? rig->a : rig->b) = end_of(*std::move(datapath), config.planes);
  }
  rig->carries_labels = true;
}
#endif

void add_dpdk(bool links, std::vector<RigKind>* all) {
#ifdef MRC_DPDK_MODULE
  all->push_back({"dpdk_ring", [](Rig* rig) { make_dpdk_ring(rig, true); }});
  all->push_back({"dpdk_ring_without_checksums", [](Rig* rig) { make_dpdk_ring(rig, false); }});
  if (!links) return;
  all->push_back({"dpdk_af_packet", [](Rig* rig) { make_dpdk_linked(rig, nullptr); }});
  all->push_back({"dpdk_srv6", [](Rig* rig) { make_dpdk_linked(rig, encapsulating("5a")); }});
  all->push_back({"dpdk_srh", [](Rig* rig) { make_dpdk_linked(rig, encapsulating("5a:5a:5a:5a:5a:5a")); }});
#else
  (void)links, (void)all;
#endif
}

}  // namespace

const std::vector<RigKind>& rigs() {
  static const std::vector<RigKind> kinds = [] {
    std::vector<RigKind> all = {
        {"mem", make_mem},
        {"udp_ipv4", [](Rig* rig) { make_udp(rig, udp(true, Offload::kAuto)); }},
        {"udp_ipv6", [](Rig* rig) { make_udp(rig, udp(false, Offload::kAuto)); }},
        {"udp_without_offload", [](Rig* rig) { make_udp(rig, udp(false, Offload::kOff)); }},
        {"local", [](Rig* rig) { make_local(rig, true); }},
        {"local_from_nothing", [](Rig* rig) { make_local(rig, false); }},
        {"udp_srv6", [](Rig* rig) { make_udp(rig, udp_srv6()); }},
        {"udp_encapsulated", [](Rig* rig) { make_udp(rig, udp_encapsulated()); }},
    };
    const bool links = Link::why_not().empty();
    if (links) {
      for (const bool xdp : {false, true}) {
        const RawIo io = xdp ? RawIo::kXdp : RawIo::kPacket;
        all.push_back({xdp ? "xdp" : "raw", [io](Rig* rig) { make_raw(rig, nullptr, io); }});
        all.push_back({xdp ? "xdp_srv6" : "raw_srv6", [io](Rig* rig) { make_raw(rig, encapsulating("5a"), io); }});
        all.push_back(
            {xdp ? "xdp_srh" : "raw_srh", [io](Rig* rig) { make_raw(rig, encapsulating("5a:5a:5a:5a:5a:5a"), io); }});
      }
    }
    add_dpdk(links, &all);
    return all;
  }();
  return kinds;
}

// Rigs that this machine lacks have no tests of their own that could be counted as skipped.
namespace {

bool has_rig(const std::string& name) {
  return std::any_of(rigs().begin(), rigs().end(), [&](const RigKind& kind) { return kind.name == name; });
}

TEST(ConformanceRigs, over_interfaces) {
  if (const std::string why_not = Link::why_not(); !why_not.empty())
    GTEST_SKIP() << "raw datapaths over links: " << why_not;
  EXPECT_TRUE(has_rig("raw") && has_rig("xdp"));
}

TEST(ConformanceRigs, of_dpdk) {
#ifdef MRC_DPDK_MODULE
  EXPECT_TRUE(has_rig("dpdk_ring"));
#else
  GTEST_SKIP() << "built without DPDK (apt-get install libdpdk-dev)";
#endif
}

}  // namespace

}  // namespace mrc::datapath
