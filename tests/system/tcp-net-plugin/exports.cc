// The symbols by which NCCL finds the TCP plugin.
#include "versions.h"

#define MRC_EXPORT(v)                                                          \
  __attribute__((visibility("default"))) ncclNet_v##v##_t ncclNetPlugin_v##v = \
      mrc::tcp_net::make_table<v, ncclNet_v##v##_t, ncclNetProperties_v##v##_t>();

extern "C" {
MRC_NET_VERSIONS(MRC_EXPORT)
}
