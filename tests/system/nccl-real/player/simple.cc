// The Simple protocol: eight slots per connection. The receiver counts freed slots in *head, the sender filled ones in
// *tail; the proxies stand between the two. A chunk is cut into slices, of which the empty ones are passed on too.
//
// Where buffers are registered with the network, the proxies send from and receive into them, and the slots only count:
// a slice arrives in the output, at its place, and what is sent on is sent from there.
#include <algorithm>

#include "player/primitives.h"
#include "player/wait.h"

namespace mrc::nccl_rig::player {

namespace {

class Simple : public Primitives {
 public:
  explicit Simple(const Setting& setting) : Primitives(setting) {
    const uint64_t chunk_steps = setting.slicing.slices_per_chunk * setting.slicing.steps_per_slice;
    const auto round_up = [&](Lane& lane) { lane.step = (lane.step + chunk_steps - 1) / chunk_steps * chunk_steps; };
    std::for_each(to_.begin(), to_.end(), round_up);
    for (Lane& lane : from_) {
      round_up(lane);
      store(lane.connection->head, lane.step);  // the slots that were skipped are free
      if (registered(lane)) set_size(lane, 0);  // the proxy may receive: what used the buffer before is done
    }
  }

  void run(const Piece& piece) override {
    const size_t slices = setting_.slicing.slices_per_chunk, steps = setting_.slicing.steps_per_slice;
    const size_t step_elements = setting_.step_bytes / element_size();
    const size_t slice = std::max((piece.elements + 16 * slices - 1) / (16 * slices) * 16, step_elements * steps / 32);
    size_t offset = 0;
    for (size_t s = 0; s < slices; ++s) {
      const size_t n = std::min(slice, piece.elements - offset);
      Piece part = piece;
      if (part.source) part.source += offset * element_size();
      if (part.target) part.target += offset * element_size();
      run_slice(part, n);
      offset += n;
    }
  }

  // The proxies read registered buffers, which the next kernel may change.
  void finish() override {
    for (const Lane& lane : to_) {
      if (!registered(lane)) continue;
      const ConnFifo& last = lane.connection->fifo[(lane.step - setting_.slicing.steps_per_slice) % kSteps];
      wait_until(setting_.comm->abort_flag, [&] { return *const_cast<const volatile int64_t*>(&last.size) == -1; });
    }
  }

 private:
  // Of a connection within a host the slots are used as ever.
  bool registered(const Lane& lane) const {
    return setting_.net_registered && (lane.connection->flags & kDirectNic) != 0;
  }
  static void set_size(const Lane& lane, size_t bytes) {
    *const_cast<volatile int64_t*>(&lane.connection->fifo[lane.step % kSteps].size) = static_cast<int64_t>(bytes);
  }
  static char* slot_of(const Lane& lane) {
    const ConnInfo& c = *lane.connection;
    const ConnFifo* fifo = c.fifo ? &c.fifo[lane.step % kSteps] : nullptr;
    const volatile int* mode = fifo ? &fifo->mode : nullptr;
    constexpr int kOffsetMode = 1;
    if (mode && *mode == kOffsetMode) return c.buffers[kSimple] + *const_cast<const volatile int*>(&fifo->offset);
    return c.buffers[kSimple] + (lane.step % kSteps) * static_cast<size_t>(c.step_size);
  }

  void run_slice(const Piece& piece, size_t elements) {
    const uint64_t steps = setting_.slicing.steps_per_slice;
    const volatile uint32_t* aborted = setting_.comm->abort_flag;
    std::vector<const char*> from;
    std::vector<char*> to;
    if (piece.receive)
      for (const Lane& lane : from_) {
        wait_until(aborted, [&] { return load(lane.connection->tail) >= lane.step + steps; });
        from.push_back(registered(lane) ? piece.target : slot_of(lane));
      }
    if (piece.send)
      for (const Lane& lane : to_) {
        wait_until(aborted, [&] { return load(lane.connection->head) + kSteps >= lane.step + steps; });
        if (!registered(lane)) to.push_back(slot_of(lane));
        if (lane.connection->fifo) set_size(lane, elements * element_size());
      }
    combine(piece, elements, from, to);
    if (piece.receive)
      for (Lane& lane : from_) store(lane.connection->head, lane.step += steps);
    if (piece.send)
      for (Lane& lane : to_) store(lane.connection->tail, lane.step += steps);
  }
};

}  // namespace

std::unique_ptr<Primitives> make_simple(const Setting& setting) {
  return std::make_unique<Simple>(setting);
}

}  // namespace mrc::nccl_rig::player
