// Spraying at the limit: every link of a one-to-one fabric carries as much as it can, so that each imbalance of planes
// or paths shows as goodput. Limits are 0.97 of what was measured. [MRC-EVS-2] [MRC-EVS-11]
#include <gtest/gtest.h>

#include "sim/helper/run.h"

namespace mrc::sim {
namespace {

double share(const std::string& yaml, const char* window) {
  const Source source{"spraying"};
  const RunResult r = run_scenario(read_scenario(load_yaml(source, yaml), source, "."));
  EXPECT_EQ(r.summary["counters"]["qp_errors"].get<uint64_t>(), 0u);
  return r.summary["windows"][window]["share_of_peak"].get<double>();
}

// Headers leave 0.958. Reached: 0.946; by random laps over all planes 0.883.
TEST(Spraying, to_the_next_rack_with_every_link_loaded) {
  EXPECT_GE(share(R"(fabric: {base: planes8x512, t0: 2}
transport: {sack_bytes: 64KiB}
workloads: [{kind: send_recv, name: main, shift: 32, bytes: 1MB, depth: 4, until: 120us}]
limit: 3ms
measure: {interval: 20us, windows: {steady: [60us, 120us]}}
)",
                  "steady"),
            0.918);
}

// One of 32 T1s is down: 0.928 is left. Reached: 0.910; by random laps 0.837, by a fixed order without loads 0.813.
TEST(Spraying, a_slow_plane_does_not_slow_the_others) {
  EXPECT_GE(
      share(R"(fabric: {base: cluster64, name: planes8x16, planes: 8, t0: 4, t1: 4, nics_per_t0: 4, ev: {count: 128}}
workloads: [{kind: permutation, name: main, shift: 4, bytes: 1MB, depth: 8, until: 500us}]
faults: [{kind: down, where: t1, plane: 2, t1: 1, at: 100us, for: 400us}]
limit: 4ms
measure: {interval: 20us, windows: {during: [200us, 500us]}}
)",
            "during"),
      0.883);
}

// Three of 32 links between T0s and T1s run at a quarter of their rate, and the others suffice for every NIC. Reached,
// over the time without slow links, with a SACK per 16 KiB and per 64 KiB: 1.09 and 1.14; where marks count for whole
// SACKs and cost one turn each, 1.64 and 1.91. [MRC-EVS-19] [MRC-NSCC-33]
TEST(Spraying, slow_links_are_avoided_with_few_sacks) {
  const auto duration = [&](const char* sack_bytes, const char* faults) {
    const Source source{"slow links"};
    const RunResult r = run_scenario(read_scenario(load_yaml(source, std::string(R"(
fabric: {base: cluster64, planes: 1, t0: 2, t1: 16, nic_link: {rate: 400G, delay: 500ns}}
workloads: [{kind: permutation, name: main, shift: 8, bytes: 16MB}]
limit: 20ms
seed: 2
transport: {sack_bytes: )") + sack_bytes + "}\n" + faults),
                                                   source, "."));
    EXPECT_EQ(r.summary["counters"]["qp_errors"].get<uint64_t>(), 0u);
    return r.summary["jobs"]["main"]["duration_us"].get<double>();
  };
  const char* const kSlow = "faults: [{kind: slow, where: spine_link, count: 3, rate: 100G}]\n";
  EXPECT_LT(duration("16KiB", kSlow) / duration("16KiB", ""), 1.15);
  EXPECT_LT(duration("64KiB", kSlow) / duration("64KiB", ""), 1.18);
}

// Of 128 links between T0s and T1s one is dead from the beginning, unknown to all. Lost data packets per QP, published:
// fewer than 5. Reached: 4.8; with paths left at their second loss and used until then 9.6. [MRC-EVS-4] [MRC-EVS-12]
TEST(Spraying, a_cold_start_loses_few_packets_on_a_dead_link) {
  const Source source{"cold start"};
  const RunResult r = run_scenario(read_scenario(load_yaml(source, R"(
fabric: {base: cluster64, name: planes8x16, planes: 8, t0: 4, t1: 4, nics_per_t0: 4, ev: {count: 128}}
workloads: [{kind: permutation, name: main, shift: 4, bytes: 1MB, depth: 8, until: 150us}]
faults: [{kind: down, where: spine_link, sample: 1%, at: 0us}]
limit: 4ms
)"),
                                                 source, "."));
  const auto count = [&](const char* name) { return r.summary["counters"][name].get<double>(); };
  EXPECT_EQ(r.summary["faults"]["down"]["links"], 1);
  EXPECT_LT((count("tx_data") - count("rx_data") - count("rx_trimmed")) / 16, 5);
}

// A tenth of the links is dead, and the QPs connect before the first message, or with it. Lost data packets per QP
// within the target: 15. [MRC-EVS-14] [MRC-EVS-15]
TEST(Spraying, links_that_are_dead_before_the_first_message_are_known_from_an_earlier_connection) {
  const Source source{"early connection"};
  const auto lost_per_qp = [&](const std::string& connect) {
    const RunResult r = run_scenario(read_scenario(load_yaml(source, R"(
fabric: {base: cluster64, name: planes8x16, planes: 8, t0: 4, t1: 4, nics_per_t0: 4, ev: {count: 128}}
workloads: [{kind: permutation, name: main, shift: 4, bytes: 1MB, depth: 8, start: 300us, until: 450us)" +
                                                                         connect +
                                                                         R"(}]
faults: [{kind: down, where: spine_link, sample: 10%, at: 0us}]
limit: 5ms
)"),
                                                   source, "."));
    const auto count = [&](const char* name) { return r.summary["counters"][name].get<double>(); };
    EXPECT_EQ(r.summary["faults"]["down"]["links"], 13);
    EXPECT_EQ(r.summary["qp_errors"], 0);
    return (count("tx_data") - count("rx_data") - count("rx_trimmed")) / 16;
  };
  EXPECT_LT(lost_per_qp(", connect: 0us"), 1);
  EXPECT_GT(lost_per_qp(""), 15);
}

}  // namespace
}  // namespace mrc::sim
