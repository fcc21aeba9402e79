#include "core/datagram_send_queue.h"

#include <algorithm>

namespace mrc::core {

void DatagramSendQueue::grow() {
  std::vector<Destination> larger(std::max<size_t>(16, 2 * destinations_.size()));
  requests_.for_each(
      [&](const Wqe& w) { larger[w.first_seq & (larger.size() - 1)] = destinations_[index(w.first_seq)]; });
  destinations_.swap(larger);
}

PostResult DatagramSendQueue::post(const DatagramWr& wr, uint32_t mtu) {
  uint64_t length = 0;
  for (uint32_t i = 0; i < wr.num_sge; ++i) length += wr.sges[i].length;
  if (length > mtu) return PostResult::kTooLong;
  if (requests_.size() == destinations_.size()) grow();
  SendWr request;
  request.wr_id = wr.wr_id;
  request.op = wr.with_imm ? SendOp::kWriteImm : SendOp::kWrite;
  request.signaled = wr.signaled;
  request.inline_data = wr.inline_data;
  request.sges = wr.sges;
  request.num_sge = wr.num_sge;
  request.imm = wr.imm;
  const uint64_t number = requests_.end_seq();
  const PostResult posted = requests_.post(Instant(), request, mtu);  // the latency of datagrams is not measured
  if (posted == PostResult::kOk)
    destinations_[index(number)] = {wr.peer, wr.dest_qpn, wr.qkey, wr.traffic_class, wr.solicited};
  return posted;
}

}  // namespace mrc::core
