#include "host_pair.h"

#include <algorithm>
#include <cstring>

namespace mrc::net_bench {

namespace {

constexpr size_t kWords = 4096;  // bytes before the slices
constexpr int kRoundTrips = 60, kFirstRoundTrips = 10;
constexpr size_t kMaxMessages = 1 << 14;
constexpr int kMaxParts = 8;
constexpr int64_t kLast = 1;

int64_t clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

HostPair::HostPair(Rank& rank, int peer, void* listen_comm, Handle handle) : rank_(rank), first_(rank.rank() < peer) {
  Net& net = rank.net();
  until(
      rank,
      [&] {
        if (send_comm_ == nullptr) check(net.connect(rank.device(), handle.data(), &send_comm_), "connect");
        if (receive_comm_ == nullptr) check(net.accept(listen_comm, &receive_comm_), "accept");
        return send_comm_ != nullptr && receive_comm_ != nullptr;
      },
      [&] { return std::string(send_comm_ == nullptr ? "connect" : "accept") + " gives no communicator"; });
  data_.resize(kWords + rank.job().at("slice").get<size_t>());
  memory_.emplace_back(net, send_comm_, data_.data(), data_.size());
  memory_.emplace_back(net, receive_comm_, data_.data(), data_.size());
}

void HostPair::close() {
  memory_.clear();
  check(rank_.net().close_send(send_comm_), "closeSend");
  check(rank_.net().close_recv(receive_comm_), "closeRecv");
}

void HostPair::send(const Word& word) {
  memcpy(data_.data(), &word, sizeof word);
  Schedule schedule;
  schedule.sends = {{send_comm_, memory_[0].handle(), nullptr, nullptr, 0, {{data_.data(), sizeof word}}}};
  schedule.run(rank_);
}

HostPair::Word HostPair::receive() {
  Schedule schedule;
  char* const to = data_.data() + sizeof(Word);
  schedule.receives = {{receive_comm_, memory_[1].handle(), nullptr, nullptr, 0, {{to, sizeof(Word)}}}};
  schedule.run(rank_);
  Word word;
  memcpy(&word, to, sizeof word);
  return word;
}

// The peer's answer has the time of its clock; of the shortest round trip it is taken for the middle.
void HostPair::round_trips(PairMeasured* to) {
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < kFirstRoundTrips + kRoundTrips; ++i) {
    const Clock::time_point start = Clock::now();
    const int64_t sent = clock_ns();
    send({sent, i + 1 == kFirstRoundTrips + kRoundTrips ? kLast : 0});
    const Word answer = receive();
    const int64_t took = std::chrono::nanoseconds(Clock::now() - start).count();
    if (i < kFirstRoundTrips || took >= shortest) continue;
    shortest = took;
    const int64_t middle = sent + took / 2;
    to->ahead_us = static_cast<double>(answer.value - middle) / 1e3;
  }
  to->rtt_us = static_cast<double>(shortest) / 1e3;
}

void HostPair::answer_round_trips() {
  for (bool last = false; !last;) {
    last = receive().more == kLast;
    send({clock_ns(), 0});
  }
}

void HostPair::bulk(bool sends, size_t messages) {
  Schedule schedule;
  schedule.depth = rank_.job().at("depth");
  char* const slice = data_.data() + kWords;
  const size_t size = data_.size() - kWords;
  if (sends)
    schedule.sends = {
        {send_comm_, memory_[0].handle(), nullptr, nullptr, 0, std::vector<SendMessage>(messages, {slice, size})}};
  else
    schedule.receives = {{receive_comm_, memory_[1].handle(), nullptr, nullptr, 0,
                          std::vector<ReceiveMessage>(messages, {slice, size})}};
  schedule.run(rank_);
}

// One message first, and from its time the number for `seconds`, until a part takes that long, or nearly: of a slow
// host a few messages are enough, and in a round all pairs wait for the slowest one. The receiver's word ends each
// part: a send that is done need not have arrived. The number 0 ends the measurement.
double HostPair::send_for(double seconds) {
  size_t messages = 1;
  double took = 0;
  for (int part = 0; part < kMaxParts; ++part) {
    send({static_cast<int64_t>(messages), 0});
    const Clock::time_point start = Clock::now();
    bulk(true, messages);
    receive();
    took = std::chrono::duration<double>(Clock::now() - start).count();
    if (took >= 0.7 * seconds || messages == kMaxMessages || part + 1 == kMaxParts) break;
    const double wanted = 1.1 * seconds / took * static_cast<double>(messages);
    messages = std::clamp(static_cast<size_t>(std::min<double>(wanted, kMaxMessages)), messages + 1, kMaxMessages);
  }
  send({0, 0});
  return static_cast<double>(messages * (data_.size() - kWords)) * 8 / took * 1e-9;
}

void HostPair::receive_all() {
  for (int64_t messages; (messages = receive().value) != 0;) {
    if (messages < 0 || messages > static_cast<int64_t>(kMaxMessages))
      throw Fail("the peer announces an impossible number");
    bulk(false, static_cast<size_t>(messages));
    send({0, 0});
  }
}

PairMeasured HostPair::measure(double seconds) {
  PairMeasured m;
  if (first_) {
    round_trips(&m);
    m.sends = send_for(seconds);
    receive_all();
  } else {
    answer_round_trips();
    receive_all();
    m.sends = send_for(seconds);
  }
  return m;
}

}  // namespace mrc::net_bench
