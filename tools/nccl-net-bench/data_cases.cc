// Cases about single messages: sizes, requests in flight, order, registration.
#include <deque>

#include "case_tools.h"

namespace mrc::net_bench {

namespace {

std::string sizes(Rank& rank) {
  Pair pair(rank);
  int seed = 0;
  for (size_t size : {0, 1, 7, 8, 63, 64, 4095, 4096, 4097, 65536, 1048579, 0, 16777216})
    pair.exchange_message(size, ++seed);
  rank.barrier();
  pair.close();
  return {};
}

// A message is at most as large as the posted buffer; the receiver gets the real size.
std::string smaller_than_posted(Rank& rank) {
  Net& net = rank.net();
  Pair pair(rank);
  for (size_t size : {0, 1, 100, 5000}) {
    Buffer& buffer = pair.buffer(5000);
    if (pair.receives()) {
      void* const r = receive(rank, net, pair.comm(), {&buffer}, {1});
      const int got = finish(rank, net, r, 1, "a receive of 5000")[0];
      require(got == static_cast<int>(size),
              "a message of " + std::to_string(size) + " bytes was reported as " + std::to_string(got));
      buffer.expect(4, size, "a message that is smaller than posted");
    } else {
      buffer.fill(4);
      finish(rank, net, send(rank, net, pair.comm(), buffer, size, 1), 1, "a send");
    }
  }
  rank.barrier();
  pair.close();
  return {};
}

// A receive that is not posted yet is no error: isend returns no request, or one that is done later.
std::string send_before_receive(Rank& rank) {
  Net& net = rank.net();
  Pair pair(rank);
  Buffer& buffer = pair.buffer(3000);
  if (pair.receives()) {
    rank.barrier();
    void* const r = receive(rank, net, pair.comm(), {&buffer}, {1});
    finish(rank, net, r, 1, "the receive");
    buffer.expect(9, 3000, "a message that was sent early");
  } else {
    buffer.fill(9);
    rank.stage("in an isend without a posted receive");
    void* request = nullptr;
    for (int i = 0; i < 100 && request == nullptr; ++i)
      check(net.isend(pair.comm(), buffer.data(), 3000, 1, buffer.memory(), &request),
            "isend without a posted receive");
    rank.barrier();
    if (request == nullptr) request = send(rank, net, pair.comm(), buffer, 3000, 1);
    finish(rank, net, request, 1, "the send");
  }
  rank.barrier();
  pair.close();
  return {};
}

// All 32 requests at once on both sides, finished from the last to the first on the receiver.
std::string full_queue(Rank& rank) {
  Net& net = rank.net();
  Pair pair(rank);
  std::vector<Buffer*> buffers;
  std::vector<void*> requests;
  for (int i = 0; i < NCCL_NET_MAX_REQUESTS; ++i) buffers.push_back(&pair.buffer(1000 + i * 700));
  if (pair.receives()) {
    for (int i = 0; i < NCCL_NET_MAX_REQUESTS; ++i) {
      rank.stage("posting receive " + std::to_string(i + 1) + " of 32");
      requests.push_back(receive(rank, net, pair.comm(), {buffers[static_cast<size_t>(i)]}, {5}));
    }
    rank.barrier();
    for (size_t i = requests.size(); i-- > 0;) {
      const int got = finish(rank, net, requests[i], 1, "receive " + std::to_string(i))[0];
      require(got == static_cast<int>(buffers[i]->size()),
              "receive " + std::to_string(i) + " has the size of another one: " + std::to_string(got));
      buffers[i]->expect(static_cast<int>(i), buffers[i]->size(), "receive " + std::to_string(i) + " of 32");
    }
  } else {
    rank.barrier();
    for (size_t i = 0; i < buffers.size(); ++i) {
      buffers[i]->fill(static_cast<int>(i));
      rank.stage("posting send " + std::to_string(i + 1) + " of 32");
      requests.push_back(send(rank, net, pair.comm(), *buffers[i], buffers[i]->size(), 5));
    }
    for (void* r : requests) finish(rank, net, r, 1, "a send");
  }
  rank.barrier();
  pair.close();
  return {};
}

// Requests and FIFO slots are used again and again; sizes follow a sequence so that every swap shows.
std::string long_run(Rank& rank) {
  Net& net = rank.net();
  Pair pair(rank);
  constexpr int kMessages = 3000, kWindow = 16;
  const auto size_of = [](int i) { return static_cast<size_t>(i * 37 % 2000); };
  std::vector<Buffer*> buffers;
  for (int i = 0; i < kWindow; ++i) buffers.push_back(&pair.buffer(2000));
  std::deque<void*> requests;
  for (int i = 0; i < kMessages + kWindow; ++i) {
    Buffer& b = *buffers[static_cast<size_t>(i % kWindow)];
    if (i >= kWindow) {
      const int k = i - kWindow;
      const int got = finish(rank, net, requests.front(), 1, "message " + std::to_string(k))[0];
      requests.pop_front();
      if (pair.receives()) {
        require(got == static_cast<int>(size_of(k)), "message " + std::to_string(k) + " was overtaken or lost");
        for (size_t at = 0; at < size_of(k); ++at)
          require(b.data()[at] == static_cast<char>(pattern(k % 251, 1, at)),
                  "message " + std::to_string(k) + " has wrong data");
      }
    }
    if (i >= kMessages) continue;
    if (!pair.receives()) b.fill(i % 251);
    requests.push_back(pair.receives() ? receive(rank, net, pair.comm(), {&b}, {2})
                                       : send(rank, net, pair.comm(), b, size_of(i), 2));
  }
  rank.barrier();
  pair.close();
  return {};
}

std::string both_directions(Rank& rank) {
  // Two connections, one each way, as a ring of two has; both are busy at once.
  const int other = 1 - rank.rank();
  Net& net = rank.net();
  Links links(rank, {other}, {other});
  void* const out = links.send_to(other);
  void* const in = links.receive_from(other);
  std::deque<Buffer> sent, received;
  std::vector<void*> sends, receives;
  for (int i = 0; i < 8; ++i) {
    received.emplace_back(net, in, 300000);
    receives.push_back(receive(rank, net, in, {&received.back()}, {1}));
  }
  for (int i = 0; i < 8; ++i) {
    sent.emplace_back(net, out, 300000).fill(rank.rank() * 10 + i);
    // isend of the eighth may need progress of the first on the other side, which tests in its own loop.
    sends.push_back(send(rank, net, out, sent.back(), 300000, 1));
  }
  for (size_t i = 0; i < 8; ++i) {
    int sent_done = 0, received_done = 0;
    until(
        rank,
        [&] {
          if (!sent_done) check(net.test(sends[i], &sent_done, nullptr), "test of a send");
          if (!received_done) check(net.test(receives[i], &received_done, nullptr), "test of a receive");
          return sent_done && received_done;
        },
        [] { return std::string("transfers in both directions at once"); });
    received[i].expect(other * 10 + static_cast<int>(i), 300000, "a message against traffic");
  }
  sent.clear();
  received.clear();
  rank.barrier();
  links.close();
  return {};
}

// The same bytes registered twice and in overlapping pieces; one registration ends, the other continues.
std::string registration(Rank& rank) {
  Net& net = rank.net();
  Pair pair(rank);
  std::vector<char> bytes(100000);
  for (int turn = 0; turn < 3; ++turn) {
    auto gone = std::make_unique<Memory>(net, pair.comm(), bytes.data(), bytes.size());
    const Memory kept(net, pair.comm(), bytes.data() + 1000, 50000);
    gone.reset();
    void* data = bytes.data() + 3000;
    void* memory = kept.handle();
    void* request = nullptr;
    size_t size = 20000;
    int tag = 1;
    for (size_t i = 0; i < size; ++i) bytes[3000 + i] = pair.receives() ? '\0' : static_cast<char>(pattern(turn, 2, i));
    until(
        rank,
        [&] {
          check(pair.receives() ? net.irecv(pair.comm(), 1, &data, &size, &tag, &memory, &request)
                                : net.isend(pair.comm(), data, size, tag, memory, &request),
                "a transfer in a region whose twin was deregistered");
          return request != nullptr;
        },
        [] { return std::string("no request"); });
    finish(rank, net, request, 1, "a transfer in a region whose twin was deregistered");
    for (size_t i = 0; i < size; ++i)
      require(bytes[3000 + i] == static_cast<char>(pattern(turn, 2, i)),
              "wrong data in a region whose twin was deregistered");
  }
  rank.barrier();
  pair.close();
  return {};
}

// NCCL stages through host memory only if the plugin reports that device memory does not work.
std::string device_memory_refused(Rank& rank) {
  if (rank.properties().ptrSupport & NCCL_PTR_CUDA) return "the device supports CUDA pointers";
  Pair pair(rank);
  std::vector<char> bytes(4096);
  void* memory = nullptr;
  require(rank.net().reg(pair.comm(), bytes.data(), bytes.size(), NCCL_PTR_CUDA, &memory) != ncclSuccess,
          "regMr of a CUDA pointer succeeds though ptrSupport does not offer it");
  pair.exchange_message(1000, 1);
  rank.barrier();
  pair.close();
  return {};
}

}  // namespace

std::vector<Case> data_cases() {
  return {
      {"sizes", "messages of 0 bytes to 16 MiB arrive whole, and nothing around them is written", 2, {}, sizes},
      {"smaller-than-posted",
       "test reports the size that was sent, not the size that was posted",
       2,
       {},
       smaller_than_posted},
      {"send-before-receive", "isend without a posted receive neither fails nor waits", 2, {}, send_before_receive},
      {"32-in-flight", "32 receives and 32 sends may be in flight, and may be tested in any order", 2, {}, full_queue},
      {"long-run", "3000 messages through a window of 16 keep their order", 2, {}, long_run},
      {"both-directions", "connections of both directions make progress together", 2, {}, both_directions},
      {"registration", "regions may overlap, and one's end leaves the other", 2, {}, registration},
      {"device-memory-refused",
       "regMr refuses pointer types that ptrSupport does not offer",
       2,
       {},
       device_memory_refused},
  };
}

}  // namespace mrc::net_bench
