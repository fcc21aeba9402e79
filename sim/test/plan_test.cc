// The address plan and the fabric file: every path ends where it should, every mistake is named.
#include "sim/fabric/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace mrc::sim {
namespace {

std::string error_of(const std::string& yaml) {
  const Source source{"f.yaml"};
  try {
    read_fabric(load_yaml(source, yaml), source);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

// "4 planes x 100G, 16 T0, 32 T1, 512 NICs", and perhaps what it is for.
TEST(Plan, the_list_of_built_in_fabrics_says_their_sizes) {
  for (const Builtin& b : builtin_fabrics()) {
    const FabricSpec f = load_fabric(b.name);
    std::string nics = std::to_string(f.nics());
    if (nics.size() > 3) nics.insert(nics.size() - 3, ",");
    const auto n = [](uint32_t v) { return std::to_string(v); };
    EXPECT_THAT(b.sentence, testing::StartsWith(n(f.planes) + " plane" + (f.planes == 1 ? "" : "s") + " x " +
                                                n(static_cast<uint32_t>(f.nic_link.rate / 1e9)) + "G, " + n(f.t0) +
                                                " T0, " + n(f.t1) + " T1, " + nics + " NICs"))
        << b.name;
  }
}

TEST(Plan, every_path_of_the_tiny_fabric_arrives) {
  const FabricPlan plan(load_fabric("tiny"));
  const FabricSpec& f = plan.spec();
  for (uint32_t p = 0; p < f.planes; ++p)
    for (uint32_t a = 0; a < f.nics(); ++a)
      for (uint32_t b = 0; b < f.nics(); ++b)
        for (uint32_t t1 = 0; a != b && t1 < f.t1; ++t1) EXPECT_EQ(plan.walk(p, a, t1, b), "") << p << a << b << t1;
}

TEST(Plan, sampled_pairs_of_131072_nics_arrive_on_every_ev) {
  const FabricPlan plan(load_fabric("full131072"));
  ASSERT_EQ(plan.spec().nics(), 131072u);
  Rng rng(7);
  for (int i = 0; i < 8; ++i) {
    const uint32_t a = rng.below(plan.spec().nics()), b = rng.below(plan.spec().nics());
    for (const Ev& ev : plan.evs(a, 1)) ASSERT_EQ(plan.walk(ev.plane, a, plan.t1_of(ev.value), b), "");
  }
}

TEST(Plan, a_name_is_one_that_files_and_scripts_may_hold) {
  EXPECT_EQ(error_of("{name: Rack-7_b.2, planes: 2}"), "");
  for (const char* name : {"''", "'a b'", "'x\n reboot #'", "'../x'", "'.x'", "'a/b'", "'\"'"})
    EXPECT_THAT(error_of(std::string("{planes: 2, name: ") + name + "}"), testing::HasSubstr("'name'")) << name;
}

TEST(Plan, nic_addresses_are_their_own_inverse) {
  const FabricPlan plan(load_fabric("full131072"));
  for (const uint32_t nic : {0u, 255u, 256u, 131071u}) {
    const auto back = plan.nic_of(plan.nic_address(5, nic));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->plane, 5u);
    EXPECT_EQ(back->nic, nic);
  }
  EXPECT_FALSE(plan.nic_of(IpAddress::v4(10, 0, 0, 1)).has_value());
}

TEST(Plan, evs_are_equally_many_per_plane_and_distinct) {
  const FabricPlan plan(load_fabric("planes8x512"));
  const std::vector<Ev> evs = plan.evs(3, 1);
  std::vector<int> per_plane(8);
  std::set<std::pair<uint8_t, uint32_t>> seen;
  for (const Ev& e : evs) {
    ++per_plane[e.plane];
    EXPECT_TRUE(seen.insert({e.plane, e.value}).second);
  }
  for (const int n : per_plane) EXPECT_EQ(n, 32);
}

TEST(Usid, a_list_shifts_by_one_and_refuses_another_owner) {
  const FabricPlan plan(load_fabric("tiny"));
  IpAddress list = plan.path(1, 0, 1, 7);
  EXPECT_EQ(list.to_string(), "fcbb:bb00:1400:1801:1401:1c07::");
  EXPECT_FALSE(shift_usid(&list, plan.spec().usid.block, 0x1401));
  EXPECT_TRUE(shift_usid(&list, plan.spec().usid.block, 0x1400));
  EXPECT_EQ(list.to_string(), "fcbb:bb00:1801:1401:1c07::");
}

TEST(Usid, of_a_nic_is_unique_on_its_plane_while_that_fits) {
  EXPECT_TRUE(load_fabric("tiny").nic_usids_are_unique());
  const FabricPlan huge(load_fabric("full131072"));
  EXPECT_FALSE(huge.spec().nic_usids_are_unique());
  EXPECT_EQ(huge.nic_usid(0, 0), huge.nic_usid(0, huge.spec().nics_per_t0));
  const Source source{"f.yaml"};
  // The range of the NICs ends where that of the T1s begins.
  const auto unique = [&](const char* text) {
    return read_fabric(load_yaml(source, text), source).nic_usids_are_unique();
  };
  EXPECT_TRUE(unique("nics_per_t0: 4\nusid: {nic_base: 0x7f8}\n"));
  EXPECT_FALSE(unique("nics_per_t0: 4\nusid: {nic_base: 0x7f9}\n"));
}

TEST(FabricFile, names_file_line_key_value_and_what_is_allowed) {
  EXPECT_EQ(error_of("planes: 2\nplains: 3\n").substr(0, 60),
            "f.yaml:2: unknown key 'plains' in 'fabric', did you mean 'pl");
  EXPECT_EQ(error_of("planes: 99\n"), "f.yaml:1: key 'planes': value is '99', allowed: a whole number from 1 to 16");
  EXPECT_THAT(error_of("switch:\n  forwarding: magic\n"),
              ::testing::HasSubstr("f.yaml:2: key 'forwarding': value is 'magic', allowed: srv6, stev, ecmp"));
  EXPECT_THAT(error_of("nic_link: {rate: fast}\n"),
              ::testing::HasSubstr("value is 'fast', allowed: a rate such as 100G"));
  EXPECT_THAT(error_of("nic_link: {delay: 5}\n"), ::testing::HasSubstr("a time with its unit"));
  EXPECT_THAT(error_of("planes: [1\n"), ::testing::HasSubstr("f.yaml:"));
  EXPECT_THAT(error_of("planes: 2\nplanes: 3\n"), ::testing::HasSubstr("given twice"));
  EXPECT_THAT(
      error_of("switch:\n  queue: 10\n"),
      ::testing::HasSubstr("f.yaml:2: key 'queue': value is '10', allowed: room for one packet, at least 4262"));
  EXPECT_THAT(error_of("switch: {trimmed_queue: 0bdp}\n"), ::testing::HasSubstr("at least 128 bytes"));
  EXPECT_EQ(error_of("switch: {queue: 4262}\n"), "");
  EXPECT_THAT(error_of("usid: {block: 'fcbb:bb00:1::'}\n"), ::testing::HasSubstr("only the first 32 bits"));
}

TEST(FabricFile, oversubscription_sets_the_rate_of_the_uplinks) {
  const Source source{"f.yaml"};
  const auto uplink = [&](const std::string& yaml) {
    return read_fabric(load_yaml(source, yaml), source).spine_link.rate;
  };
  EXPECT_EQ(uplink("{t1: 4, nics_per_t0: 8, nic_link: {rate: 100G}, oversubscription: 2}"), 100e9);
  EXPECT_EQ(uplink("{t1: 8, nics_per_t0: 8, nic_link: {rate: 100G}, oversubscription: 1, spine_link: {delay: 1us}}"),
            100e9);
  EXPECT_EQ(uplink("{base: tiny, oversubscription: 4}"), 50e9) << "4 NICs of 100 Gb/s, 2 uplinks";
  EXPECT_THAT(error_of("oversubscription: 2\nspine_link: {rate: 100G}"),
              testing::HasSubstr("f.yaml:1: key 'oversubscription': value is '2', allowed: only without the `rate`"));
  EXPECT_THAT(error_of("{oversubscription: 0}"), testing::HasSubstr("a number from 0.01 to 1000"));
  EXPECT_THAT(error_of("{oversubscription: 1000, nic_link: {rate: 1M}}"),
              testing::HasSubstr("they would be of 2 kb/s"));
}

TEST(FabricFile, usid_ranges_must_fit_and_not_overlap) {
  EXPECT_THAT(error_of("t0: 600\nusid: {t1_base: 0x500}\n"), ::testing::HasSubstr("overlap"));
  EXPECT_THAT(error_of("t1: 4096\n"), ::testing::HasSubstr("its uSIDs end at"));
}

TEST(FabricFile, base_rtt_of_the_reference_network) {
  // 9,348 ns at 100 Gb/s, 8,337 ns at 400 Gb/s and 8,169 ns at 800 Gb/s for frames of the reference's size.
  EXPECT_NEAR(static_cast<double>(load_fabric("reference64").base_rtt()) / 1e3, 9348, 10);
  EXPECT_NEAR(static_cast<double>(load_fabric("reference64_400g").base_rtt()) / 1e3, 8337, 10);
  EXPECT_NEAR(static_cast<double>(load_fabric("reference64_800g").base_rtt()) / 1e3, 8169, 10);
}

}  // namespace
}  // namespace mrc::sim
