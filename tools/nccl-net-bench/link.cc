#include "link.h"

#include <utility>

namespace mrc::net_bench {

std::string handle_text(const Handle& handle) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char b : handle) text += {digits[b >> 4], digits[b & 15]};
  return text;
}

Handle handle_from(const std::string& text) {
  Handle handle{};
  for (size_t i = 0; i < handle.size(); ++i)
    handle[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return handle;
}

Listening listen_on(Rank& rank, Net& net) {
  Listening l;
  check(net.listen(rank.device(), l.handle.data(), &l.comm), "listen");
  if (l.comm == nullptr) throw Fail("listen returned ncclSuccess without a communicator");
  return l;
}

void* connect_to(Rank& rank, Net& net, Handle& handle, const std::string& peer) {
  void* comm = nullptr;
  until(
      rank, [&] { return check(net.connect(rank.device(), handle.data(), &comm), "connect"), comm != nullptr; },
      [&] { return "connect to " + peer + " gives no communicator"; });
  return comm;
}

void* accept_from(Rank& rank, Net& net, void* listen_comm, const std::string& peer) {
  void* comm = nullptr;
  until(
      rank, [&] { return check(net.accept(listen_comm, &comm), "accept"), comm != nullptr; },
      [&] { return "accept from " + peer + " gives no communicator"; });
  return comm;
}

Memory::Memory(Net& net, void* comm, void* data, size_t size) : net_(&net), comm_(comm) {
  check(net.reg(comm, data, size, NCCL_PTR_HOST, &handle_), "regMr of " + std::to_string(size) + " bytes");
}
Memory::Memory(Memory&& other) noexcept
    : net_(std::exchange(other.net_, nullptr)), comm_(other.comm_), handle_(other.handle_) {}
Memory::~Memory() {
  if (net_ != nullptr) net_->dereg(comm_, handle_);
}

Links::Links(Rank& rank, const std::vector<int>& to, const std::vector<int>& from) : rank_(rank) {
  Net& net = rank.net();
  rank.stage("connecting");
  std::map<int, Listening> listening;
  Json handles = Json::object();
  for (int peer : from) {
    listening[peer] = listen_on(rank, net);
    handles[std::to_string(peer)] = handle_text(listening[peer].handle);
  }
  const Json all = rank.exchange(handles);
  std::map<int, Handle> remote;
  for (int peer : to) remote[peer] = handle_from(all.at(static_cast<size_t>(peer)).at(std::to_string(rank.rank())));
  until(
      rank,
      [&] {
        for (int peer : to)
          if (sends_[peer] == nullptr) check(net.connect(rank.device(), remote[peer].data(), &sends_[peer]), "connect");
        for (int peer : from)
          if (receives_[peer] == nullptr) check(net.accept(listening[peer].comm, &receives_[peer]), "accept");
        for (const auto& [peer, comm] : sends_)
          if (comm == nullptr) return false;
        for (const auto& [peer, comm] : receives_)
          if (comm == nullptr) return false;
        return true;
      },
      [&] {
        std::string text = "connections missing:";
        for (const auto& [peer, comm] : sends_)
          if (comm == nullptr) text += " to rank " + std::to_string(peer);
        for (const auto& [peer, comm] : receives_)
          if (comm == nullptr) text += " from rank " + std::to_string(peer);
        return text;
      });
  for (const auto& [peer, l] : listening) check(net.close_listen(l.comm), "closeListen");
}

void Links::close() {
  rank_.stage("closing connections");
  for (const auto& [peer, comm] : std::exchange(sends_, {})) check(rank_.net().close_send(comm), "closeSend");
  for (const auto& [peer, comm] : std::exchange(receives_, {})) check(rank_.net().close_recv(comm), "closeRecv");
}

// Only reached with connections when something failed: then the process ends, and the plugin is left alone.
Links::~Links() = default;

}  // namespace mrc::net_bench
