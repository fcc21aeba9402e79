// Devices: mrcd's devices and their state in its file. A device comes from the configuration, or is made for processes
// that use one which the configuration does not name. Not thread-safe; no sockets, no clock. [MRC-MRCD-4] [MRC-MRCD-7]
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ctl/messages.h"
#include "invariant.h"
#include "shared_device.h"

namespace mrc::mrcd {

class Devices {
 public:
  // Of the names of devices and modes that a process sends, in bytes.
  static constexpr size_t kMaxName = 64;

  struct Context {
    std::function<bool(const SharedDevice*)> is_open;      // a process has it open
    std::function<void(const std::string& name)> dropped;  // that device was made for processes, and is gone
    std::function<void()> changed;                         // state that is kept in the file has changed
  };
  explicit Devices(Context context) : context_(std::move(context)) {}

  // A device of the configuration, with its state of the file.
  void add(std::unique_ptr<SharedDevice> device);
  // Null: there is none of that name. An empty name means the first device. Valid until the device is dropped.
  SharedDevice* find(const std::string& name) const;
  // A device for a process, with its state of the file. Null: its shape is impossible, or there are too many that are
  // in use or configured.
  SharedDevice* make(const ctl::Registration& registration);
  // Drops a device that was made for processes when none has it open and nothing is configured on it.
  void drop_if_unused(SharedDevice* device);
  const std::map<std::string, std::unique_ptr<SharedDevice>>& by_name() const { return devices_; }
  const std::vector<std::string>& names() const { return order_; }  // in the order in which the devices came

  // The state of this device has changed: from now on the file has it.
  void changed(const SharedDevice* device);
  nlohmann::json file_state() const;
  // False: that is no state of file_state(), and nothing is restored.
  [[nodiscard]] bool restore(const nlohmann::json& state);
  void check() const;

 private:
  static constexpr size_t kMaxMade = 16;

  void restore_kept(SharedDevice* device);

  const Context context_;
  std::vector<std::string> order_;
  std::map<std::string, std::unique_ptr<SharedDevice>> devices_;
  std::set<std::string> made_;  // of them: those that the configuration does not name
  // Of the file: devices not used yet, or only with another shape.
  std::map<std::string, ctl::DeviceState> kept_;
  mutable InvariantPace pace_;
};

}  // namespace mrc::mrcd
