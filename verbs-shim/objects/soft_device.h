// SoftDevice: the software device and the context of MRC behind one device that the application has opened.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <optional>

#include "provider/provider.h"

namespace mrc::shim {

class SoftDevice {
 public:
  // Takes over `soft`, which is open.
  SoftDevice(const Provider& api, ibv_context* soft) : api_(api), soft_(soft) {}
  ~SoftDevice();
  SoftDevice(const SoftDevice&) = delete;
  SoftDevice& operator=(const SoftDevice&) = delete;
  [[nodiscard]] bool create_context();  // false and errno

  const Provider& api() const { return api_; }
  ibv_context* soft() const { return soft_; }
  mrc_context* mrc() const { return mrc_; }

  // An event of MRC's, which is acknowledged. `qpn`: of the queue pair, if it is about one.
  struct Event {
    ibv_event_type type = IBV_EVENT_DEVICE_FATAL;
    std::optional<uint32_t> qpn;
  };
  std::optional<Event> take_event();

  // All planes are one port to verbs, which is up while one of them is. [VRB-DEV-1]
  bool port_active() const;
  // After an event of a port: the state of the one port, if it is another than before. At first it was up.
  std::optional<bool> port_change();

 private:
  const Provider& api_;
  ibv_context* const soft_;
  mrc_context* mrc_ = nullptr;
  std::atomic<bool> port_was_active_{true};
};

}  // namespace mrc::shim
