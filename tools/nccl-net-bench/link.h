// Connections between ranks, made as NCCL makes them: listen, the handle copied to the peer byte for byte, connect and
// accept called again and again until they return a communicator; memory registered on each communicator.
#pragma once

#include <sched.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "rank.h"

namespace mrc::net_bench {

// Calls step() until it is true, giving way to other processes when it is not. Throws Fail when the time is over;
// `what` is a function so that its text describes the state of that moment.
template <typename Step, typename What>
void until(Rank& rank, Step step, What what) {
  for (uint32_t turn = 0; !step(); ++turn) {
    sched_yield();
    if (turn % 256 == 255 && rank.time_is_over()) throw Fail("gave up waiting: " + what() + last_warnings());
  }
}

using Handle = std::array<unsigned char, NCCL_NET_HANDLE_MAXSIZE>;
std::string handle_text(const Handle& handle);
Handle handle_from(const std::string& text);

struct Listening {
  Handle handle{};
  void* comm = nullptr;
};
Listening listen_on(Rank& rank, Net& net);
void* connect_to(Rank& rank, Net& net, Handle& handle, const std::string& peer);
void* accept_from(Rank& rank, Net& net, void* listen_comm, const std::string& peer);

// A region registered on one communicator until this object is destroyed.
class Memory {
 public:
  Memory(Net& net, void* comm, void* data, size_t size);
  Memory(Memory&& other) noexcept;
  ~Memory();
  void* handle() const { return handle_; }

 private:
  Net* net_;
  void* comm_;
  void* handle_ = nullptr;
};

// Connections to the ranks in `to` and from those in `from`, all at once, progressed together. Every rank calls it.
class Links {
 public:
  Links(Rank& rank, const std::vector<int>& to, const std::vector<int>& from);
  ~Links();
  Links(const Links&) = delete;
  void* send_to(int peer) const { return sends_.at(peer); }
  void* receive_from(int peer) const { return receives_.at(peer); }
  void close();  // every request must be done

 private:
  Rank& rank_;
  std::map<int, void*> sends_, receives_;
};

}  // namespace mrc::net_bench
