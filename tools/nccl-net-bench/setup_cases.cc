// Cases about initialisation, properties and connection set-up.
#include <cstring>
#include <deque>

#include "case_tools.h"

namespace mrc::net_bench {

namespace {

std::string properties(Rank& rank) {
  int count = 0;
  check(rank.net().devices(&count), "devices");
  require(rank.net().name()[0] != '\0', "the plugin's name is empty");
  for (int i = 0; i < count; ++i) {
    ncclNetProperties_t p;
    check(rank.net().properties(i, &p), "getProperties");
    const std::string device = "device " + std::to_string(i) + ": ";
    require(p.name != nullptr && p.name[0] != '\0', device + "no name");
    require(p.speed > 0, device + "speed is not above 0");
    require(p.maxComms > 0, device + "maxComms is not above 0");
    require(p.maxRecvs >= 1 && p.maxRecvs <= 8, device + "maxRecvs is not 1 to 8");
    require((p.ptrSupport & ~(NCCL_PTR_HOST | NCCL_PTR_CUDA | NCCL_PTR_DMABUF)) == 0,
            device + "unknown bits in ptrSupport");
    require(p.latency >= 0, device + "negative latency");
    if (rank.net().version() >= 9) {
      require(p.vProps.ndevs >= 0 && p.vProps.ndevs <= 8, device + "vProps.ndevs out of range");
      require(p.maxP2pBytes > 0, device + "maxP2pBytes is 0");
    }
  }
  return {};
}

// No call may wait for the peer: the barrier lies between the first call and the peer's.
std::string connect_first(Rank& rank) {
  Net& net = rank.net();
  if (rank.rank() == kReceiver) {
    const Listening l = listen_on(rank, net);
    rank.exchange(handle_text(l.handle));
    rank.barrier();
    void* const comm = accept_from(rank, net, l.comm, "rank 1");
    check(net.close_listen(l.comm), "closeListen");
    rank.barrier();
    check(net.close_recv(comm), "closeRecv");
  } else {
    Handle handle = handle_from(rank.exchange(nullptr).at(kReceiver));
    rank.stage("in its first connect, which must not wait for accept");
    void* comm = nullptr;
    for (int i = 0; i < 100 && comm == nullptr; ++i) check(net.connect(rank.device(), handle.data(), &comm), "connect");
    rank.barrier();
    if (comm == nullptr) comm = connect_to(rank, net, handle, "rank 0");
    rank.barrier();
    check(net.close_send(comm), "closeSend");
  }
  return {};
}

std::string accept_first(Rank& rank) {
  Net& net = rank.net();
  if (rank.rank() == kReceiver) {
    const Listening l = listen_on(rank, net);
    rank.stage("in its first accept, which must not wait for connect");
    void* comm = nullptr;
    for (int i = 0; i < 100; ++i) check(net.accept(l.comm, &comm), "accept");
    require(comm == nullptr, "accept gave a communicator before anybody connected");
    rank.exchange(handle_text(l.handle));
    comm = accept_from(rank, net, l.comm, "rank 1");
    check(net.close_listen(l.comm), "closeListen");
    rank.barrier();
    check(net.close_recv(comm), "closeRecv");
  } else {
    Handle handle = handle_from(rank.exchange(nullptr).at(kReceiver));
    void* const comm = connect_to(rank, net, handle, "rank 0");
    rank.barrier();
    check(net.close_send(comm), "closeSend");
  }
  return {};
}

// Only 128 bytes belong to the plugin, and only their values travel: the listener's copy is overwritten at once.
std::string handle_bytes(Rank& rank) {
  Net& net = rank.net();
  struct {
    char before[64], handle[NCCL_NET_HANDLE_MAXSIZE], after[64];
  } area;
  memset(&area, 0x5a, sizeof area);
  const auto guards_stand = [&] {
    for (size_t i = 0; i < sizeof area.before; ++i)
      if (area.before[i] != 0x5a || area.after[i] != 0x5a) return false;
    return true;
  };
  if (rank.rank() == kReceiver) {
    void* listening = nullptr;
    check(net.listen(rank.device(), area.handle, &listening), "listen");
    require(guards_stand(), "listen wrote outside of the handle's 128 bytes");
    Handle copy;
    memcpy(copy.data(), area.handle, copy.size());
    memset(area.handle, 0xff, sizeof area.handle);
    rank.exchange(handle_text(copy));
    void* const comm = accept_from(rank, net, listening, "rank 1");
    check(net.close_listen(listening), "closeListen");
    rank.barrier();
    check(net.close_recv(comm), "closeRecv");
  } else {
    const Handle handle = handle_from(rank.exchange(nullptr).at(kReceiver));
    memcpy(area.handle, handle.data(), handle.size());
    void* comm = nullptr;
    until(
        rank, [&] { return check(net.connect(rank.device(), area.handle, &comm), "connect"), comm != nullptr; },
        [] { return std::string("connect with the copied handle gives no communicator"); });
    require(guards_stand(), "connect wrote outside of the handle's 128 bytes");
    rank.barrier();
    check(net.close_send(comm), "closeSend");
  }
  return {};
}

// Sixteen connections, each from a listen of its own, some made while others carry data.
std::string many_connections(Rank& rank) {
  std::deque<Pair> pairs;
  for (int i = 0; i < 16; ++i) {
    pairs.emplace_back(rank);
    pairs.front().exchange_message(1000, i);
    pairs.back().exchange_message(5000, i + 100);
  }
  rank.barrier();
  for (Pair& p : pairs) p.close();
  return {};
}

std::string two_contexts(Rank& rank) {
  if (rank.net().version() < 11) return "contexts exist from version 11 on";
  const std::unique_ptr<Net> second = rank.another();
  Pair a(rank), b(rank, *second);
  a.exchange_message(10000, 1);
  b.exchange_message(10000, 2);
  rank.barrier();
  b.close();
  check(second->finalize(), "finalize of the second context");
  a.exchange_message(10000, 3);
  rank.barrier();
  a.close();
  return {};
}

}  // namespace

std::vector<Case> setup_cases() {
  return {
      {"properties", "name, speed, maxComms, maxRecvs, ptrSupport of every device make sense", 1, {}, properties},
      {"connect-before-accept",
       "connect returns at once, however often, before the peer accepts",
       2,
       {},
       connect_first},
      {"accept-before-connect",
       "accept returns at once without a communicator before anybody connects",
       2,
       {},
       accept_first},
      {"handle-bytes", "the handle is 128 bytes that work wherever they are copied", 2, {}, handle_bytes},
      {"many-connections",
       "16 connections between two processes, made while others carry data",
       2,
       {},
       many_connections},
      {"two-contexts", "a second context lives and ends without touching the first", 2, {}, two_contexts},
  };
}

}  // namespace mrc::net_bench
