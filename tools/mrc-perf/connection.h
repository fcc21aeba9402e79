// The queue pairs of a run and the exchange that connects them: GID, QPN, PSN, key and address of each side over TCP.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device.h"
#include "oob.h"
#include "options.h"

namespace mrc::perf {

// Parameters of the run of one size: queue sizes and buffer layout, the same on both sides.
struct Plan {
  uint64_t size = 0;
  uint32_t depth = 1;    // messages in flight per QP
  uint32_t chunk = 1;    // messages posted at once, the last one signalled
  uint32_t window = 1;   // chunks in flight per QP
  uint64_t slots = 1;    // receive slots per QP
  uint64_t regions = 1;  // QPs with receive slots of their own; QP q uses region q % regions
  uint64_t slot_bytes = 1;
  uint64_t credits_at = 0;  // offset of the words in which the receiver counts verified chunks, one per QP
  uint64_t buffer_bytes = 0;
  uint64_t slot_offset(uint32_t qp, uint64_t message) const {
    return ((qp % regions) * slots + message % slots) * slot_bytes;
  }
};
Plan make_plan(const Options& o, uint64_t size);

// Throws PerfError where receive buffers of that size would take the host's memory.
void check_receive_bytes(uint64_t bytes);

// A GID in a message: 32 digits. Throws PerfError for a text that is none.
std::string hex_of_gid(const ibv_gid& gid);
ibv_gid gid_from_hex(const std::string& text);

class Connection {
 public:
  // Makes the completion queue. Then create_qp() for each queue pair, and connect().
  Connection(const Options& o, const Device& device, const Plan& plan);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void create_qp();
  void connect(const Memory& buffer, Oob& oob);

  const std::vector<mrc_qp*>& qps() const { return qps_; }
  mrc_cq* cq() const { return cq_; }
  uint64_t remote_addr() const { return remote_addr_; }
  uint32_t rkey() const { return rkey_; }
  uint32_t max_inline() const { return max_inline_; }
  uint32_t mtu() const { return mtu_; }  // path MTU, bytes

 private:
  void connect_qp(mrc_qp* qp, const ibv_gid& dgid, uint32_t dest_qpn, uint32_t sq_psn, uint32_t rq_psn);

  const Options& o_;
  const Device& device_;
  const uint32_t sends_, receives_;  // of each queue pair
  mrc_cq* cq_ = nullptr;
  std::vector<mrc_qp*> qps_;
  uint64_t remote_addr_ = 0;
  uint32_t rkey_ = 0;
  uint32_t max_inline_ = 0;
  uint32_t mtu_ = 0;
};

}  // namespace mrc::perf
