// Events for NCCL's profiler plugins (from ABI version 10 on): each message is an event below NCCL's step of the proxy.
// Its data have the layout and the identifier of those of NCCL's own IB plugin, so that a profiler that knows these
// shows MRC's.
//
// While a message is under way, and at most ten times a second, its event is updated when packets have been sent again
// or when paths have failed or returned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "net_abi.h"

namespace mrc::nccl {

inline constexpr int64_t kProfilerPluginId = 1 << 16 | 1;  // NCCL_PROFILER_NET_TYPE_IB, version 1

enum ProfileType : uint8_t {
  kProfileQp = 1 << 0,  // NCCL's; start of a message
  // MRC's own, in updates:
  kProfileRetransmit = 1 << 6,
  kProfilePathChange = 1 << 7,
};

// ncclProfilerNetIbDescr_v1_t.
struct QpDescription {
  uint8_t type;
  int device;
  uint64_t wr_id;
  int opcode;  // enum ibv_wr_opcode
  int qp_num;
  size_t length;
};
static_assert(offsetof(QpDescription, wr_id) == 8 && sizeof(QpDescription) == 32);

struct PathDescription {
  uint8_t type;  // kProfileRetransmit | kProfilePathChange, whichever apply
  int qp_num;
  uint64_t retransmits;  // packets of the queue pair sent again, ever
  uint64_t timeouts;     // likewise
  uint64_t good_planes;  // bit p: plane p, from 1, has a path in state GOOD
};

// The callback belongs to the process, as NCCL's logger does. Null: as before.
void set_profiler(ncclProfilerCallback_t callback);

class NetEvent {
 public:
  // `parent`: NCCL's handle for this message; null: no event.
  void start(void* parent, const QpDescription& message);
  void update(const PathDescription& path);
  void stop();
  bool open() const { return handle_ != nullptr; }  // a profiler has asked for it

 private:
  void* handle_ = nullptr;
};

}  // namespace mrc::nccl
