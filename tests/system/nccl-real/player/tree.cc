// AllReduce over a tree: sums go up to the root and the result comes down, both at once where a rank is not the root.
#include <algorithm>
#include <functional>

#include "player/parallel.h"
#include "player/primitives.h"
#include "player/works.h"

namespace mrc::nccl_rig::player {

void run_tree(const Block& block, const Function& function, const WorkColl& work) {
  Channel& channel = block.channel();
  const Tree& tree = channel.tree;
  const Part part = part_of(work, function, block.channel_number);
  const size_t size = type_size(function.type);
  std::vector<int> children;
  for (int child : tree.down)
    if (child >= 0) children.push_back(child);

  const auto make = [&](bool from_children, bool from_parent, bool to_children, bool to_parent) {
    Setting setting;
    setting.comm = block.comm;
    setting.arithmetic = {function.op, function.type, work.op_argument};
    setting.slicing = {1, 1};
    setting.step_bytes = static_cast<size_t>(block.comm->buffer_sizes[kSimple] / kSteps);
    for (int child : children) {
      if (from_children) setting.from.push_back(&channel.peers[child]->recv[0]);
      if (to_children) setting.to.push_back(&channel.peers[child]->send[0]);
    }
    if (from_parent) setting.from.push_back(&channel.peers[tree.up]->recv[0]);
    if (to_parent) setting.to.push_back(&channel.peers[tree.up]->send[0]);
    return make_primitives(function.protocol, setting);
  };
  const auto each_chunk = [&](const std::function<void(size_t at, size_t n)>& visit) {
    for (size_t done = 0; done < part.count; done += part.chunk)
      visit((part.offset + done) * size, std::min(part.chunk, part.count - done));
  };

  if (tree.up < 0) {
    auto prims = make(true, false, true, false);
    each_chunk([&](size_t at, size_t n) { prims->recv_reduce_copy_send(work.send + at, work.recv + at, n); });
    return;
  }
  run_parallel({[&] {
                  auto prims = make(true, false, false, true);
                  each_chunk([&](size_t at, size_t n) {
                    children.empty() ? prims->send(work.send + at, n) : prims->recv_reduce_send(work.send + at, n);
                  });
                },
                [&] {
                  auto prims = make(false, true, true, false);
                  each_chunk([&](size_t at, size_t n) {
                    children.empty() ? prims->recv(work.recv + at, n) : prims->recv_copy_send(work.recv + at, n);
                  });
                }});
}

}  // namespace mrc::nccl_rig::player
