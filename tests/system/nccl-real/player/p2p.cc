// Send and Recv: a work is one of either, or both, at the same time.
#include <algorithm>
#include <cstring>

#include "cuda/fatal.h"
#include "player/parallel.h"
#include "player/primitives.h"
#include "player/wait.h"
#include "player/works.h"

namespace mrc::nccl_rig::player {

namespace {

constexpr int kP2pConnector = 1;

// A chunk size in 8 bits: 5 of exponent, 3 of mantissa, integers.
size_t from_fp8(uint8_t x) {
  const unsigned exponent = x >> 3, mantissa = (x & 7) | (exponent ? 8 : 0);
  return size_t{mantissa} << (exponent ? exponent - 1 : 0);
}

struct Span {
  size_t begin, end;
};
// Of a message that `parts` channels carry; empty where this one has none of it.
Span part_bounds(size_t bytes, size_t parts, size_t part) {
  const size_t share = ((bytes + parts - 1) / parts + 4095) / 4096 * 4096;
  return {std::min(part * share, bytes), std::min((part + 1) * share, bytes)};
}

Setting setting_of(const Block& block) {
  Setting setting;
  setting.comm = block.comm;
  setting.arithmetic = {kDevSum, 1, 0};  // bytes
  setting.step_bytes = static_cast<size_t>(block.comm->p2p_chunk_size);
  return setting;
}

template <typename Each>
void each_chunk(size_t bytes, size_t chunk, Each each) {  // once at least
  size_t at = 0;
  do {
    const size_t n = std::min(chunk, bytes - at);
    each(at, n);
    at += n;
  } while (at < bytes);
}

// Registered buffers: NCCL's proxy moves them whole, the kernel only requests that and waits.
void send_registered(const Block& block, ConnInfo* connection, size_t bytes) {
  const volatile uint32_t* aborted = block.comm->abort_flag;
  uint64_t step = connection->step;
  each_chunk(bytes, size_t{1} << 30, [&](size_t, size_t n) {
    wait_until(aborted, [&] { return load(connection->head) + kSteps >= step + 1; });
    *const_cast<volatile int64_t*>(&connection->fifo[step % kSteps].size) = static_cast<int64_t>(n);
    store(connection->tail, ++step);
  });
  const auto& last = connection->fifo[(step - 1) % kSteps];
  wait_until(aborted, [&] { return *const_cast<const volatile int64_t*>(&last.size) == -1; });
  connection->step = step;
}

void receive_registered(const Block& block, ConnInfo* connection, size_t bytes) {
  uint64_t step = connection->step;
  each_chunk(bytes, size_t{1} << 30, [&](size_t, size_t) {
    *const_cast<volatile int64_t*>(&connection->fifo[step % kSteps].size) = 0;
    wait_until(block.comm->abort_flag, [&] { return load(connection->tail) >= step + 1; });
    store(connection->head, ++step);
  });
  connection->step = step;
}

}  // namespace

void run_p2p(const Block& block, const WorkP2p& work) {
  if (work.send_ipc_reg || work.recv_ipc_reg) fatal("Send/Recv with buffers registered for peers of the same host");
  const auto part = static_cast<size_t>((block.channel_number - work.channel_base) & (work.channels - 1));
  Channel& channel = block.channel();

  const auto send = [&] {
    if (work.send_rank < 0 || part >= work.send_channels) return;
    const Span span = part_bounds(work.send_bytes, work.send_channels, part);
    if (work.send_rank == block.comm->rank) {
      memmove(work.recv_address + span.begin, work.send_address + span.begin, span.end - span.begin);
      return;
    }
    ConnInfo* connection = &channel.peers[work.send_rank]->send[kP2pConnector];
    if (work.send_net_reg) return send_registered(block, connection, span.end - span.begin);
    Setting setting = setting_of(block);
    setting.to = {connection};
    auto prims = make_primitives(work.send_ll ? kLl : kSimple, setting);
    each_chunk(span.end - span.begin, from_fp8(work.send_chunk_fp8),
               [&](size_t at, size_t n) { prims->send(work.send_address + span.begin + at, n); });
  };
  const auto receive = [&] {
    if (work.recv_rank < 0 || work.recv_rank == block.comm->rank || part >= work.recv_channels) return;
    const Span span = part_bounds(work.recv_bytes, work.recv_channels, part);
    ConnInfo* connection = &channel.peers[work.recv_rank]->recv[kP2pConnector];
    if (work.recv_net_reg) return receive_registered(block, connection, span.end - span.begin);
    Setting setting = setting_of(block);
    setting.from = {connection};
    auto prims = make_primitives(work.recv_ll ? kLl : kSimple, setting);
    each_chunk(span.end - span.begin, from_fp8(work.recv_chunk_fp8),
               [&](size_t at, size_t n) { prims->recv(work.recv_address + span.begin + at, n); });
  };
  run_parallel({send, receive});
}

}  // namespace mrc::nccl_rig::player
