#include "player/kernel.h"

#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "cuda/fatal.h"
#include "player/parallel.h"
#include "player/reduce.h"
#include "player/wait.h"
#include "player/works.h"

namespace mrc::nccl_rig::player {

namespace {

std::mutex counts_mutex;
std::map<std::string, unsigned long>& counts() {
  static auto* all = new std::map<std::string, unsigned long>;
  return *all;
}
void count(const std::string& name) {
  std::lock_guard lock(counts_mutex);
  ++counts()[name];
}

// A kernel's arguments with the works that they lead to.
class Launch {
 public:
  explicit Launch(const std::vector<char>& bytes) : bytes_(bytes) {
    if (bytes.size() < sizeof(KernelArguments)) fatal("a kernel with %zu bytes of arguments", bytes.size());
    memcpy(&arguments_, bytes.data(), sizeof arguments_);
  }
  const KernelArguments& arguments() const { return arguments_; }
  WorkBatch batch(size_t index) const {
    WorkBatch batch;
    const size_t at = sizeof(KernelArguments) + index * sizeof batch;
    if (at + sizeof batch > bytes_.size()) fatal("batch %zu lies beyond the kernel's arguments", index);
    memcpy(&batch, bytes_.data() + at, sizeof batch);
    return batch;
  }
  // The FIFO is a ring of 16-byte pieces, so that a work may be in two parts.
  void read_work(uint32_t offset, size_t size, char* to) const {
    if (arguments_.storage == kInArguments) {
      if (offset + size > bytes_.size()) fatal("a work lies beyond the kernel's arguments");
      memcpy(to, bytes_.data() + offset, size);
      return;
    }
    constexpr size_t kPiece = 16;
    for (size_t i = 0; i < size; i += kPiece)
      memcpy(to + i, arguments_.work_buffer + ((offset + i) & arguments_.work_mask), kPiece);
  }

 private:
  const std::vector<char>& bytes_;
  KernelArguments arguments_;
};

struct Work {
  unsigned type;
  alignas(16) char bytes[kWorkSizes[kWorkCollReg]];
};

void add_works(const Launch& launch, const WorkBatch& batch, std::vector<Work>* works) {
  if (batch.work_type >= kWorkTypes) fatal("a work of unknown type %u", unsigned{batch.work_type});
  const size_t size = kWorkSizes[batch.work_type];
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (!(batch.offset_bits >> bit & 1)) continue;
    Work& work = works->emplace_back();
    work.type = batch.work_type;
    launch.read_work(batch.offset_base + static_cast<uint32_t>(bit * size), size, work.bytes);
  }
}

void run_coll(const Block& block, const Function& function, const WorkColl& work) {
  WorkColl own = work;
  if (own.op_is_pointer) {  // the argument lies in memory, of which it has its type's size
    const auto* at = reinterpret_cast<const char*>(own.op_argument);
    own.op_argument = 0;
    memcpy(&own.op_argument, at, type_size(function.type));
    own.op_is_pointer = 0;
  }
  if (block.channel_number < own.channel_lo || block.channel_number > own.channel_hi)
    fatal("channel %d runs a work of channels %u to %u", block.channel_number, unsigned{own.channel_lo},
          unsigned{own.channel_hi});
  if (function.algorithm == kRing) return run_ring(block, function, own);
  if (function.algorithm == kTree) return run_tree(block, function, own);
  if (function.algorithm == kPat) return run_pat(block, function, own);
  fatal("algorithm of %s", function.name().c_str());
}

// NCCL 2.28.9 registers buffers with the network for AllGather, Broadcast, and AllReduce out of place, over rings. One
// of these is not played: the average of floating-point numbers. NCCL scales each rank's input where its kernel reads
// it, but the first message of a chunk is sent from the registered input itself, unscaled. By its source the result is
// wrong on GPUs as well.
void check_registration(const Function& function, unsigned work_type, const WorkColl& work) {
  const std::string name = function.name();
  if (work_type == kWorkCollReg || work.registered)
    fatal("buffers registered for peers of the same host in %s", name.c_str());
  if (!work.net_registered) return;
  if (function.algorithm != kRing || function.protocol != kSimple)
    fatal("buffers registered with the network in %s", name.c_str());
  if (function.op == kDevPreMulSum) fatal("buffers registered with the network and scaled in %s", name.c_str());
}

// All at once: NCCL gives each of them its own warps, and relies on it where receives of several peers are one group.
void run_p2ps(const Block& block, const std::vector<Work>& works) {
  std::vector<std::function<void()>> tasks;
  for (const Work& work : works) {
    WorkP2p p2p;
    memcpy(&p2p, work.bytes, sizeof p2p);
    count(p2p.send_net_reg || p2p.recv_net_reg ? "SendRecv_REGISTERED"
          : p2p.send_ll || p2p.recv_ll         ? "SendRecv_LL"
                                               : "SendRecv_SIMPLE");
    tasks.emplace_back([block, p2p] { run_p2p(block, p2p); });
  }
  run_parallel(tasks);
}

void run_works(const Block& block, const Function& function, const std::vector<Work>& works) {
  for (const Work& work : works) {
    if ((work.type == kWorkP2p) != (function.collective == kSendRecv))
      fatal("a work of type %u for %s", work.type, function.name().c_str());
    if (work.type != kWorkP2p) {
      WorkColl coll;
      memcpy(&coll, work.bytes, sizeof coll);
      check_registration(function, work.type, coll);
      count(function.name() + (coll.net_registered ? "_REGISTERED" : ""));
      run_coll(block, function, coll);
    }
  }
  if (function.collective == kSendRecv) run_p2ps(block, works);
}

// The first batch of a block is the block's own; the others are reached from there.
void run_block(const Launch& launch, const Block& block, size_t first) {
  uint64_t done = 0;
  for (size_t index = first;;) {
    WorkBatch batch = launch.batch(index);
    const Function& function = function_of(static_cast<int>(batch.function));
    std::vector<Work> works;
    add_works(launch, batch, &works);
    while (batch.next_extends) {
      index += batch.next_jump;
      batch = launch.batch(index);
      add_works(launch, batch, &works);
    }
    run_works(block, function, works);
    done += works.size();
    if (batch.next_jump == 0) break;
    index += batch.next_jump;
  }
  block.channel().work_counter += done;
}

}  // namespace

