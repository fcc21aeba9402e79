// The schedule of PAT (parallel aggregated trees), by which NCCL 2.28.9 moves the blocks of AllGather and
// ReduceScatter. No communicator, memory or thread: a pure function of sizes, so that a test needs no NCCL.
//
// Of each chunk every rank has a block; block q of a rank is that of the rank q places after it, modulo `ranks`. Links
// join ranks that are 2^l places apart. Block q > 0 crosses link l, where l is the lowest set bit of q; the rank at the
// other end knows it as its block q - 2^l. So each rank is the root of a binomial tree, and as all trees are alike, all
// ranks follow the same steps.
//
// AllGather: data go from the roots to the leaves, the far half first, over the link to the rank 2^l places before.
// ReduceScatter: sums go from the leaves to the roots, over the link to the rank 2^l places after.
//
// With P the power of two that is not below `ranks`, the blocks whose numbers differ by multiples of P / trees advance
// together, as one batch, which crosses a link in messages of up to `pieces` blocks. A message takes one of the eight
// steps of a connection.
#pragma once

#include <cstddef>
#include <vector>

namespace mrc::nccl_rig::player {

// How many blocks advance together: the more, the smaller the data are. Powers of two, pieces <= trees.
struct PatAggregation {
  int pieces = 1;  // blocks of a message: as many as fit into half a chunk
  int trees = 1;   // blocks of a batch: up to eight messages
};
// `chunk_bytes`: the size of a step; `channel_bytes`: what a channel has of a rank's block, above 0.
PatAggregation pat_aggregation(int ranks, size_t chunk_bytes, size_t channel_bytes);

// A place in the buffer of a connection.
struct PatEnd {
  int link = -1;           // of the rank 2^link places away; -1: none, the own buffer is meant
  int piece = 0;           // in the message, from 0; pieces of blocks that do not exist leave a gap
  int ahead = 0;           // messages between the connection's current one and this one
  bool completes = false;  // afterwards the message is sent, or its step is free; `ahead` is 0 then
};

// AllGather: a piece from the connection `from`, or from the own input, goes to the connection `to`, if there is one;
// if the step is the first of its block, the output gets a copy. ReduceScatter: what came over `from`, if anything did,
// is added to the place `to`, or to the own output. If the step is the first of its block, there is nothing at that
// place yet, and the own input of the block is added.
struct PatStep {
  PatEnd from, to;
  int block = 0;
  bool first = false;
};

// The steps for one chunk, in their order; the same for each chunk. At least two ranks.
std::vector<PatStep> pat_all_gather(int ranks, PatAggregation aggregation);
std::vector<PatStep> pat_reduce_scatter(int ranks, PatAggregation aggregation);

}  // namespace mrc::nccl_rig::player
