// A profiler plugin of NCCL (interface 4) that counts the events of the net plugin and checks their data. It prints a
// line as its communicator ends. Facts of the interface: the debugging information of libnccl.so.2 2.28.9.
#include <net_abi.h>

#include <atomic>
#include <cstdio>

#include "profile.h"

namespace {

using mrc::nccl::PathDescription;
using mrc::nccl::QpDescription;

struct Descriptor {  // ncclProfilerEventDescr_v4_t
  uint8_t type;
  void* parent;
  int rank;
  union {
    struct {
      int64_t id;
      void* data;
    } net_plugin;
    char other[80];
  };
};
static_assert(sizeof(Descriptor) == 104);

union StateArguments {
  struct {
    void* data;
  } net_plugin;
};

// ncclProfileNetPlugin, and what its events lie below: operations, and the steps of the proxy.
constexpr int kNetPlugin = 1 << 7, kAsked = 0x1f | kNetPlugin;
constexpr int kNetPluginUpdate = 21;

struct Counts {
  std::atomic<long> started{0}, stopped{0}, bad{0}, bytes{0}, retransmits{0}, path_changes{0};
} counts;
char net_event, other_event;  // handles: only their addresses count

ncclResult_t on_init(void** context, int* activation, const char*, uint64_t, int, int, int, ncclDebugLogger_t) {
  *context = &counts;
  *activation = kAsked;
  return ncclSuccess;
}

ncclResult_t on_start(void*, void** handle, Descriptor* event) {
  *handle = &other_event;
  if (event->type != kNetPlugin) return ncclSuccess;
  *handle = &net_event;
  const auto* const data = static_cast<const QpDescription*>(event->net_plugin.data);
  const bool good = event->net_plugin.id == mrc::nccl::kProfilerPluginId && data->type == mrc::nccl::kProfileQp &&
                    data->device >= 0 && data->qp_num > 0 && event->parent == &other_event;
  if (!good) ++counts.bad;
  counts.bytes += static_cast<long>(data->length);
  ++counts.started;
  return ncclSuccess;
}

ncclResult_t on_stop(void* handle) {
  if (handle == &net_event) ++counts.stopped;
  return ncclSuccess;
}

ncclResult_t on_record(void* handle, int state, StateArguments* arguments) {
  if (handle != &net_event || state != kNetPluginUpdate) return ncclSuccess;
  const auto* const path = static_cast<const PathDescription*>(arguments->net_plugin.data);
  if (path->qp_num <= 0) ++counts.bad;
  if ((path->type & mrc::nccl::kProfileRetransmit) != 0) ++counts.retransmits;
  if ((path->type & mrc::nccl::kProfilePathChange) != 0) ++counts.path_changes;
  return ncclSuccess;
}

ncclResult_t on_finalize(void*) {
  fprintf(stderr,
          "# profiler: %ld events, %ld stopped, %ld bad, %ld bytes, %ld updates by retransmission, %ld by paths\n",
          counts.started.load(), counts.stopped.load(), counts.bad.load(), counts.bytes.load(),
          counts.retransmits.load(), counts.path_changes.load());
  return ncclSuccess;
}

struct Profiler {  // ncclProfiler_v4_t
  const char* name;
  decltype(&on_init) init;
  decltype(&on_start) start;
  decltype(&on_stop) stop;
  decltype(&on_record) record;
  decltype(&on_finalize) finalize;
};

}  // namespace

extern "C" __attribute__((visibility("default")))
const Profiler ncclProfiler_v4 = {"MRC-test", on_init, on_start, on_stop, on_record, on_finalize};
