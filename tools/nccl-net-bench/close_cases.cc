// Cases about closing: in every state, without leaks.
#include "case_tools.h"

namespace mrc::net_bench {

namespace {

std::string listen_only(Rank& rank) {
  for (int i = 0; i < 10; ++i) {
    const Listening l = listen_on(rank, rank.net());
    void* comm = nullptr;
    if (i % 2) check(rank.net().accept(l.comm, &comm), "accept");
    check(rank.net().close_listen(l.comm), "closeListen without a connection");
  }
  return {};
}

// The peer was still connecting. It may learn so by an error or stay unconnected; afterwards both sides work.
std::string listen_during_setup(Rank& rank) {
  Net& net = rank.net();
  if (rank.rank() == kReceiver) {
    const Listening l = listen_on(rank, net);
    rank.exchange(handle_text(l.handle));
    rank.barrier();
    check(net.close_listen(l.comm), "closeListen while a peer connects");
    rank.barrier();
  } else {
    Handle handle = handle_from(rank.exchange(nullptr).at(kReceiver));
    void* comm = nullptr;
    for (int i = 0; i < 10 && comm == nullptr; ++i) check(net.connect(rank.device(), handle.data(), &comm), "connect");
    rank.barrier();
    rank.barrier();
    rank.stage("in connect to a listener that was closed");
    for (int i = 0; i < 100 && comm == nullptr; ++i)
      if (net.connect(rank.device(), handle.data(), &comm) != ncclSuccess) break;
    if (comm != nullptr) check(net.close_send(comm), "closeSend of a connection that was not accepted");
  }
  Pair pair(rank);
  pair.exchange_message(1000, 1);
  rank.barrier();
  pair.close();
  return {};
}

std::string with_receives_pending(Rank& rank) {
  Net& net = rank.net();
  {
    Pair pair(rank);
    if (pair.receives())
      for (int i = 0; i < 8; ++i) receive(rank, net, pair.comm(), {&pair.buffer(1000)}, {1});
    rank.barrier();
    rank.stage("closing with receives pending");
    pair.close();
    rank.barrier();
  }
  Pair next(rank);
  next.exchange_message(1000, 1);
  rank.barrier();
  next.close();
  return {};
}

// The sender closes with sends that it never tested.
std::string with_sends_pending(Rank& rank) {
  Net& net = rank.net();
  {
    Pair pair(rank);
    std::vector<Buffer*> buffers;
    for (int i = 0; i < 4; ++i) {
      buffers.push_back(&pair.buffer(1 << 20));
      if (pair.receives()) receive(rank, net, pair.comm(), {buffers.back()}, {1});
    }
    rank.barrier();
    if (!pair.receives())
      for (Buffer* b : buffers) send(rank, net, pair.comm(), *b, b->size(), 1);
    rank.barrier();
    rank.stage("closing with sends pending");
    if (pair.receives()) {
      rank.barrier();
      pair.close();
    } else {
      pair.close();
      rank.barrier();
    }
    rank.barrier();
  }
  Pair next(rank);
  next.exchange_message(1000, 1);
  rank.barrier();
  next.close();
  return {};
}

// Whatever was reported as done has arrived, though the sender closed right after.
std::string after_last_send(Rank& rank) {
  Net& net = rank.net();
  for (int turn = 0; turn < 5; ++turn) {
    Pair pair(rank);
    Buffer &buffer = pair.buffer(4 << 20), &unused = pair.buffer(1000);
    if (pair.receives()) {
      void* const r = receive(rank, net, pair.comm(), {&buffer}, {1});
      receive(rank, net, pair.comm(), {&unused}, {1});  // is posted and never sent to
      finish(rank, net, r, 1, "the last message of a sender that closed");
      buffer.expect(turn, buffer.size(), "the last message of a sender that closed");
    } else {
      buffer.fill(turn);
      finish(rank, net, send(rank, net, pair.comm(), buffer, buffer.size(), 1), 1, "the last send");
    }
    pair.close();
    rank.barrier();
  }
  return {};
}

std::string descriptors(Rank& rank) {
  const auto turn = [&] {
    Pair pair(rank);
    pair.exchange_message(1000, 1);
    rank.barrier();
    pair.close();
    rank.barrier();
  };
  for (int i = 0; i < 3; ++i) turn();  // what is opened once and kept
  const int before = open_descriptors();
  for (int i = 0; i < 20; ++i) turn();
  // Descriptors may be closed by a thread of the plugin.
  until(
      rank, [&] { return open_descriptors() <= before; },
      [&] { return "20 connections left " + std::to_string(open_descriptors() - before) + " descriptors open"; });
  return {};
}

}  // namespace

std::vector<Case> close_cases() {
  return {
      {"close-listen", "a listener closes without a connection", 1, {}, listen_only},
      {"close-during-setup",
       "a listener closes while a peer connects; the next connection works",
       2,
       {},
       listen_during_setup},
      {"close-receives-pending", "closeRecv ends receives that are posted", 2, {}, with_receives_pending},
      {"close-sends-pending", "closeSend ends sends that were not tested", 2, {}, with_sends_pending},
      {"close-after-send", "what was sent and tested arrives though the sender closes at once", 2, {}, after_last_send},
      {"descriptors", "connections leave no descriptor behind", 2, {}, descriptors},
  };
}

}  // namespace mrc::net_bench
