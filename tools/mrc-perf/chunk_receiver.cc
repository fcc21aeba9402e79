#include "chunk_receiver.h"

#include <algorithm>
#include <cstring>

#include "error.h"

namespace mrc::perf {

namespace {

bool receives(const TransferSetup& s) {
  return !s.client || s.options.bidirectional;
}

}  // namespace

ChunkReceiver::ChunkReceiver(const TransferSetup& setup)
    : s_(setup),
      counts_(receives(setup) && (setup.options.op == Op::kWriteImm || setup.options.verify)),
      lanes_(setup.options.qps),
      wrs_(setup.plan.depth + setup.plan.window) {}

void ChunkReceiver::post_first() {
  if (!counts_) return;
  for (uint32_t qp = 0; qp < s_.options.qps; ++qp) {
    post(qp, s_.options.op == Op::kWriteImm ? s_.plan.depth + s_.plan.window : 2 * s_.plan.window);
  }
}

void ChunkReceiver::post(uint32_t qp, uint32_t count) {
  count = std::min<uint32_t>(count, static_cast<uint32_t>(wrs_.size()));
  for (uint32_t i = 0; i < count; ++i) {
    wrs_[i] = {};
    wrs_[i].wr_id = kReceive | qp;
    wrs_[i].next = i + 1 < count ? &wrs_[i + 1] : nullptr;
  }
  ibv_recv_wr* bad = nullptr;
  if (int rc = mrc_post_recv(s_.connection.qps()[qp], wrs_.data(), &bad); rc != 0)
    throw PerfError(std::string("mrc_post_recv: ") + std::strerror(rc), "use a smaller --depth");
}

void ChunkReceiver::credit_completed(uint32_t qp) {
  --credits_in_flight_;
  --lanes_[qp].credits_in_flight;
  if (lanes_[qp].credit_pending) give_credit(qp);
}

void ChunkReceiver::received(uint32_t qp, uint32_t imm) {
  Lane& lane = lanes_[qp];
  const bool each = s_.options.op == Op::kWriteImm;
  const uint64_t expected = each ? lane.messages : lane.chunks;
  if (imm != static_cast<uint32_t>(expected)) {
    arrivals_.note_mismatch("immediate " + std::to_string(imm) + " instead of " + std::to_string(expected) +
                            " on queue pair " + std::to_string(qp));
  }
  if (++lane.slack >= std::max(1U, s_.plan.window)) {
    post(qp, lane.slack);
    lane.slack = 0;
  }
  if (each) {
    ++lane.messages;
    ++arrivals_.received;
    if (lane.messages % s_.plan.chunk == 0) chunk_arrived(qp);
  } else {
    lane.messages += s_.plan.chunk;
    arrivals_.received += s_.plan.chunk;
    chunk_arrived(qp);
  }
}

void ChunkReceiver::chunk_arrived(uint32_t qp) {
  Lane& lane = lanes_[qp];
  const uint64_t first = lane.chunks++ * s_.plan.chunk;
  if (!s_.options.verify) return;
  for (uint64_t m = first; m < first + s_.plan.chunk; ++m) verify_message(qp, m);
  give_credit(qp);
}

// The newest count replaces all older ones, so one that cannot be posted now is sent with the next completion.
void ChunkReceiver::give_credit(uint32_t qp) {
  Lane& lane = lanes_[qp];
  lane.credit_pending = lane.credits_in_flight >= s_.plan.window;
  if (lane.credit_pending) return;
  ++lane.credits_in_flight;
  uint64_t credit = lane.chunks;
  ibv_sge sge{reinterpret_cast<uint64_t>(&credit), sizeof credit, 0};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = kCredit | qp;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = s_.connection.remote_addr() + s_.plan.credits_at + uint64_t{qp} * 8;
  wr.wr.rdma.rkey = s_.connection.rkey();
  if (int rc = mrc_post_send(s_.connection.qps()[qp], &wr, &bad); rc != 0)
    throw PerfError(std::string("mrc_post_send of a credit: ") + std::strerror(rc),
                    "this is a defect of mrc-perf or the library");
  ++credits_in_flight_;
}

void ChunkReceiver::verify_message(uint32_t qp, uint64_t message) {
  const uint32_t peer = s_.client ? 1 : 0;
  const uint8_t* data = s_.buffer.data() + s_.plan.slot_offset(qp, message);
  const int64_t at = s_.pattern.first_mismatch(data, s_.plan.size, s_.pattern.offset(peer, qp, message));
  ++arrivals_.checked;
  if (at < 0) return;
  arrivals_.note_mismatch("message " + std::to_string(message) + " of queue pair " + std::to_string(qp) +
                          " differs from byte " + std::to_string(at) + " on");
}

}  // namespace mrc::perf