Part part_of(const WorkColl& work, const Function& function, int channel) {
  constexpr size_t kGrains[kProtocols] = {16, 1920, 512};  // bytes
  const size_t per_grain = kGrains[function.protocol] / type_size(function.type);
  const auto middle = static_cast<size_t>(channel - work.channel_lo - 1);
  if (channel == work.channel_lo) return {0, work.count_lo, work.grains_lo * per_grain};
  if (channel == work.channel_hi)
    return {work.count_lo + middle * work.count_mid, work.count_hi, work.grains_hi * per_grain};
  return {work.count_lo + middle * work.count_mid, work.count_mid, work.grains_mid * per_grain};
}

size_t per_rank(const WorkColl& work) {
  const size_t middle = work.channel_hi > work.channel_lo + 1 ? work.channel_hi - work.channel_lo - 1 : 0;
  return work.count_lo + (work.channel_lo == work.channel_hi ? 0 : work.count_hi + middle * work.count_mid);
}

void run_kernel(const std::vector<char>& bytes, const void*, unsigned blocks) {
  const Launch launch(bytes);
  std::vector<std::function<void()>> tasks;
  for (int channel = 0; channel < kMaxChannels; ++channel) {
    if (!(launch.arguments().channel_mask >> channel & 1)) continue;
    const Block block{launch.arguments().comm, channel};
    tasks.push_back([&launch, block, first = tasks.size()] { run_block(launch, block, first); });
  }
  if (tasks.size() != blocks) fatal("%u blocks for %zu channels", blocks, tasks.size());
  try {
    run_parallel(tasks);
  } catch (const Aborted&) {
  }
}

std::vector<FunctionCount> functions_played() {
  std::lock_guard lock(counts_mutex);
  std::vector<FunctionCount> all;
  for (const auto& [name, works] : counts()) all.push_back({name.c_str(), works});
  return all;
}

}  // namespace mrc::nccl_rig::player
