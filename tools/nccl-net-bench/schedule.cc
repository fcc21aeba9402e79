#include "schedule.h"

#include <algorithm>

namespace mrc::net_bench {

namespace {

constexpr int kTag = 7;  // one message in each group, so any tag will do as long as both sides use it

struct Flight {
  std::vector<void*> ring;  // requests of messages posted and not done, by number modulo depth
  size_t posted = 0, done = 0;
};

bool post_send(Net& net, SendFlow& f, Flight& flight, const std::vector<Flight>& received) {
  if (flight.posted == f.messages.size() || flight.posted - flight.done == flight.ring.size()) return false;
  const SendMessage& m = f.messages[flight.posted];
  if (m.after_flow >= 0 && received[static_cast<size_t>(m.after_flow)].done < m.after_count) return false;
  const bool from_input = f.input != nullptr && m.data >= f.input && m.data < f.input + f.input_size;
  void*& request = flight.ring[flight.posted % flight.ring.size()];
  request = nullptr;
  check(net.isend(f.comm, const_cast<char*>(m.data), m.size, kTag, from_input ? f.input_memory : f.memory, &request),
        "isend");
  if (request == nullptr) return false;
  ++flight.posted;
  return true;
}

bool post_receive(Net& net, ReceiveFlow& f, Flight& flight) {
  if (flight.posted == f.messages.size() || flight.posted - flight.done == flight.ring.size()) return false;
  const ReceiveMessage& m = f.messages[flight.posted];
  const size_t slot = flight.posted % flight.ring.size();
  void* data = m.add != nullptr ? f.scratch + slot * f.slot : m.data;
  void* memory = m.add != nullptr ? f.scratch_memory : f.memory;
  int tag = kTag;
  flight.ring[slot] = nullptr;
  check(net.irecv(f.comm, 1, &data, &m.size, &tag, &memory, &flight.ring[slot]), "irecv");
  if (flight.ring[slot] == nullptr) return false;
  ++flight.posted;
  return true;
}

bool finish_send(Net& net, Flight& flight) {
  if (flight.done == flight.posted) return false;
  int done = 0;
  check(net.test(flight.ring[flight.done % flight.ring.size()], &done, nullptr), "test of a send");
  flight.done += done ? 1 : 0;
  return done != 0;
}

bool finish_receive(Net& net, ReceiveFlow& f, Flight& flight) {
  if (flight.done == flight.posted) return false;
  const size_t slot = flight.done % flight.ring.size();
  int done = 0, size = -1;
  check(net.test(flight.ring[slot], &done, &size), "test of a receive");
  if (!done) return false;
  const ReceiveMessage& m = f.messages[flight.done];
  if (size != static_cast<int>(m.size))
    throw Fail("a message of " + std::to_string(m.size) + " bytes was received as " + std::to_string(size));
  if (m.add != nullptr) {
    const float* const came = reinterpret_cast<const float*>(f.scratch + slot * f.slot);
    float* const sum = reinterpret_cast<float*>(m.data);
    for (size_t i = 0; i < m.size / sizeof(float); ++i) sum[i] = m.add[i] + came[i];
  }
  check(net.irecv_consumed(f.comm, 1, flight.ring[slot]), "irecvConsumed");
  ++flight.done;
  return true;
}

}  // namespace

void Schedule::run(Rank& rank) {
  Net& net = rank.net();
  std::vector<Flight> sent(sends.size()), received(receives.size());
  for (Flight& f : sent) f.ring.resize(depth);
  for (Flight& f : received) f.ring.resize(depth);
  const auto finished = [&] {
    for (size_t i = 0; i < sends.size(); ++i)
      if (sent[i].done < sends[i].messages.size()) return false;
    for (size_t i = 0; i < receives.size(); ++i)
      if (received[i].done < receives[i].messages.size()) return false;
    return true;
  };
  const auto turn = [&] {
    // Every flow gets its turn before the process yields; true ends the waiting.
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = 0; i < receives.size(); ++i) {
        while (post_receive(net, receives[i], received[i])) moved = true;
        while (finish_receive(net, receives[i], received[i])) moved = true;
      }
      for (size_t i = 0; i < sends.size(); ++i) {
        while (post_send(net, sends[i], sent[i], received)) moved = true;
        while (finish_send(net, sent[i])) moved = true;
      }
    }
    return finished();
  };
  until(rank, turn, [&] {
    std::string text;
    for (size_t i = 0; i < sends.size(); ++i)
      text += " send flow " + std::to_string(i) + ": " + std::to_string(sent[i].done) + " done, " +
              std::to_string(sent[i].posted) + " posted of " + std::to_string(sends[i].messages.size()) + ";";
    for (size_t i = 0; i < receives.size(); ++i)
      text += " receive flow " + std::to_string(i) + ": " + std::to_string(received[i].done) + " done, " +
              std::to_string(received[i].posted) + " posted of " + std::to_string(receives[i].messages.size()) + ";";
    return text;
  });
}

}  // namespace mrc::net_bench
