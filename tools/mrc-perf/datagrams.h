// The datagram queue pairs of a run (--transport ud): queue pairs, receive slots, and the exchange of GID and QPNs over
// TCP. Every queue pair sends to the peer's one of the same number.
#pragma once

#include <cstdint>
#include <vector>

#include "connection.h"
#include "datagram_slots.h"
#include "device.h"
#include "oob.h"
#include "options.h"

namespace mrc::perf {

// Once the device is open: the default size, which is the largest. Throws UsageError for a larger one.
void fit_datagrams(Options* o, uint32_t mtu);

class Datagrams {
 public:
  struct Arrived {
    uint32_t qp = 0;
    const uint8_t* data = nullptr;
    uint64_t bytes = 0;
  };

  Datagrams(const Options& o, const Device& device, const Plan& plan);
  ~Datagrams();
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;

  void create_qps();
  // Throws UsageError when the largest size of the test does not fit into a datagram.
  void connect(Oob& oob);
  void post_receives();

  mrc_cq* cq() const { return cq_; }
  uint32_t mtu() const { return mtu_; }  // path MTU, bytes
  // A request with a number of 56 bits, for the peer's queue pair; its data and flags are left to the caller.
  ibv_send_wr request(uint32_t qp, uint64_t number) const;
  // Sent inline where the test wants that.
  unsigned inline_flag(uint64_t size) const;
  void post(uint32_t qp, ibv_send_wr* list);

  static bool is_receive(const ibv_wc& wc);
  static uint64_t number(const ibv_wc& wc);  // of a request
  Arrived arrived(const ibv_wc& wc) const;
  // The data is no longer needed: the slot is posted again, at the latest by post_recycled().
  void recycle(const ibv_wc& wc);
  void post_recycled();

 private:
  void create_qp();
  void move_to_rts(mrc_soft_ud_qp* qp);

  const Options& o_;
  const Device& device_;
  const uint32_t sends_;  // of each queue pair
  DatagramSlots slots_;
  mrc_cq* cq_ = nullptr;
  std::vector<mrc_soft_ud_qp*> qps_;
  std::vector<uint32_t> peer_qpns_;
  ibv_ah* peer_ = nullptr;
  uint32_t max_inline_ = 0;
  uint32_t mtu_ = 0;
};

}  // namespace mrc::perf
