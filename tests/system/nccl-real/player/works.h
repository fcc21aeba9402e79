// The works of a kernel.
#pragma once

#include "player/functions.h"
#include "player/layout.h"

namespace mrc::nccl_rig::player {

// A channel of a communicator, as one thread of a kernel has it.
struct Block {
  KernelComm* comm;
  int channel_number;
  Channel& channel() const { return comm->channels[channel_number]; }
};

// The part of a collective that falls to a channel, in elements.
struct Part {
  size_t offset, count, chunk;
};
Part part_of(const WorkColl& work, const Function& function, int channel);
// Elements of one rank, all channels; block q of the whole lies at q times that.
size_t per_rank(const WorkColl& work);

void run_ring(const Block& block, const Function& function, const WorkColl& work);
void run_tree(const Block& block, const Function& function, const WorkColl& work);
void run_pat(const Block& block, const Function& function, const WorkColl& work);
void run_p2p(const Block& block, const WorkP2p& work);

}  // namespace mrc::nccl_rig::player
