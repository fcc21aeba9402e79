#include "player/pat_schedule.h"

#include <bit>

namespace mrc::nccl_rig::player {

namespace {

int link_of(int block) {
  return std::countr_zero(static_cast<unsigned>(block));
}

// Which blocks travel together, in which order, and where in a message each one is.
class Batches {
 public:
  // `mirrored`: the order within a batch is that of the reversed bits of the place, from the farthest block to the
  // nearest.
  Batches(int ranks, PatAggregation aggregation, bool mirrored)
      : ranks_(ranks),
        whole_(static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)))),
        stride_(whole_ / aggregation.trees),
        aggregation_(aggregation),
        mirrored_(mirrored) {}

  int whole() const { return whole_; }
  int stride() const { return stride_; }
  bool exists(int block) const { return block < ranks_; }

  // The blocks of the batch to which `block` > 0 belongs, including those that do not exist.
  std::vector<int> of(int block) const {
    const Batch batch = batch_of(block);
    std::vector<int> blocks;
    for (int i = 0; i < batch.count; ++i) blocks.push_back(batch.first + place(i, batch.count) * batch.step);
    return blocks;
  }

  // Where `block` is in its message. `consumed`: it is handled for the last time, so that no message before its own is
  // left.
  PatEnd end(int block, bool consumed) const {
    const std::vector<int> blocks = of(block);
    const Batch batch = batch_of(block);
    const int index = place((block - batch.first) / batch.step, batch.count);
    PatEnd end;
    end.link = link_of(block);
    end.piece = index % aggregation_.pieces;
    end.completes = consumed && is_last_of_message(blocks, index);
    for (int i = 0; i < index && !consumed; ++i)
      if (exists(blocks[i]) && is_last_of_message(blocks, i)) ++end.ahead;
    return end;
  }

 private:
  struct Batch {
    int first, step, count;
  };
  // A multiple of the stride travels with those that cross the same link, any other block with those of the same
  // remainder.
  Batch batch_of(int block) const {
    if (block % stride_ != 0) return {block % stride_, stride_, aggregation_.trees};
    const int bit = 1 << link_of(block);
    return {bit, 2 * bit, whole_ / (2 * bit)};
  }
  // The block at place i, counted from the first; and the place of that block.
  int place(int i, int count) const {
    if (!mirrored_) return i;
    int mirror = 0;
    for (int bit = 1; bit < count; bit *= 2) mirror = 2 * mirror + ((i & bit) == 0 ? 1 : 0);
    return mirror;
  }
  bool is_last_of_message(const std::vector<int>& blocks, int index) const {
    const auto count = static_cast<int>(blocks.size());
    for (int i = index + 1; i < count && i % aggregation_.pieces != 0; ++i)
      if (exists(blocks[i])) return false;
    return true;
  }

  const int ranks_, whole_, stride_;
  const PatAggregation aggregation_;
  const bool mirrored_;
};

class Steps {
 public:
  Steps(int ranks, PatAggregation aggregation, bool mirrored)
      : batches_(ranks, aggregation, mirrored), seen_(static_cast<size_t>(ranks)) {}

 protected:
  void add(const PatEnd& from, const PatEnd& to, int block) {
    steps_.push_back({from, to, block, !seen_[block]});
    seen_[block] = true;
  }

  const Batches batches_;
  std::vector<PatStep> steps_;

 private:
  std::vector<bool> seen_;
};

class AllGather : public Steps {
 public:
  AllGather(int ranks, PatAggregation aggregation) : Steps(ranks, aggregation, false) {}

  std::vector<PatStep> all() {
    for (int block = batches_.whole() / 2; block >= batches_.stride(); block /= 2) forward(block);
    descend(0, batches_.stride());
    return steps_;
  }

 private:
  // Down the trees of the blocks root .. root + size - 1: a child at once before its own children, the far child first.
  void descend(int root, int size) {
    for (int half = size / 2; half > 0; half /= 2) {
      forward(root + half);
      if (half == 1) keep(root + half);
      descend(root + half, half);
    }
  }
  // Sends the blocks that the peers know as the batch of `block`. The near peers are last, so that those steps free
  // what was received, even if such a peer does not exist.
  void forward(int block) {
    for (int there : batches_.of(block)) {
      const bool last = link_of(there) == 0;
      const int here = there - (1 << link_of(there));
      if (!batches_.exists(there) && !(last && batches_.exists(here))) continue;
      add(here == 0 ? PatEnd{} : batches_.end(here, last),
          batches_.exists(there) ? batches_.end(there, true) : PatEnd{}, here);
    }
  }
  // Receives the leaves of the trees.
  void keep(int block) {
    for (int leaf : batches_.of(block))
      if (batches_.exists(leaf)) add(batches_.end(leaf, true), {}, leaf);
  }
};

class ReduceScatter : public Steps {
 public:
  ReduceScatter(int ranks, PatAggregation aggregation) : Steps(ranks, aggregation, true) {}

  std::vector<PatStep> all() {
    for (int block = batches_.stride() - 1; block > 1; --block) {
      if (block % 2 == 1) start(block);
      for (int here : batches_.of(block)) collect(here);
    }
    start(1);
    for (int block = batches_.stride(); block < batches_.whole(); block *= 2) {
      for (int there : batches_.of(block)) collect(there + 1);
      for (int here : batches_.of(block)) collect(here);
    }
    collect(1);
    return steps_;
  }

 private:
  // Sends the leaves of the trees.
  void start(int block) {
    for (int leaf : batches_.of(block))
      if (batches_.exists(leaf)) add({}, batches_.end(leaf, true), leaf);
  }
  // Takes `here` and adds it to the block that it is for the peer's peer. The near ones are last, so that those steps
  // send.
  void collect(int here) {
    const bool last = link_of(here) == 0;
    const int sum = here - (1 << link_of(here));
    if (!batches_.exists(sum)) return;
    add(batches_.exists(here) ? batches_.end(here, true) : PatEnd{}, sum == 0 ? PatEnd{} : batches_.end(sum, last),
        sum);
  }
};

}  // namespace

PatAggregation pat_aggregation(int ranks, size_t chunk_bytes, size_t channel_bytes) {
  constexpr int kMessages = 8;
  PatAggregation aggregation;
  while (chunk_bytes >= 2 * channel_bytes * static_cast<size_t>(aggregation.pieces) && aggregation.pieces < ranks / 2)
    aggregation.pieces *= 2;
  aggregation.trees = aggregation.pieces;
  while (aggregation.trees < kMessages * aggregation.pieces && aggregation.trees < ranks / 2) aggregation.trees *= 2;
  return aggregation;
}

std::vector<PatStep> pat_all_gather(int ranks, PatAggregation aggregation) {
  return AllGather(ranks, aggregation).all();
}

std::vector<PatStep> pat_reduce_scatter(int ranks, PatAggregation aggregation) {
  return ReduceScatter(ranks, aggregation).all();
}

}  // namespace mrc::nccl_rig::player
