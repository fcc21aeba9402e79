// The parallel aggregated trees of AllGather and ReduceScatter, for two ranks: there they are one exchange of each
// chunk. NCCL 2.28.9 takes them by itself for two ranks and some sizes. For more ranks the schedule is not played.
#include <algorithm>

#include "cuda/fatal.h"
#include "player/primitives.h"
#include "player/works.h"

namespace mrc::nccl_rig::player {

void run_pat(const Block& block, const Function& function, const WorkColl& work) {
  if (block.comm->ranks != 2) fatal("%s for %d ranks", function.name().c_str(), block.comm->ranks);
  const auto rank = static_cast<size_t>(block.comm->rank), peer = 1 - rank;
  Channel& channel = block.channel();
  Setting setting;
  setting.comm = block.comm;
  setting.arithmetic = {function.op, function.type, work.op_argument};
  setting.slicing = {1, 1};
  setting.step_bytes = static_cast<size_t>(block.comm->buffer_sizes[kSimple] / kSteps);
  setting.from = {&channel.peers[peer]->recv[0]};
  setting.to = {&channel.peers[peer]->send[0]};
  auto prims = make_primitives(function.protocol, setting);
  const Part part = part_of(work, function, block.channel_number);
  const size_t count = per_rank(work), size = type_size(function.type);
  for (size_t done = 0; done < part.count; done += part.chunk) {
    const size_t n = std::min(part.chunk, part.count - done), at = part.offset + done;
    const auto in = [&](size_t of) { return work.send + (of * count + at) * size; };
    const auto out = [&](size_t of) { return work.recv + (of * count + at) * size; };
    if (function.collective == kReduceScatter) {
      prims->send(in(peer), n);
      prims->recv_reduce_copy(in(rank), out(0), n);
      continue;
    }
    if (in(0) == out(rank))
      prims->send(in(0), n);
    else
      prims->copy_send(in(0), out(rank), n);
    prims->recv(out(peer), n);
  }
}

}  // namespace mrc::nccl_rig::player
