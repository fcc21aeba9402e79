// The symbols by which NCCL finds the TCP plugin.
#include "versions.h"

#define MRC_EXPORT(v)                                                          \
  __attribute__((visibility("default"))) ncclNet_v##v##_t ncclNetPlugin_v##v = \
      mrc::tcp_net::make_table<v, ncclNet_v##v##_t, ncclNetProperties_v##v##_t>();

extern "C" {
MRC_EXPORT(6)
MRC_EXPORT(7)
MRC_EXPORT(8)
MRC_EXPORT(9)
MRC_EXPORT(10)
MRC_EXPORT(11)
MRC_EXPORT(12)
}
