// Cases about groups: several buffers posted as one request, distinguished by tags.
#include <algorithm>
#include <deque>

#include "case_tools.h"

namespace mrc::net_bench {

namespace {

constexpr int kFirstTag = 100;

std::string single_only(Rank& rank) {
  return rank.properties().maxRecvs < 2 ? "maxRecvs is 1" : "";
}

size_t group_of(Rank& rank) {
  return static_cast<size_t>(std::min(rank.properties().maxRecvs, 8));
}

size_t size_of(size_t group, size_t member) {
  return (group * 131 + member * 977) % 6000;
}

// Receives `count` groups, all posted before the first is finished; checks sizes and data by member.
void receive_groups(Rank& rank, Net& net, void* comm, size_t count) {
  const size_t members = group_of(rank);
  std::deque<Buffer> buffers;
  std::vector<void*> requests;
  std::vector<int> tags;
  for (size_t m = 0; m < members; ++m) tags.push_back(kFirstTag + static_cast<int>(m));
  for (size_t g = 0; g < count; ++g) {
    std::vector<Buffer*> group;
    for (size_t m = 0; m < members; ++m) group.push_back(&buffers.emplace_back(net, comm, 6000));
    rank.stage("posting group " + std::to_string(g));
    requests.push_back(receive(rank, net, comm, group, tags));
  }
  rank.barrier();
  for (size_t g = 0; g < count; ++g) {
    const std::string what = "group " + std::to_string(g);
    const std::vector<int> sizes = finish(rank, net, requests[g], static_cast<int>(members), what);
    for (size_t m = 0; m < members; ++m) {
      require(sizes[m] == static_cast<int>(size_of(g, m)), what + ": member " + std::to_string(m) + " has size " +
                                                               std::to_string(sizes[m]) + ", sent were " +
                                                               std::to_string(size_of(g, m)));
      buffers[g * members + m].expect(static_cast<int>(g * 8 + m), size_of(g, m),
                                      what + ", member " + std::to_string(m));
    }
  }
}

// Sends the members of each group from the last to the first.
void send_groups(Rank& rank, Net& net, void* comm, size_t count) {
  const size_t members = group_of(rank);
  rank.barrier();
  for (size_t g = 0; g < count; ++g) {
    std::deque<Buffer> buffers;
    std::vector<void*> requests;
    for (size_t m = members; m-- > 0;) {
      buffers.emplace_back(net, comm, 6000).fill(static_cast<int>(g * 8 + m));
      rank.stage("sending member " + std::to_string(m) + " of group " + std::to_string(g));
      requests.push_back(send(rank, net, comm, buffers.back(), size_of(g, m), kFirstTag + static_cast<int>(m)));
    }
    for (void* r : requests) finish(rank, net, r, 1, "a member of a group");
  }
}

std::string run_groups(Rank& rank, size_t count) {
  if (std::string why = single_only(rank); !why.empty()) return why;
  Pair pair(rank);
  if (pair.receives())
    receive_groups(rank, rank.net(), pair.comm(), count);
  else
    send_groups(rank, rank.net(), pair.comm(), count);
  rank.barrier();
  pair.close();
  return {};
}

std::string one_group(Rank& rank) {
  return run_groups(rank, 1);
}
std::string groups_in_flight(Rank& rank) {
  return run_groups(rank, NCCL_NET_MAX_REQUESTS);
}

// A tag that is in no posted group must wait, and must not take another member's place.
std::string foreign_tag(Rank& rank) {
  Net& net = rank.net();
  Pair pair(rank);
  Buffer &first = pair.buffer(1000), &second = pair.buffer(1000);
  if (pair.receives()) {
    void* const a = receive(rank, net, pair.comm(), {&first}, {1});
    rank.barrier();  // the sender has offered tag 2
    finish(rank, net, a, 1, "the receive of tag 1");
    first.expect(1, 1000, "the receive of tag 1");
    void* const b = receive(rank, net, pair.comm(), {&second}, {2});
    finish(rank, net, b, 1, "the receive of tag 2");
    second.expect(2, 1000, "the receive of tag 2");
  } else {
    first.fill(1);
    second.fill(2);
    void* early = nullptr;
    for (int i = 0; i < 100 && early == nullptr; ++i)
      check(net.isend(pair.comm(), second.data(), 1000, 2, second.memory(), &early),
            "isend of a tag that is not posted");
    require(early == nullptr, "isend took a tag that no posted receive has");
    rank.barrier();
    finish(rank, net, send(rank, net, pair.comm(), first, 1000, 1), 1, "the send of tag 1");
    finish(rank, net, send(rank, net, pair.comm(), second, 1000, 2), 1, "the send of tag 2");
  }
  rank.barrier();
  pair.close();
  return {};
}

// The caller does not wait for the completion; the request is finished later all the same.
std::string optional_completion(Rank& rank) {
  if (rank.net().version() < 9) return "NCCL requests optional completion from version 9 on";
  Net& net = rank.net();
  Pair pair(rank);
  constexpr int kMessages = 100;
  Buffer& buffer = pair.buffer(4096);
  for (int i = 0; i < kMessages; ++i) {
    if (pair.receives()) {
      void *data = buffer.data(), *memory = buffer.memory(), *request = nullptr;
      size_t size = buffer.size();
      int tag = 1, got = 0;
      until(
          rank,
          [&] {
            request = reinterpret_cast<void*>(NCCL_NET_OPTIONAL_RECV_COMPLETION);
            check(net.irecv(pair.comm(), 1, &data, &size, &tag, &memory, &request), "irecv with optional completion");
            return request != nullptr;
          },
          [] { return std::string("irecv with optional completion gives no request"); });
      require(request != reinterpret_cast<void*>(NCCL_NET_OPTIONAL_RECV_COMPLETION),
              "irecv left the flag in the place of the request");
      int done = 0;
      until(
          rank, [&] { return check(net.test(request, &done, &got), "test"), done != 0; },
          [] { return std::string("a receive with optional completion is never done"); });
      // As in LL protocols: the data themselves show their arrival.
      const volatile char* const bytes = buffer.data();
      until(
          rank,
          [&] {
            for (size_t at = 0; at < 4096; ++at)
              if (bytes[at] != static_cast<char>(pattern(i, 1, at))) return false;
            return true;
          },
          [] { return std::string("the data of a receive with optional completion"); });
    } else {
      buffer.fill(i);
      finish(rank, net, send(rank, net, pair.comm(), buffer, 4096, 1), 1, "a send");
    }
    rank.barrier();
  }
  pair.close();
  return {};
}

std::string flush(Rank& rank) {
  Net& net = rank.net();
  Pair pair(rank);
  Buffer& buffer = pair.buffer(10000);
  if (pair.receives()) {
    finish(rank, net, receive(rank, net, pair.comm(), {&buffer}, {1}), 1, "a receive");
    void *data = buffer.data(), *memory = buffer.memory(), *request = nullptr;
    int size = 10000;
    check(net.iflush(pair.comm(), 1, &data, &size, &memory, &request), "iflush of host memory");
    if (request != nullptr) finish(rank, net, request, 1, "iflush");
    buffer.expect(6, 10000, "a flushed message");
  } else {
    buffer.fill(6);
    finish(rank, net, send(rank, net, pair.comm(), buffer, 10000, 1), 1, "a send");
  }
  rank.barrier();
  pair.close();
  return {};
}

// NCCL reports that it has copied a receive, if the table has the function for it, and treats any result but
// ncclSuccess for the end of the communicator.
std::string consumed(Rank& rank) {
  if (rank.net().version() < 7) return "irecvConsumed exists from version 7 on";
  Net& net = rank.net();
  Pair pair(rank);
  Buffer& buffer = pair.buffer(1000);
  for (int seed = 1; seed < 10; ++seed) {
    if (pair.receives()) {
      void* const request = receive(rank, net, pair.comm(), {&buffer}, {1});
      finish(rank, net, request, 1, "a receive");
      check(net.irecv_consumed(pair.comm(), 1, request), "irecvConsumed of a receive that is done");
      buffer.expect(seed, 1000, "a message before irecvConsumed");
    } else {
      buffer.fill(seed);
      finish(rank, net, send(rank, net, pair.comm(), buffer, 1000, 1), 1, "a send");
    }
    rank.barrier();
  }
  pair.close();
  return {};
}

}  // namespace

std::vector<Case> group_cases() {
  return {
      {"group", "a group of maxRecvs receives takes its members by tag, in any order of sending", 2, {}, one_group},
      {"32-groups-in-flight",
       "32 groups may be in flight; sizes are reported in the order of posting",
       2,
       {},
       groups_in_flight},
      {"foreign-tag", "isend with a tag that is not posted gives no request", 2, {}, foreign_tag},
      {"optional-completion",
       "irecv with NCCL_NET_OPTIONAL_RECV_COMPLETION places data and ends",
       2,
       {},
       optional_completion},
      {"flush", "iflush succeeds for host memory", 2, {}, flush},
      {"consumed",
       "irecvConsumed, if there is one, succeeds: NCCL calls it whatever the type of the network",
       2,
       {},
       consumed},
  };
}

}  // namespace mrc::net_bench
