#include "link.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

#include "datapath/udp/socket.h"

namespace mrc::datapath {

namespace {

// Runs `ip` with lines of commands for one namespace (empty: this one), in one process: there are dozens of them.
void ip_batch(const std::string& place, const std::string& lines) {
  const std::string command = "ip " + (place.empty() ? "" : "-n " + place + " ") + "-batch -";
  FILE* pipe = ::popen(command.c_str(), "w");
  ASSERT_NE(pipe, nullptr);
  std::fputs(lines.c_str(), pipe);
  EXPECT_EQ(::pclose(pipe), 0) << command << "\n" << lines;
}

std::string block(uint32_t plane) {
  return "fc00:" + std::to_string(plane + 1);
}

}  // namespace

std::string Link::why_not() {
  if (::access("/sbin/ip", X_OK) != 0 && ::access("/bin/ip", X_OK) != 0) return "the program ip is missing";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("CapEff:", 0) != 0) continue;
    const uint64_t have = std::stoull(line.substr(7), nullptr, 16);
    const uint64_t needed = uint64_t{1} << CAP_SYS_ADMIN | uint64_t{1} << CAP_NET_ADMIN | uint64_t{1} << CAP_NET_RAW;
    return (have & needed) == needed ? "" : "network namespaces need root";
  }
  return "no capabilities can be read";
}

Link::Link(uint32_t planes) : base_("mrc-link-" + std::to_string(::getpid())) {
  std::string cables;
  std::array<std::string, 3> lines;
  for (int place : {0, 1, 2}) {
    cables += "netns add " + name(place) + "\n";
    lines[static_cast<size_t>(place)] = "link set lo up\n";
  }
  for (uint32_t p = 0; p < planes; ++p) {
    const std::string plane = "plane" + std::to_string(p);
    for (int side : {0, 1}) {
      const std::string end = "end" + std::to_string(p) + std::to_string(side);
      const std::string gateway = "fe80::" + std::to_string(side + 1);
      const std::string own = address(p, side).to_string();
      cables +=
          "link add " + plane + " netns " + name(side) + " type veth peer name " + end + " netns " + name(2) + "\n";
      lines[static_cast<size_t>(side)] += "address add " + own + "/128 dev " + plane + " nodad\n" +  //
                                          "link set " + plane + " mtu 9000 up\n" +                   //
                                          "route add " + block(p) + "::/32 via " + gateway + " dev " + plane + "\n";
      lines[2] += "address add " + gateway + "/64 dev " + end + " nodad\n" +  //
                  "link set " + end + " mtu 9000 up\n" +                      //
                  "route add " + own + "/48 dev " + end + "\n";
    }
    lines[2] += "route add " + block(p) + ":5a::/48 encap seg6local action End flavors next-csid lblen 32 nflen 16 " +
                "dev end" + std::to_string(p) + "0\n";
  }
  ip_batch("", cables);
  for (int place : {0, 1, 2}) ip_batch(name(place), lines[static_cast<size_t>(place)]);
  inside(2, [] { std::ofstream("/proc/sys/net/ipv6/conf/all/forwarding") << 1; });
}

Link::~Link() {
  std::string lines;
  for (int place : {0, 1, 2}) lines += "netns del " + name(place) + "\n";
  ip_batch("", lines);
}

std::string Link::name(int place) const {
  return base_ + (place == 0 ? "-a" : place == 1 ? "-b" : "-switch");
}

IpAddress Link::address(uint32_t plane, int side) const {
  return IpAddress::parse(block(plane) + (side == 0 ? ":1::" : ":2::")).value();
}

void Link::inside(int place, const std::function<void()>& what) const {
  const Fd here(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  const Fd there(::open(("/run/netns/" + name(place)).c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(here && there);
  ASSERT_EQ(::setns(there.get(), CLONE_NEWNET), 0);
  what();
  ASSERT_EQ(::setns(here.get(), CLONE_NEWNET), 0);
}

}  // namespace mrc::datapath
