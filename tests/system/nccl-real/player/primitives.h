// The building blocks of collectives: take from the own buffer and from peers, combine, give to the own buffer and to
// peers. One class per protocol. A channel's thread owns the object; the connections' steps are written back by its
// destructor.
#pragma once

#include <memory>
#include <vector>

#include "player/layout.h"
#include "player/reduce.h"

namespace mrc::nccl_rig::player {

// Slices per chunk and steps per slice, which the Simple protocol takes from the collective.
struct Slicing {
  int slices_per_chunk = 1, steps_per_slice = 1;
};

struct Setting {
  KernelComm* comm;
  Arithmetic arithmetic;
  Slicing slicing;
  size_t step_bytes;  // of one step, from which Simple computes its slices
  std::vector<ConnInfo*> from, to;
  bool net_registered =
      false;  // Simple: input and output are registered with the network; every receipt has a `target`
};

// A null `source` or `target`: the own buffer takes no part.
struct Piece {
  const char* source = nullptr;
  char* target = nullptr;
  size_t elements = 0;
  bool receive = false, send = false, finish = false;
};

class Primitives {
 public:
  virtual ~Primitives();
  virtual void run(const Piece& piece) = 0;
  // After the last piece: waits until the own buffers may be changed. Throws Aborted.
  virtual void finish() {}

  void send(const char* source, size_t n) { run({source, nullptr, n, false, true, false}); }
  void copy_send(const char* source, char* target, size_t n) { run({source, target, n, false, true, false}); }
  void recv(char* target, size_t n) { run({nullptr, target, n, true, false, false}); }
  void recv_copy_send(char* target, size_t n) { run({nullptr, target, n, true, true, false}); }
  void recv_reduce_send(const char* source, size_t n) { run({source, nullptr, n, true, true, false}); }
  void recv_reduce_copy(const char* source, char* target, size_t n) { run({source, target, n, true, false, true}); }
  void recv_reduce_copy_send(const char* source, char* target, size_t n) { run({source, target, n, true, true, true}); }

 protected:
  struct Lane {
    ConnInfo* connection;
    uint64_t step;
  };
  explicit Primitives(const Setting& setting);
  // The data of `piece` from and to the given memory of peers.
  void combine(const Piece& piece, size_t elements, const std::vector<const char*>& from,
               const std::vector<char*>& to) const;
  size_t element_size() const { return element_size_; }

  Setting setting_;
  std::vector<Lane> from_, to_;

 private:
  size_t element_size_;
};

std::unique_ptr<Primitives> make_simple(const Setting& setting);
std::unique_ptr<Primitives> make_ll(const Setting& setting);
std::unique_ptr<Primitives> make_ll128(const Setting& setting);
std::unique_ptr<Primitives> make_primitives(Protocol protocol, const Setting& setting);

}  // namespace mrc::nccl_rig::player
