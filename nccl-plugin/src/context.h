// Process: state shared by all communicators. Context: parameters of one communicator and its connections.
//
// Up to ABI version 10 NCCL initialises a network once per process and never ends it; from version 11 on there is one
// init and one finalize per communicator. Both are supported by counting: devices are opened by the first init and
// closed by the last finalize. They stay open if there is no finalize, and if devices have been joined: NCCL remembers
// the numbers of virtual devices for its next communicator, and does not join them again.
//
// Threads: the functions of Process may be called from any thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>

#include "device.h"
#include "gpu_memory.h"
#include "mutex.h"
#include "net_abi.h"
#include "provider.h"
#include "settings.h"

namespace mrc::nccl {

struct Process {
  const provider::Provider api;
  Settings settings;
  Devices devices;
  std::unique_ptr<Gdr> gdr;    // GPU memory is registered through it
  bool maps_dma_bufs = false;  // or through these

  Process(const provider::Provider& provider, const Settings& given)
      : api(provider), settings(given), devices(api, settings) {}

  // Counts a user; null when no device is usable: the reason is in the log.
  static std::shared_ptr<Process> acquire();
  static void release();
  // The one that is in use, or null before init.
  static std::shared_ptr<Process> current();
};

class Attempt;  // connect.h

// Connections that are being made, by number. Numbers begin at 1 and are not used twice.
class Attempts {
 public:
  // Also discards attempts without a call for a long time: NCCL makes no further call when it gives up during set-up.
  uint64_t add(std::shared_ptr<Attempt> attempt) ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<Attempt> find(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);  // null: unknown
  void remove(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  void clear() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::shared_ptr<Attempt>> attempts_ ABSL_GUARDED_BY(mutex_);
};

class Listener;  // listen.h

// Listeners that NCCL has not closed.
class Listeners {
 public:
  void add(Listener* listener) ABSL_LOCKS_EXCLUDED(mutex_);
  void remove(Listener* listener) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends those that are left: NCCL closes its connections when it aborts an init, but not its listeners.
  void end_all() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  std::set<Listener*> listeners_ ABSL_GUARDED_BY(mutex_);
};

struct Context {
  std::shared_ptr<Process> process;
  std::atomic<int> traffic_class{NCCL_NET_TRAFFIC_CLASS_UNDEF};
  // Expectations from setNetAttr; 0: not set.
  std::atomic<int> send_peers{0};
  std::atomic<int> recv_peers{0};
  std::atomic<int> send_flows{0};  // per peer
  std::atomic<int> recv_flows{0};
  Attempts attempts;    // cleared when the communicator ends: each of them refers to the context
  Listeners listeners;  // likewise
};

// Traffic class of a connection, chosen by its sender: that of the connect call, else of the communicator, else the
// setting.
inline int traffic_class_of(const Context& context, int of_call) {
  if (of_call != NCCL_NET_TRAFFIC_CLASS_UNDEF) return of_call;
  const int of_communicator = context.traffic_class.load();
  return of_communicator != NCCL_NET_TRAFFIC_CLASS_UNDEF ? of_communicator
                                                         : static_cast<int>(context.process->settings.traffic_class);
}

}  // namespace mrc::nccl
