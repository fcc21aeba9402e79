// WriteList: RDMA writes that are posted together on one lane, each with a completion. A list that is posted must not
// be moved: its requests refer to each other and to their parts.
#pragma once

#include <cstdint>

#include "invariant.h"
#include "protocol.h"
#include "provider.h"

namespace mrc::nccl {

class WriteList {
 public:
  static constexpr uint32_t kMax = kLargestMessage / kLargestWrite + 2;  // of one message and the end of its row

  WriteList() {}  // "= default" would let {} clear 9 KiB
  WriteList(const WriteList&) = delete;
  WriteList& operator=(const WriteList&) = delete;

  // A write of `from` to `to`; without data if its length is 0.
  void add(uint64_t wr_id, const ibv_sge& from, uint64_t to, uint32_t rkey) {
    MRC_INVARIANT(size_ < kMax);
    parts_[size_] = from;
    ibv_send_wr& wr = list_[size_];
    wr = {};
    wr.wr_id = wr_id;
    wr.sg_list = &parts_[size_];
    wr.num_sge = from.length == 0 ? 0 : 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = to;
    wr.wr.rdma.rkey = rkey;
    if (size_ > 0) list_[size_ - 1].next = &wr;
    ++size_;
  }
  // The last write, which there must be, carries an immediate, too.
  void end_with(uint32_t imm) {
    list_[size_ - 1].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    list_[size_ - 1].imm_data = imm;
  }

  uint32_t size() const { return size_; }
  ibv_send_wr* first() { return list_; }

 private:
  ibv_send_wr list_[kMax];
  ibv_sge parts_[kMax];
  uint32_t size_ = 0;
};

}  // namespace mrc::nccl
