// Devices: the MRC devices of this host in NCCL's numbering, opened once per process and shared by all communicators.
//
// NCCL numbers virtual devices: first one for every MRC device, then those that makeVDevice joined. An MRC device spans
// all its planes, so joining is for hosts with several MRC devices only.
//
// Threads: made under the plugin's lock, constant afterwards but for make_virtual, which the plugin serialises and
// without blocking others: virtual devices are never moved or removed, and are counted when they are complete.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "mutex.h"
#include "net_abi.h"
#include "provider.h"
#include "result.h"
#include "settings.h"

namespace mrc::nccl {

inline constexpr int kMaxMembers = 8;  // devices joined in a virtual one, as in ncclNetVDeviceProps_t

struct Device {
  ibv_context* verbs = nullptr;
  mrc_context* mrc = nullptr;
  ibv_pd* pd = nullptr;  // one for all connections: a registration is valid for each of them (regIsGlobal)
  std::string name;
  std::string pci_path;  // empty: none of its interfaces has one
  ibv_gid gid{};
  uint8_t gid_index = 0;
  uint8_t mtu = IBV_MTU_1024;  // enum ibv_mtu
  uint64_t guid = 0;
  int speed_mbps = 0;  // all planes together
  double latency_us = 0;
  int max_qps = 0;
  std::vector<std::string> planes_out;  // a sentence for each plane that is out of use from the start
};

// Properties of a software device beyond verbs, from its description as JSON: rate, round trip and interfaces of
// its planes. Missing fields stay unchanged.
void read_description(const std::string& text, Device* device);

// Path in sysfs of the PCI function of a network interface or RDMA device, as NCCL requires it; empty: it has none.
// `folder` is the class that names it: /sys/class/net, /sys/class/infiniband.
std::string pci_path_of(const std::string& folder, const std::string& name);

struct VirtualDevice {
  std::string name;
  std::vector<int> members;  // indices of devices
};

class Devices {
 public:
  Devices(const provider::Provider& provider, const Settings& settings) : api_(provider), settings_(settings) {}
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  // Opens every device that passes the filter; an error if there is none.
  Status open();

  int count() const { return count_.load(std::memory_order_acquire); }
  bool valid(int number) const { return number >= 0 && number < count(); }
  const VirtualDevice& virtual_device(int number) const { return virtual_[number]; }
  const Device& device(int index) const { return *devices_[index]; }
  // Member m of a virtual device.
  const Device& member(int number, int m) const { return *devices_[virtual_[number].members[m]]; }
  bool have_pci_paths(const std::vector<int>& numbers) const;
  bool joined() const { return count() > static_cast<int>(devices_.size()); }  // some have been
  // Joins virtual devices that represent one device each. -1: not possible.
  int make_virtual(const std::vector<int>& numbers) ABSL_LOCKS_EXCLUDED(adding_);

 private:
  Status open_one(ibv_device* found);
  bool find_gid(Device* device) const;
  void describe(Device* device) const;
  void close(Device* device);

  const provider::Provider& api_;
  const Settings& settings_;
  std::vector<std::unique_ptr<Device>> devices_;
  static constexpr int kMaxVirtual = 1024;
  int add_virtual(VirtualDevice made) ABSL_LOCKS_EXCLUDED(adding_);  // -1: too many
  Mutex adding_;
  std::vector<VirtualDevice> virtual_{kMaxVirtual};  // the first count_ of these are valid and constant
  std::atomic<int> count_{0};
};

}  // namespace mrc::nccl
