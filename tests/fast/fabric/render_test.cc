// Rendered files, byte by byte: golden/ has one file per format and role. MRC_WRITE_GOLDEN=1 writes them again; read
// the difference before you commit it.
#include "render_linux.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "command.h"
#include "render_files.h"
#include "sonic_queues.h"
#include "two_planes.h"

namespace mrc::fabric {
namespace {

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(MRC_GOLDEN_DIR) + "/" + name;
  if (std::getenv("MRC_WRITE_GOLDEN") != nullptr) write_text(path, text);
  EXPECT_EQ(text, read_text(path)) << name;
}

void expect_golden_file(const std::string& format, const std::string& node) {
  const std::vector<RenderedFile> files = render_files(two_planes(), format, node);
  ASSERT_EQ(files.size(), 1u);
  expect_golden(files[0].name, files[0].text);
}

TEST(Render, links_and_namespaces_match_the_golden_batch) {
  expect_golden("links.batch", render_links(two_planes(), "lab-"));
}

TEST(Render, linux_commands_of_a_t0_match_the_golden_file) {
  expect_golden_file("linux", "p1-t0-1");
}
TEST(Render, linux_commands_of_a_t1_match_the_golden_file) {
  expect_golden_file("linux", "p0-t1-1");
}
TEST(Render, linux_commands_of_a_host_match_the_golden_file) {
  expect_golden_file("linux", "h2");
}
TEST(Render, frr_configuration_of_a_t0_matches_the_golden_file) {
  expect_golden_file("frr", "p1-t0-1");
}
TEST(Render, sonic_configuration_of_a_t0_matches_the_golden_file) {
  expect_golden_file("sonic", "p1-t0-1");
}
TEST(Render, sonic_configuration_of_a_t1_matches_the_golden_file) {
  expect_golden_file("sonic", "p0-t1-1");
}
TEST(Render, mrc_configuration_of_a_host_matches_the_golden_file) {
  expect_golden_file("hosts", "h2");
}
TEST(Render, the_drawing_matches_the_golden_file) {
  expect_golden_file("dot", "");
}

TEST(Render, every_node_has_a_file_of_its_format) {
  const Topology topology = two_planes();
  EXPECT_EQ(render_files(topology, "hosts", "").size(), 4u);
  EXPECT_EQ(render_files(topology, "linux", "").size(), 12u);
  EXPECT_EQ(render_files(topology, "frr", "").size(), 8u);
  EXPECT_EQ(render_files(topology, "sonic", "").size(), 8u);
  EXPECT_THAT(error_of([&] { render_files(topology, "frr", "h0"); }), ::testing::HasSubstr("no file"));
}

TEST(Render, one_ports_commands_are_among_all) {
  // Restored by a fault when a port comes back.
  const NodeConfig node = node_config(two_planes(), {Role::kT0, 0, 0});
  const std::string all = render_ip(node), one = render_ip(node, "t1-1");
  std::istringstream lines(one);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_THAT(all, ::testing::HasSubstr(line + "\n"));
    EXPECT_THAT(line, ::testing::HasSubstr("t1-1"));
  }
  EXPECT_EQ(count, 5);  // the link, its address, its neighbour, the T1's uSID, the NICs that are reached over it
}

TEST(Render, ecmp_uses_every_t1) {
  const NodeConfig node = node_config(two_planes("switch: {forwarding: ecmp}\n"), {Role::kT0, 0, 0});
  EXPECT_THAT(
      render_ip(node),
      ::testing::HasSubstr("route replace fd00:1:1::/48 nexthop via fe80::1 dev t1-0 nexthop via fe80::1 dev t1-1\n"));
  EXPECT_THAT(render_settings(node), ::testing::Contains(KernelSetting("net/ipv6/fib_multipath_hash_policy", "1")));
}

TEST(Render, hosts_encapsulate_unless_that_takes_too_many_routes) {  // [MRC-SR-26]
  const auto host = [](const std::string& nics) {
    return node_config(
        Topology(fabric_of("planes: 1\nt0: 2\nt1: 64\nnics_per_t0: " + nics + "\nnic_link: {rate: 1G}\n")),
        {Role::kHost, 0, 0});
  };
  const NodeConfig most = host("64"), more = host("65");  // 4096 and 4160 routes
  EXPECT_EQ(most.rules.size(), 64u);
  EXPECT_EQ(most.rules[63].source_ports.first, 48896u);
  EXPECT_EQ(most.rules[63].source_ports.last, 49151u);
  EXPECT_TRUE(more.rules.empty());
  EXPECT_EQ(render_ip(more).find("encap seg6 "), std::string::npos);
  EXPECT_EQ(render_marks(more), "");
}

TEST(Render, structured_evs_are_refused) {
  EXPECT_THAT(error_of([] {
                node_config(two_planes("switch: {forwarding: stev}\n"), {Role::kT0, 0, 0});
              }),
              ::testing::HasSubstr("allowed here: srv6, ecmp"));
}

TEST(Render, queues_follow_the_rate_unless_they_are_given) {
  const auto queue = [](const std::string& lab) {
    const Topology t(fabric_of("nic_link: {rate: 1G}\nlab: {" + lab + "}\n"));
    return node_config(t, {Role::kHost, 0, 0}).interfaces[0].queue;
  };
  EXPECT_EQ(queue(""), 625000);                  // 5 ms
  EXPECT_EQ(queue("rate_scale: 0.01"), 524288);  // room for some GSO bursts
  EXPECT_EQ(queue("queue: 1MiB"), 1048576);
}

TEST(Render, dscp_of_sonic_are_the_librarys_defaults) {
  const std::string settings = read_text(std::string(MRC_SOURCE_DIR) + "/spec/settings.md");
  const DscpPlan dscp;
  const std::pair<const char*, int> all[] = {{"dscp_no_trim", dscp.no_trim},
                                             {"dscp_trimmable", dscp.trimmable},
                                             {"dscp_trimmable_retx", dscp.trimmable_retx},
                                             {"dscp_trimmed", dscp.trimmed},
                                             {"dscp_trimmed_lasthop", dscp.trimmed_last_hop},
                                             {"dscp_control", dscp.control}};
  for (const auto& [name, value] : all) {
    // | `name` | `MRC_NAME` | default | ...
    const size_t row = settings.find("\n| `" + std::string(name) + "` | `");
    ASSERT_NE(row, std::string::npos) << name;
    const size_t cell = settings.find("` | ", settings.find("` | `", row) + 5) + 4;
    EXPECT_EQ(std::stoi(settings.substr(cell)), value) << name;
  }
}

}  // namespace
}  // namespace mrc::fabric
