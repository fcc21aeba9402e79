// Common parts of the conformance cases: a pair of ranks with one connection, buffers with a known content, and
// requests that are posted and finished with every rule of the interface checked on the way.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "cases.h"
#include "collectives.h"
#include "link.h"

namespace mrc::net_bench {

void require(bool condition, const std::string& otherwise);

// Rank 0 receives, rank 1 sends.
constexpr int kReceiver = 0, kSender = 1;

// A buffer between guards, registered on a communicator.
class Buffer {
 public:
  Buffer(Net& net, void* comm, size_t size);
  char* data() { return bytes_.data() + kGuard; }
  size_t size() const { return size_; }
  void* memory() const { return memory_.handle(); }
  void fill(int seed);
  // The first `size` bytes are those of `seed`, what follows was left alone, and so were the guards.
  void expect(int seed, size_t size, const std::string& what) const;

 private:
  static constexpr size_t kGuard = 64;
  size_t size_;
  std::vector<char> bytes_;
  Memory memory_;
};

// isend until it returns a request.
void* send(Rank& rank, Net& net, void* comm, Buffer& buffer, size_t size, int tag);
// irecv of one buffer or of a group, until it returns a request.
void* receive(Rank& rank, Net& net, void* comm, const std::vector<Buffer*>& buffers, const std::vector<int>& tags);
// test until the request is done; the sizes, n of them.
std::vector<int> finish(Rank& rank, Net& net, void* request, int n, const std::string& what);

// One connection from rank 1 to rank 0 that is closed with this object, unless closed before.
class Pair {
 public:
  explicit Pair(Rank& rank) : Pair(rank, rank.net()) {}
  Pair(Rank& rank, Net& net);
  void* comm() const { return comm_; }
  bool receives() const { return rank_.rank() == kReceiver; }
  // A buffer registered until close(): as in NCCL, memory is released before its connection.
  Buffer& buffer(size_t size) { return buffers_.emplace_back(net_, comm_, size); }
  // A message through the connection, checked; shows that it works.
  void exchange_message(size_t size, int seed);
  void close();

 private:
  Rank& rank_;
  Net& net_;
  void* comm_ = nullptr;
  std::deque<Buffer> buffers_;
};

int open_descriptors();

}  // namespace mrc::net_bench
