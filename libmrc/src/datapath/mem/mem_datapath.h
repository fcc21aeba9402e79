// Two datapaths joined back to back in one process, or one with itself, without sockets, time or loss: for tests and
// examples that use the device and the engine without the kernel. One thread.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "datapath/datapath.h"
#include "datapath/mem/lent_bursts.h"

namespace mrc::datapath {

class MemDatapath final : public Datapath {
 public:
  // `depth` bursts per plane and direction fit before a plane has no room.
  static std::pair<std::unique_ptr<MemDatapath>, std::unique_ptr<MemDatapath>> make_pair(uint32_t planes,
                                                                                         uint32_t depth);
  // One that reaches itself.
  static std::unique_ptr<MemDatapath> make_loop(uint32_t planes, uint32_t depth);

  int rx_burst(Instant now, core::RxBurst* out, int max) override;
  int tx_burst(Instant now, const core::TxBurst* const* bursts, int n) override;
  PlaneSet planes_with_room() override;
  int wait_fds(int*, int) const override { return 0; }
  uint32_t max_segments() const override { return core::kMaxSegments; }
  uint32_t max_burst_bytes() const override { return core::kMaxBurstBytes; }
  const DatapathCounters& counters() override { return counters_; }
  std::string describe() const override;

 private:
  struct Lane {
    PerPlane<std::deque<OwnedBurst>> planes;
    uint32_t depth = 0;
  };

  std::shared_ptr<Lane> in_, out_;
  LentBursts lent_;
  size_t next_plane_ = 0;
  DatapathCounters counters_;
};

}  // namespace mrc::datapath
