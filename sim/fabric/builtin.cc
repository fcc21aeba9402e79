// Fabrics that need no file. Each is the text of a fabric file, so that `mrc-sim list --fabric NAME` prints something
// to start from. reference64 is the leaf-spine network of the reference simulator's cases [spec/nscc.md, section 6.1]:
// frame of 4150 bytes for 4084 of payload, ECN on the last hop too, one trim threshold, headers trimmed to 64 bytes.
#include "sim/fabric/fabric.h"

namespace mrc::sim {

namespace {

constexpr const char* kTIny = R"(name: tiny
planes: 2
t0: 2
t1: 2
nics_per_t0: 4
nic_link: {rate: 100G, delay: 500ns}
switch: {latency: 300ns}
ev: {count: 16}
)";

constexpr const char* kREference64 = R"(name: reference64
planes: 1
t0: 8
t1: 8
nics_per_t0: 8
nic_link: {rate: 100G, delay: 1us}
overhead: 26
mtu: 4084
switch:
  forwarding: ecmp
  trim_bytes: 64
  trim_victim: random
  queue: 120350
  queue_last_hop: 120350
  ecn_min: 24900
  ecn_max: 99600
  ecn_last_hop: true
  trimmed_queue: 2bdp
  trimmed_share: 1
  control_queue: 2bdp
ev: {count: 64}
)";

constexpr const char* kREference64400g = R"(name: reference64_400g
planes: 1
t0: 8
t1: 8
nics_per_t0: 8
nic_link: {rate: 400G, delay: 1us}
overhead: 26
mtu: 4084
switch:
  forwarding: ecmp
  trim_bytes: 64
  trim_victim: random
  queue: 419150
  queue_last_hop: 419150
  ecn_min: 87150
  ecn_max: 336150
  ecn_last_hop: true
  trimmed_queue: 2bdp
  trimmed_share: 1
  control_queue: 2bdp
ev: {count: 64}
)";

constexpr const char* kREference64800g = R"(name: reference64_800g
planes: 1
t0: 8
t1: 8
nics_per_t0: 8
nic_link: {rate: 800G, delay: 1us}
overhead: 26
mtu: 4084
switch:
  forwarding: ecmp
  trim_bytes: 64
  trim_victim: random
  queue: 817550
  queue_last_hop: 817550
  ecn_min: 166000
  ecn_max: 655700
  ecn_last_hop: true
  trimmed_queue: 2bdp
  trimmed_share: 1
  control_queue: 2bdp
ev: {count: 64}
)";

constexpr const char* kPLanes4x512 = R"(name: planes4x512
planes: 4
t0: 16
t1: 32
nics_per_t0: 32
nic_link: {rate: 100G, delay: 500ns}
switch: {latency: 300ns}
ev: {count: 128}
)";

constexpr const char* kPLanes8x512 = R"(name: planes8x512
planes: 8
t0: 16
t1: 32
nics_per_t0: 32
nic_link: {rate: 100G, delay: 500ns}
switch: {latency: 300ns}
ev: {count: 256}
)";

constexpr const char* kPLanes8x1024 = R"(name: planes8x1024
planes: 8
t0: 32
t1: 32
nics_per_t0: 32
nic_link: {rate: 100G, delay: 500ns}
switch: {latency: 300ns}
ev: {count: 256}
)";

constexpr const char* kCLuster64 = R"(name: cluster64
planes: 4
t0: 8
t1: 8
nics_per_t0: 8
nic_link: {rate: 100G, delay: 500ns}
switch: {latency: 300ns}
ev: {count: 128}
)";

constexpr const char* kFUll131072 = R"(name: full131072
planes: 8
t0: 512
t1: 256
nics_per_t0: 256
nic_link: {rate: 100G, delay: 500ns}
switch: {latency: 300ns}
ev: {count: 256}
)";

}  // namespace

const std::vector<Builtin>& builtin_fabrics() {
  static const std::vector<Builtin> all = {
      {"tiny", "2 planes x 100G, 2 T0, 2 T1, 8 NICs", kTIny},
      {"reference64", "1 plane x 100G, 8 T0, 8 T1, 64 NICs: the leaves, spines and hosts of the reference simulator",
       kREference64},
      {"reference64_400g", "1 plane x 400G, 8 T0, 8 T1, 64 NICs: the same at 400G", kREference64400g},
      {"reference64_800g", "1 plane x 800G, 8 T0, 8 T1, 64 NICs: the same at 800G", kREference64800g},
      {"planes4x512", "4 planes x 100G, 16 T0, 32 T1, 512 NICs", kPLanes4x512},
      {"planes8x512", "8 planes x 100G, 16 T0, 32 T1, 512 NICs", kPLanes8x512},
      {"planes8x1024", "8 planes x 100G, 32 T0, 32 T1, 1,024 NICs", kPLanes8x1024},
      {"cluster64", "4 planes x 100G, 8 T0, 8 T1, 64 NICs: the shape of a 64-GPU test bed", kCLuster64},
      {"full131072", "8 planes x 100G, 512 T0, 256 T1, 131,072 NICs: planned and checked, not simulated by packet",
       kFUll131072},
  };
  return all;
}

}  // namespace mrc::sim
