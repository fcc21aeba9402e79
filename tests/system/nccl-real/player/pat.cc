// The parallel aggregated trees of AllGather and ReduceScatter: pat_schedule.h over the slots of connections. NCCL's
// kernel lets up to sixteen groups of threads take steps at a time; one after the other gives the same messages. Its
// chunks are not cut into slices.
#include <algorithm>
#include <cstring>

#include "cuda/fatal.h"
#include "player/pat_schedule.h"
#include "player/reduce.h"
#include "player/wait.h"
#include "player/works.h"

namespace mrc::nccl_rig::player {

namespace {

// One direction to or from the rank 2^l places away.
struct PatLink {
  ConnInfo* connection;
  uint64_t step;

  char* slot(const PatEnd& end) const {
    return connection->buffers[kSimple] + (step + end.ahead) % kSteps * static_cast<size_t>(connection->step_size);
  }
  void advance(uint64_t* counter) {
    connection->step = ++step;
    store(counter, step);
  }
};

class Pat {
 public:
  Pat(const Block& block, const Function& function, const WorkColl& work)
      : comm_(*block.comm),
        work_(work),
        arithmetic_{function.op, function.type, work.op_argument},
        gathers_(function.collective == kAllGather),
        size_(type_size(function.type)),
        part_(part_of(work, function, block.channel_number)) {
    Channel& channel = block.channel();
    for (int distance = 1; distance < comm_.ranks; distance *= 2) {
      ChannelPeer& after = *channel.peers[(comm_.rank + distance) % comm_.ranks];
      ChannelPeer& before = *channel.peers[(comm_.rank + comm_.ranks - distance) % comm_.ranks];
      ConnInfo& from = (gathers_ ? after : before).recv[0];
      ConnInfo& to = (gathers_ ? before : after).send[0];
      from_.push_back({&from, from.step});
      to_.push_back({&to, to.step});
    }
  }

  void run() {
    const PatAggregation aggregation = pat_aggregation(comm_.ranks, part_.chunk * size_, part_.count * size_);
    const std::vector<PatStep> steps =
        gathers_ ? pat_all_gather(comm_.ranks, aggregation) : pat_reduce_scatter(comm_.ranks, aggregation);
    for (size_t done = 0; done < part_.count; done += part_.chunk)
      for (const PatStep& step : steps) run_step(step, part_.offset + done, std::min(part_.chunk, part_.count - done));
  }

 private:
  // `at`: of the chunk of `n` elements, in each rank's block.
  void run_step(const PatStep& step, size_t at, size_t n) {
    const size_t bytes = n * size_;
    char* received = step.from.link < 0 ? nullptr : receive(step.from) + step.from.piece * bytes;
    char* sent = step.to.link < 0 ? nullptr : wait_for_slot(step.to) + step.to.piece * bytes;
    const size_t in_block = per_rank(work_) * static_cast<size_t>((comm_.rank + step.block) % comm_.ranks) + at;
    if (gathers_) {
      const char* data = received ? received : work_.send + at * size_;
      char* output = work_.recv + in_block * size_;
      if (sent) memcpy(sent, data, bytes);
      if (step.first && data != output) memcpy(output, data, bytes);
    } else {
      char* sum = sent ? sent : work_.recv + at * size_;
      const char* value = step.first ? work_.send + in_block * size_ : sum;
      if (received)
        arithmetic_.combine(sum, received, value, n);
      else if (value != sum)
        memcpy(sum, value, bytes);
    }
    if (step.to.completes) post(step.to, (step.to.piece + 1) * bytes);
    if (step.from.completes) {
      PatLink& link = from_[step.from.link];
      link.advance(link.connection->head);
    }
  }

  char* receive(const PatEnd& end) {
    const PatLink& link = from_[end.link];
    wait_until(comm_.abort_flag, [&] { return load(link.connection->tail) >= link.step + end.ahead + 1; });
    return link.slot(end);
  }
  char* wait_for_slot(const PatEnd& end) {
    const PatLink& link = to_[end.link];
    wait_until(comm_.abort_flag, [&] { return load(link.connection->head) + kSteps >= link.step + end.ahead + 1; });
    return link.slot(end);
  }
  void post(const PatEnd& end, size_t bytes) {
    PatLink& link = to_[end.link];
    if (ConnFifo* fifo = link.connection->fifo)
      *const_cast<volatile int64_t*>(&fifo[link.step % kSteps].size) = static_cast<int64_t>(bytes);
    link.advance(link.connection->tail);
  }

  KernelComm& comm_;
  const WorkColl& work_;
  const Arithmetic arithmetic_;
  const bool gathers_;
  const size_t size_;  // of an element
  const Part part_;
  std::vector<PatLink> from_, to_;  // by the logarithm of the distance
};

}  // namespace

void run_pat(const Block& block, const Function& function, const WorkColl& work) {
  if (function.protocol != kSimple) fatal("%s", function.name().c_str());
  Pat(block, function, work).run();
}

}  // namespace mrc::nccl_rig::player
