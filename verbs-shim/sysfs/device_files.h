// The files of one device below /sys/class/infiniband/NAME, without `device`. [VRB-SYS-1]
#pragma once

#include <infiniband/verbs.h>

#include <optional>
#include <string>
#include <vector>

namespace mrc::shim {

class DeviceFiles {
 public:
  struct Entry {
    std::string name;
    bool folder;
  };
  // Opens the software device until this object is destroyed.
  explicit DeviceFiles(const ibv_device* device);
  ~DeviceFiles();
  DeviceFiles(const DeviceFiles&) = delete;
  DeviceFiles& operator=(const DeviceFiles&) = delete;

  // Path relative to the device, for example "ports/1/gids/3": the line in it. Empty: no such file.
  std::optional<std::string> read(const std::string& file) const;
  // The entries of a folder, "" for the device's own; empty: no such folder.
  std::vector<Entry> entries(const std::string& folder) const;
  // Real path of the folder of the hardware behind it; empty if there is none.
  std::string hardware() const;

 private:
  std::optional<std::string> port_file(const std::vector<std::string>& file) const;
  std::optional<std::string> gid_file(const std::vector<std::string>& file) const;

  const ibv_device* const device_;
  ibv_context* const soft_;
};

}  // namespace mrc::shim
