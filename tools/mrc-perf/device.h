// The opened device with its protection domain, completion queue and memory: everything both sides need before QPs
// exist.
#pragma once

#include <mrc.h>
#include <mrc_soft.h>

#include <cstdint>
#include <string>

#include "options.h"

namespace mrc::perf {

class Device {
 public:
  explicit Device(const Options& o);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  ibv_context* verbs() const { return verbs_; }
  mrc_context* mrc() const { return mrc_; }
  ibv_pd* pd() const { return pd_; }
  const ibv_gid& gid() const { return gid_; }
  int gid_index() const { return gid_index_; }
  uint32_t active_mtu() const { return active_mtu_; }  // bytes
  const std::string& name() const { return name_; }

 private:
  void find_gid(int wanted);

  ibv_context* verbs_ = nullptr;
  mrc_context* mrc_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_gid gid_{};
  int gid_index_ = 0;
  uint32_t active_mtu_ = 0;
  std::string name_;
};

// Page-aligned zeroed memory, registered for local and remote writing.
class Memory {
 public:
  Memory(const Device& device, uint64_t size);                 // own pages
  Memory(const Device& device, uint8_t* data, uint64_t size);  // the caller's
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  uint8_t* data() const { return data_; }
  const ibv_mr& mr() const { return *mr_; }

 private:
  void register_with(const Device& device);

  uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
  bool own_ = false;
  ibv_mr* mr_ = nullptr;
};

}  // namespace mrc::perf
