#include "chunk_sender.h"

#include <cstring>
#include <string>

#include "error.h"

namespace mrc::perf {

ChunkSender::ChunkSender(const TransferSetup& setup)
    : s_(setup), schedule_(setup.options, setup.plan), wrs_(setup.plan.chunk + 1), sges_(setup.plan.chunk) {}

bool ChunkSender::has_credit(uint32_t qp) const {
  if (!s_.options.verify) return true;
  // Written by the peer at any time, so read like a flag of another thread.
  const auto* credits = reinterpret_cast<const uint64_t*>(s_.buffer.data() + s_.plan.credits_at);
  return schedule_.posted(qp) < __atomic_load_n(&credits[qp], __ATOMIC_ACQUIRE) + s_.plan.window;
}

bool ChunkSender::post_round() {
  return schedule_.round([this](uint32_t qp) { return has_credit(qp); }, [this](uint32_t qp) { post_chunk(qp); });
}

void ChunkSender::completed(uint32_t qp) {
  schedule_.note_completed(qp);
  sent_ += s_.plan.chunk;
}

void ChunkSender::post_chunk(uint32_t qp) {
  const Plan& p = s_.plan;
  const Options& o = s_.options;
  const uint64_t posted = schedule_.posted(qp);
  const uint64_t first = posted * p.chunk;
  const bool notice = o.verify && o.op == Op::kWrite;
  const unsigned inline_flag =
      p.size <= static_cast<uint64_t>(o.inline_bytes) && p.size <= s_.connection.max_inline() ? IBV_SEND_INLINE : 0;
  const uint32_t me = s_.client ? 0 : 1;
  for (uint32_t i = 0; i < p.chunk; ++i) {
    const uint64_t message = first + i;
    const uint64_t offset = o.verify ? s_.pattern.offset(me, qp, message) : 0;
    sges_[i] = {reinterpret_cast<uint64_t>(s_.source.data()) + offset, static_cast<uint32_t>(p.size),
                s_.source.mr().lkey};
    ibv_send_wr& wr = wrs_[i];
    wr = {};
    wr.wr_id = kChunk | qp;
    wr.next = &wrs_[i + 1];
    wr.sg_list = &sges_[i];
    wr.num_sge = p.size == 0 ? 0 : 1;
    wr.opcode = o.op == Op::kWrite ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.send_flags = inline_flag;
    wr.imm_data = static_cast<uint32_t>(message);
    wr.wr.rdma.remote_addr = s_.connection.remote_addr() + p.slot_offset(qp, message);
    wr.wr.rdma.rkey = s_.connection.rkey();
  }
  ibv_send_wr* last = &wrs_[p.chunk - 1];
  if (notice) {
    last = &wrs_[p.chunk];
    *last = {};
    last->wr_id = kChunk | qp;
    last->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    last->imm_data = static_cast<uint32_t>(posted);
    last->wr.rdma.remote_addr = s_.connection.remote_addr();
    last->wr.rdma.rkey = s_.connection.rkey();
  }
  last->next = nullptr;
  last->send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  if (int rc = mrc_post_send(s_.connection.qps()[qp], wrs_.data(), &bad); rc != 0)
    throw PerfError(std::string("mrc_post_send: ") + std::strerror(rc), "use a smaller --depth");
}

}  // namespace mrc::perf
