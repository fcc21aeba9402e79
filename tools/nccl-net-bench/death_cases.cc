// Cases with a killed peer: pending requests end within the limit, and the process continues.
#include <signal.h>
#include <unistd.h>

#include "case_tools.h"

namespace mrc::net_bench {

namespace {

[[noreturn]] void kill_self() {
  kill(getpid(), SIGKILL);
  _exit(1);
}

Clock::time_point death_limit(Rank& rank) {
  const double seconds = rank.job().at("death_limit_s");
  return Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// Drives the requests until each is done or has failed, and demands that at least one has failed: after the peer's
// death, not everything can have succeeded. Returns how many were done.
int end_all(Rank& rank, std::vector<void*> requests, bool expects_failure) {
  const Clock::time_point limit = death_limit(rank);
  int done_count = 0, failed = 0;
  std::vector<int> sizes(8);
  while (!requests.empty()) {
    std::vector<void*> left;
    for (void* r : requests) {
      int done = 0;
      const ncclResult_t result = rank.net().test(r, &done, sizes.data());
      require(result == ncclSuccess || result == ncclRemoteError || result == ncclSystemError,
              std::string("test after the peer's death returned ") + result_name(result) +
                  " instead of ncclRemoteError or ncclSystemError");
      if (result != ncclSuccess)
        ++failed;
      else if (done)
        ++done_count;
      else
        left.push_back(r);
    }
    require(left.empty() || Clock::now() < limit,
            std::to_string(left.size()) + " requests are still pending " +
                std::to_string(static_cast<int>(rank.job().at("death_limit_s").get<double>())) +
                " s after the peer's death");
    requests = std::move(left);
    usleep(100);
  }
  require(!expects_failure || failed > 0, "every request succeeded though the peer had been killed");
  return done_count;
}

// The survivor's process still works: a connection to itself carries a message.
void connect_to_itself(Rank& rank) {
  Net& net = rank.net();
  rank.stage("connecting to itself after the peer's death");
  Listening l = listen_on(rank, net);
  Handle handle = l.handle;
  void *out = nullptr, *in = nullptr;
  until(
      rank,
      [&] {
        if (out == nullptr) check(net.connect(rank.device(), handle.data(), &out), "connect");
        if (in == nullptr) check(net.accept(l.comm, &in), "accept");
        return out != nullptr && in != nullptr;
      },
      [] { return std::string("no connection after a peer's death"); });
  {
    Buffer from(net, out, 50000), to(net, in, 50000);
    from.fill(3);
    void *sent = nullptr, *received = receive(rank, net, in, {&to}, {1});
    until(
        rank,
        [&] {
          int done = 0;
          if (sent == nullptr) check(net.isend(out, from.data(), 50000, 1, from.memory(), &sent), "isend");
          check(net.test(received, &done, nullptr), "test");
          if (done) received = nullptr;
          if (received == nullptr) return true;
          if (sent != nullptr) {
            check(net.test(sent, &done, nullptr), "test");
            if (done) return finish(rank, net, received, 1, "a message to itself"), true;
          }
          return false;
        },
        [] { return std::string("a message to itself after a peer's death"); });
    to.expect(3, 50000, "a message to itself");
  }
  check(net.close_send(out), "closeSend");
  check(net.close_recv(in), "closeRecv");
  check(net.close_listen(l.comm), "closeListen");
}

// The receiver (rank 0) survives a sender that is killed after a few of many messages.
std::string killed_sending(Rank& rank) {
  Net& net = rank.net();
  Pair pair(rank);
  std::vector<Buffer*> buffers;
  for (int i = 0; i < 16; ++i) buffers.push_back(&pair.buffer(1 << 20));
  if (!pair.receives()) {
    rank.barrier();
    for (int i = 0; i < 6; ++i) {
      void* const r = send(rank, net, pair.comm(), *buffers[static_cast<size_t>(i)], 1 << 20, 1);
      if (i < 2) finish(rank, net, r, 1, "a send");
    }
    kill_self();
  }
  std::vector<void*> requests;
  for (Buffer* b : buffers) requests.push_back(receive(rank, net, pair.comm(), {b}, {1}));
  rank.barrier();
  rank.stage("waiting for receives to fail after the sender was killed");
  end_all(rank, requests, true);
  rank.stage("closing the connection of a dead peer");
  pair.close();
  connect_to_itself(rank);
  return {};
}

// The sender survives a receiver that is killed with receives posted. One message has none: however far the receiver
// came before its end, not everything can have been sent.
std::string killed_receiving(Rank& rank) {
  Net& net = rank.net();
  Pair pair(rank);
  std::vector<Buffer*> buffers;
  for (int i = 0; i < 16; ++i) buffers.push_back(&pair.buffer(4 << 20));
  if (pair.receives()) {
    buffers.pop_back();
    std::vector<void*> requests;
    for (Buffer* b : buffers) requests.push_back(receive(rank, net, pair.comm(), {b}, {1}));
    rank.barrier();
    finish(rank, net, requests[0], 1, "the first receive");
    kill_self();
  }
  rank.barrier();
  std::vector<void*> requests;
  bool refused = false;
  for (Buffer* b : buffers) {
    void* request = nullptr;
    // Some of these may already fail because of the ended peer.
    until(
        rank,
        [&] {
          refused = net.isend(pair.comm(), b->data(), b->size(), 1, b->memory(), &request) != ncclSuccess;
          return refused || request != nullptr;
        },
        [] { return std::string("isend to a peer that was killed gives neither request nor error"); });
    if (refused) break;
    requests.push_back(request);
  }
  rank.stage("waiting for sends to fail after the receiver was killed");
  end_all(rank, requests, !refused);
  rank.stage("closing the connection of a dead peer");
  pair.close();
  connect_to_itself(rank);
  return {};
}

void isend_until_it_fails(Rank& rank, Pair& pair, Buffer& buffer, int tag) {
  rank.stage("waiting for isend to fail after the receiver was killed");
  const Clock::time_point limit = death_limit(rank);
  for (;;) {
    void* request = nullptr;
    if (rank.net().isend(pair.comm(), buffer.data(), buffer.size(), tag, buffer.memory(), &request) != ncclSuccess)
      return;
    require(Clock::now() < limit, "isend gives neither request nor error after the peer's death");
    if (request != nullptr)
      end_all(rank, {request}, false);
    else
      usleep(100);
  }
}

// Nothing is posted at the sender: isend returns no request and must eventually fail.
std::string killed_before_posting(Rank& rank) {
  Pair pair(rank);
  if (pair.receives()) {
    rank.barrier();
    kill_self();
  }
  Buffer& buffer = pair.buffer(1000);
  rank.barrier();
  isend_until_it_fails(rank, pair, buffer, 1);
  pair.close();
  connect_to_itself(rank);
  return {};
}

// A group is posted, but its member of this tag has been sent: isend returns no request and must eventually fail.
std::string killed_with_a_group(Rank& rank) {
  if (rank.properties().maxRecvs < 2) return "maxRecvs is 1";
  Net& net = rank.net();
  Pair pair(rank);
  Buffer &first = pair.buffer(1000), &second = pair.buffer(1000);
  if (pair.receives()) {
    receive(rank, net, pair.comm(), {&first, &second}, {1, 2});
    rank.barrier();
    kill_self();
  }
  finish(rank, net, send(rank, net, pair.comm(), first, 1000, 1), 1, "the send of tag 1");
  rank.barrier();
  isend_until_it_fails(rank, pair, second, 1);
  pair.close();
  connect_to_itself(rank);
  return {};
}

// Rank 1 ends between connect and its acceptance; the listener still serves rank 2.
std::string killed_in_setup(Rank& rank) {
  Net& net = rank.net();
  if (rank.rank() == 0) {
    const Listening first = listen_on(rank, net), second = listen_on(rank, net);
    rank.exchange({handle_text(first.handle), handle_text(second.handle)});
    rank.barrier();
    void* dead = nullptr;
    for (int i = 0; i < 1000 && dead == nullptr; ++i)
      if (net.accept(first.comm, &dead) != ncclSuccess) break;
    void* const alive = accept_from(rank, net, second.comm, "rank 2");
    {
      Buffer buffer(net, alive, 1000);
      finish(rank, net, receive(rank, net, alive, {&buffer}, {1}), 1, "a receive");
      buffer.expect(2, 1000, "a message beside a dead peer's set-up");
    }
    rank.barrier();
    check(net.close_recv(alive), "closeRecv");
    if (dead != nullptr) check(net.close_recv(dead), "closeRecv of a dead peer's connection");
    check(net.close_listen(first.comm), "closeListen");
    check(net.close_listen(second.comm), "closeListen");
    return {};
  }
  const Json handles = rank.exchange(nullptr).at(0);
  Handle handle = handle_from(handles.at(static_cast<size_t>(rank.rank() - 1)));
  if (rank.rank() == 1) {
    void* comm = nullptr;
    check(net.connect(rank.device(), handle.data(), &comm), "connect");
    rank.barrier();
    kill_self();
  }
  rank.barrier();
  void* const comm = connect_to(rank, net, handle, "rank 0");
  {
    Buffer buffer(net, comm, 1000);
    buffer.fill(2);
    finish(rank, net, send(rank, net, comm, buffer, 1000, 1), 1, "a send");
  }
  rank.barrier();
  check(net.close_send(comm), "closeSend");
  return {};
}

}  // namespace

std::vector<Case> death_cases() {
  return {
      {"peer-killed-sending",
       "receives end with an error when the sender is killed; the process goes on",
       2,
       {kSender},
       killed_sending},
      {"peer-killed-receiving",
       "sends end with an error when the receiver is killed; the process goes on",
       2,
       {kReceiver},
       killed_receiving},
      {"peer-killed-idle",
       "isend fails when the receiver was killed before it posted",
       2,
       {kReceiver},
       killed_before_posting},
      {"peer-killed-in-group",
       "isend of a tag that the posted group has no more fails when the receiver was killed",
       2,
       {kReceiver},
       killed_with_a_group},
      {"peer-killed-in-setup",
       "a peer that dies in connect does not disturb another's connection",
       3,
       {1},
       killed_in_setup},
  };
}

}  // namespace mrc::net_bench
