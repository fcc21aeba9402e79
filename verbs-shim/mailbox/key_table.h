// The regions of this process on one device, by key: for the shim's own accesses on behalf of a peer
// (a SEND copied into a receive buffer, an atomic) or allows it to do (a READ, data on its way to a receive buffer).
// The writes of the transport are checked by the MRC library, not here.
//
// Any thread. Copies run under a shared lock, so they are over when remove() returns. Writes that the transport makes
// out of a region for a peer may not be: each holds a Loan, and the memory is its owner's again when all are returned.
#pragma once

#include <infiniband/verbs.h>
#include <sys/uio.h>

#include <memory>
#include <optional>
#include <unordered_map>

#include "invariant.h"
#include "mailbox/wire.h"
#include "mutex.h"

namespace mrc::shim {

// The outcome of an access of the shim. kGone: the memory of a region that allows it was unmapped, truncated or
// protected; what was accessed before remains.
struct Access {
  enum Outcome : uint8_t { kDone, kRefused, kGone };
  Outcome outcome = kDone;
  bool write = false;
  uint64_t address = 0;  // kGone: the address that could not be accessed
  uint64_t region = 0;   // and its region
  uint64_t length = 0;
  uint32_t key = 0;
};

// Held while the transport may read a region that no request of the application covers.
using Loan = std::shared_ptr<void>;

// A region that can have a landing key: one that a peer uses with the addresses of this process.
class LandingOwner {
 public:
  virtual uint32_t make_landing() = 0;  // 0: not possible; called with the lock of the table held

 protected:
  ~LandingOwner() = default;
};

class KeyTable {
 public:
  struct Region {
    uint8_t* base = nullptr;
    uint64_t iova = 0;
    uint64_t length = 0;
    unsigned access = 0;            // IBV_ACCESS_*
    const void* domain = nullptr;   // protection domain
    LandingOwner* owner = nullptr;  // null: no landing yet (own())
    uint32_t landing = 0;           // key by which a peer may write to it for one transfer; 0: not made yet
    Loan loan = nullptr;            // made by add(); copied by lend()
  };
  // Runs an access to memory that may be gone: mrc_soft_guarded_access().
  using Guard = int (*)(void (*access)(void*), void* argument, const iovec* memory, int count, void** fault);

  explicit KeyTable(Guard guard) : guard_(guard) {}

  void add(uint32_t key, const Region& region);
  // The region of `key` can have a landing from now on: its owner has all that make_landing() uses.
  void own(uint32_t key, LandingOwner* owner);
  // The region is found no more. The result expires when every loan of it is returned.
  std::weak_ptr<void> remove(uint32_t key);
  // Null: the access is not allowed.
  Loan lend(uint32_t key, uint64_t addr, uint64_t length, unsigned access, const void* domain) const;
  bool allowed(uint32_t key, uint64_t addr, uint64_t length, unsigned access, const void* domain) const;
  // Scatters `length` bytes over the SGEs, which must be locally writable. If one is not, no more is written.
  Access scatter(const ibv_sge* sges, int count, const uint8_t* from, uint64_t length, const void* domain) const;
  // Copies the bytes of the SGEs, which need no key, to `to`. False: one cannot be read.
  bool gather(const ibv_sge* sges, int count, uint8_t* to) const;
  // The destination for a peer's data of this SGE. None: it is not locally writable, or has no owner yet.
  std::optional<Segment> landing(const ibv_sge& sge, const void* domain);
  // Destinations that landing() gave are still what they were: their regions exist, and their memory can be written.
  bool can_land(const Segment* segments, uint32_t count) const;
  // A fetch-add or compare-swap of eight bytes, atomic towards everything that uses the processor's atomics. `addr` is
  // a multiple of 8.
  Access atomic(uint32_t key, uint64_t addr, const void* domain, const Request& request, uint64_t* before) const;

 private:
  const Region* find(uint32_t key, uint64_t addr, uint64_t length, unsigned access, const void* domain) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  template <typename Body>
  std::optional<uint64_t> guarded(void* memory, uint64_t length, const Body& body) const;
  static Access gone(uint32_t key, const Region& region, uint64_t address);

  const Guard guard_;
  mutable SharedMutex mutex_;
  std::unordered_map<uint32_t, Region> regions_ ABSL_GUARDED_BY(mutex_);
  mutable InvariantPace pace_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mrc::shim
