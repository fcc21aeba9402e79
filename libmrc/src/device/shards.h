// Shards: the engines of this process on one device. Each is a Device with a process slot, and thereby UDP ports, of
// its own, and has its own lock, sockets, timers and helper thread; a QP belongs to one of them, which its QPN names
// [spec/architecture.md, decisions 9, 17]. Nothing on the path of a packet is shared by two shards: what all of them
// have is copied to each when it changes.
//
// Threads: any, without a device's lock held. Lock order: registry, memory, then one device at a time (at fork, and
// while a profile is changed, all in their order).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/ip.h"
#include "ctl/call.h"
#include "device/config.h"
#include "device/device.h"
#include "device/device_lock.h"
#include "mutex.h"
#include "result.h"

namespace mrc::device {

// The number that the settings ask for on a host with so many processors.
uint32_t shard_count(const DeviceConfig& config, uint32_t processors);

class Shards {
 public:
  static Result<std::shared_ptr<Shards>> start(const DeviceConfig& config);
  // At least one, of the same configuration.
  explicit Shards(std::vector<std::shared_ptr<Device>> devices);
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(devices_.size()); }
  Device& operator[](uint32_t shard) const { return *devices_[shard]; }
  // Has what exists once: datagram QPs, multicast groups, the events of ports.
  Device& first() const { return *devices_.front(); }

  // A region has the same key in every shard. When deregistering returns, no shard places into it any more.
  // Throws std::bad_alloc.
  Key register_memory(uint8_t* base, uint64_t iova, uint64_t length, uint32_t access, uint32_t pd)
      ABSL_LOCKS_EXCLUDED(device_lock, memory_mutex_);
  void deregister_memory(Key key) ABSL_LOCKS_EXCLUDED(device_lock, memory_mutex_);

  // See Device.
  void try_progress() ABSL_LOCKS_EXCLUDED(device_lock);
  uint32_t active_mtu() ABSL_LOCKS_EXCLUDED(device_lock);
  void enable_plane_here(PlaneId plane, bool enabled) ABSL_LOCKS_EXCLUDED(device_lock);
  void set_receiver_penalty(uint8_t penalty, bool restore) ABSL_LOCKS_EXCLUDED(device_lock);

  // The calls of a controller, see Device. With mrcd the first shard passes them on, and the others get them from
  // there. Else all shards have changed the profile afterwards, or none has: except that an entry of an automatic EV
  // profile is changed where the profile has that EV, and that an EV profile is not restored where memory runs out in a
  // later shard.
  [[nodiscard]] int modify_format(uint64_t id, const mrc_ctl_ev_fmt_profile_attr& attr, int mask)
      ABSL_LOCKS_EXCLUDED(device_lock);
  [[nodiscard]] int modify_ev(uint64_t id, const mrc_ctl_ev_profile_attr& attr, int mask)
      ABSL_LOCKS_EXCLUDED(device_lock);
  [[nodiscard]] int modify_cc(uint64_t id, const mrc_ctl_cc_profile_attr& attr, int mask)
      ABSL_LOCKS_EXCLUDED(device_lock);
  [[nodiscard]] int enable_plane(PlaneId plane, bool enabled) ABSL_LOCKS_EXCLUDED(device_lock);

  // Denies or allows the path of that EV in all shards but the given one, towards the process that (dgid, dest_qpn)
  // means. No effect without SRv6 paths: then no shard has an EV of another one.
  void deny_elsewhere(uint32_t shard, const IpAddress& dgid, Qpn dest_qpn, const core::EvEntry& ev, bool denied)
      ABSL_LOCKS_EXCLUDED(device_lock);

  // Of all shards together.
  std::string stats_text() ABSL_LOCKS_EXCLUDED(device_lock);
  std::string describe_json() ABSL_LOCKS_EXCLUDED(device_lock);

  // For the registry: the end of the process, and fork.
  bool running() const;
  void stop() ABSL_LOCKS_EXCLUDED(device_lock);
  void before_fork();
  void after_fork(bool child);

 private:
  friend class Place;
  class AllLocks;
  template <typename Change>  // int(DeviceProfiles*)
  int change_in_all(ctl::ProfileKind kind, uint64_t id, const Change& change) ABSL_LOCKS_EXCLUDED(device_lock);
  uint32_t take_place(uint64_t full) ABSL_LOCKS_EXCLUDED(places_mutex_);
  void give_place(uint32_t shard) ABSL_LOCKS_EXCLUDED(places_mutex_);

  const std::vector<std::shared_ptr<Device>> devices_;
  Mutex places_mutex_;
  std::vector<uint32_t> qps_ ABSL_GUARDED_BY(places_mutex_);  // of each shard
  uint32_t turn_ ABSL_GUARDED_BY(places_mutex_) = 0;          // where the search for the fewest begins
  Mutex memory_mutex_;  // registrations, one after the other; never taken on the path of a packet
};

// The place of a QP in a shard: the one with the fewest, of equals the next in turn. The turn passes on only where
// there are equals: with n shards each n QPs in a row are of all of them, and begin with another shard than the n
// before, so that of programs that make QPs of several kinds in turn not one shard gets all of a kind.
class Place {
 public:
  // `full`: shards to leave out, a bit for each; not all.
  Place(Shards& shards, uint64_t full) : shards_(shards), shard_(shards.take_place(full)) {}
  ~Place() { shards_.give_place(shard_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  uint32_t shard() const { return shard_; }

 private:
  Shards& shards_;
  const uint32_t shard_;
};

}  // namespace mrc::device
