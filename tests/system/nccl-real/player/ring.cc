// The ring algorithm of every collective. N ranks, of which this is number `index` on the ring; userRanks[i] is the
// rank that stands i places after it.
#include <algorithm>

#include "player/primitives.h"
#include "player/works.h"

namespace mrc::nccl_rig::player {

namespace {

struct Run {
  Primitives& prims;
  const WorkColl& work;
  const Ring& ring;
  size_t ranks, size;  // size: of an element
  Part part;

  const char* in(size_t element) const { return work.send + element * size; }
  char* out(size_t element) const { return work.recv + element * size; }
};

void all_reduce(const Run& r) {
  const size_t loop = r.ranks * r.part.chunk;
  size_t chunk = r.part.chunk;
  for (size_t done = 0; done < r.part.count; done += loop) {
    const size_t rest = r.part.count - done;
    if (rest < loop) {
      const size_t align = 16 / r.size;
      chunk = ((rest + r.ranks - 1) / r.ranks + align - 1) / align * align;
    }
    const auto index = static_cast<size_t>(r.ring.index);
    // The chunk that is `back` places behind the own one.
    const auto at = [&](size_t back) { return (index + 2 * r.ranks - back) % r.ranks * chunk; };
    const auto where = [&](size_t back) { return r.part.offset + done + at(back); };
    const auto count = [&](size_t back) { return at(back) >= rest ? 0 : std::min(chunk, rest - at(back)); };
    r.prims.send(r.in(where(1)), count(1));
    for (size_t j = 2; j < r.ranks; ++j) {
      // What arrives in a registered output is summed there, and sent from there.
      char* sum = r.work.net_registered ? r.out(where(j)) : nullptr;
      r.prims.run({r.in(where(j)), sum, count(j), true, true, false});
    }
    r.prims.recv_reduce_copy_send(r.in(where(0)), r.out(where(0)), count(0));
    for (size_t j = 1; j + 1 < r.ranks; ++j) r.prims.recv_copy_send(r.out(where(j)), count(j));
    r.prims.recv(r.out(where(r.ranks - 1)), count(r.ranks - 1));
  }
}

void all_gather(const Run& r) {
  const size_t count = per_rank(r.work);
  const auto block = [&](size_t place) { return static_cast<size_t>(r.ring.user_ranks[place]) * count; };
  for (size_t done = 0; done < r.part.count; done += r.part.chunk) {
    const size_t n = std::min(r.part.chunk, r.part.count - done), at = r.part.offset + done;
    const char* own = r.in(at);
    if (own == r.out(block(0) + at))
      r.prims.send(own, n);
    else
      r.prims.copy_send(own, r.out(block(0) + at), n);
    for (size_t j = 1; j + 1 < r.ranks; ++j) r.prims.recv_copy_send(r.out(block(r.ranks - j) + at), n);
    r.prims.recv(r.out(block(1) + at), n);
  }
}

void reduce_scatter(const Run& r) {
  const size_t count = per_rank(r.work);
  const auto block = [&](size_t place) { return static_cast<size_t>(r.ring.user_ranks[place]) * count; };
  for (size_t done = 0; done < r.part.count; done += r.part.chunk) {
    const size_t n = std::min(r.part.chunk, r.part.count - done), at = r.part.offset + done;
    r.prims.send(r.in(block(r.ranks - 1) + at), n);
    for (size_t j = 2; j < r.ranks; ++j) r.prims.recv_reduce_send(r.in(block(r.ranks - j) + at), n);
    r.prims.recv_reduce_copy(r.in(block(0) + at), r.out(at), n);
  }
}

void broadcast(const Run& r) {
  const auto root = static_cast<int>(r.work.root);
  for (size_t done = 0; done < r.part.count; done += r.part.chunk) {
    const size_t n = std::min(r.part.chunk, r.part.count - done), at = r.part.offset + done;
    if (r.ring.user_ranks[0] == root) {
      if (r.in(at) == r.out(at))
        r.prims.send(r.in(at), n);
      else
        r.prims.copy_send(r.in(at), r.out(at), n);
    } else if (r.ring.user_ranks[1] == root) {
      r.prims.recv(r.out(at), n);
    } else {
      r.prims.recv_copy_send(r.out(at), n);
    }
  }
}

void reduce(const Run& r) {
  const auto root = static_cast<int>(r.work.root);
  for (size_t done = 0; done < r.part.count; done += r.part.chunk) {
    const size_t n = std::min(r.part.chunk, r.part.count - done), at = r.part.offset + done;
    if (r.ring.user_ranks[r.ranks - 1] == root)
      r.prims.send(r.in(at), n);
    else if (r.ring.user_ranks[0] == root)
      r.prims.recv_reduce_copy(r.in(at), r.out(at), n);
    else
      r.prims.recv_reduce_send(r.in(at), n);
  }
}

void run_collective(Collective collective, const Run& run) {
  switch (collective) {
    case kAllReduce:
      return all_reduce(run);
    case kAllGather:
      return all_gather(run);
    case kReduceScatter:
      return reduce_scatter(run);
    case kBroadcast:
      return broadcast(run);
    case kReduce:
      return reduce(run);
    case kSendRecv:
      return;
  }
}

}  // namespace

void run_ring(const Block& block, const Function& function, const WorkColl& work) {
  Channel& channel = block.channel();
  Setting setting;
  setting.comm = block.comm;
  setting.arithmetic = {function.op, function.type, work.op_argument};
  // A registered block of AllGather is one message of up to 1 GiB, where each rank has a host of its own.
  constexpr size_t kMaxMessage = size_t{1} << 30;
  const bool whole_blocks = function.collective == kAllGather && work.net_registered && work.one_rank_per_node;
  const bool whole_chunks = function.collective == kBroadcast || function.collective == kReduce || whole_blocks;
  setting.slicing = whole_chunks ? Slicing{1, 1} : Slicing{2, 2};
  setting.step_bytes = whole_blocks ? kMaxMessage : static_cast<size_t>(block.comm->buffer_sizes[kSimple] / kSteps);
  setting.net_registered = work.net_registered;
  setting.from = {&channel.peers[channel.ring.prev]->recv[0]};
  setting.to = {&channel.peers[channel.ring.next]->send[0]};
  auto prims = make_primitives(function.protocol, setting);
  Part part = part_of(work, function, block.channel_number);
  if (whole_blocks) part.chunk = kMaxMessage;  // of bytes, as all that AllGather moves
  run_collective(function.collective,
                 {*prims, work, channel.ring, static_cast<size_t>(block.comm->ranks), type_size(function.type), part});
  prims->finish();
}

}  // namespace mrc::nccl_rig::player
