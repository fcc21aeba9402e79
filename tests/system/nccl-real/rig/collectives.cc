#include "rig/collectives.h"

#include <map>
#include <memory>

#include "player/reduce.h"
#include "rig/values.h"

namespace mrc::nccl_rig {

double Collective::input(const Run& r, size_t i) const {
  return input_value(r.type, r.op, r.rank, i, r.seed);
}

namespace {

double input_of(const Run& r, int rank, size_t i) {
  return input_value(r.type, r.op, rank, i, r.seed);
}
double reduced(const Run& r, size_t i) {
  return reduced_value(r.type, r.op, r.ranks, i, r.seed);
}

struct AllReduce : Collective {
  bool reduces() const override { return true; }
  size_t count(size_t elements, int) const override { return elements; }
  size_t send_elements(const Run& r) const override { return r.count; }
  size_t recv_elements(const Run& r) const override { return r.count; }
  int start(const Run& r) const override {
    return r.api->AllReduce(r.send, r.recv, r.count, r.type, r.op, r.comm, r.stream);
  }
  double bus_factor(int ranks) const override { return 2.0 * (ranks - 1) / ranks; }
  double output(const Run& r, size_t i) const override { return reduced(r, i); }
};

struct AllGather : Collective {
  size_t send_elements(const Run& r) const override { return r.count; }
  size_t recv_elements(const Run& r) const override { return r.count * r.ranks; }
  long in_place_offset(const Run& r) const override { return static_cast<long>(r.rank * r.count); }
  int start(const Run& r) const override { return r.api->AllGather(r.send, r.recv, r.count, r.type, r.comm, r.stream); }
  double output(const Run& r, size_t i) const override {
    return input_of(r, static_cast<int>(i / r.count), i % r.count);
  }
};

struct ReduceScatter : Collective {
  bool reduces() const override { return true; }
  size_t send_elements(const Run& r) const override { return r.count * r.ranks; }
  size_t recv_elements(const Run& r) const override { return r.count; }
  long in_place_offset(const Run& r) const override { return -static_cast<long>(r.rank * r.count); }
  int start(const Run& r) const override {
    return r.api->ReduceScatter(r.send, r.recv, r.count, r.type, r.op, r.comm, r.stream);
  }
  double output(const Run& r, size_t i) const override { return reduced(r, r.rank * r.count + i); }
};

struct Broadcast : Collective {
  bool rooted() const override { return true; }
  size_t count(size_t elements, int) const override { return elements; }
  size_t send_elements(const Run& r) const override { return r.count; }
  size_t recv_elements(const Run& r) const override { return r.count; }
  int start(const Run& r) const override {
    return r.api->Broadcast(r.send, r.recv, r.count, r.type, r.root, r.comm, r.stream);
  }
  double bus_factor(int) const override { return 1; }
  double output(const Run& r, size_t i) const override { return input_of(r, r.root, i); }
};

struct Reduce : Broadcast {
  bool reduces() const override { return true; }
  int start(const Run& r) const override {
    return r.api->Reduce(r.send, r.recv, r.count, r.type, r.op, r.root, r.comm, r.stream);
  }
  double output(const Run& r, size_t i) const override { return reduced(r, i); }
  bool checked(const Run& r) const override { return r.rank == r.root; }
};

struct AllToAll : Collective {
  bool in_place_possible() const override { return false; }
  size_t send_elements(const Run& r) const override { return r.count * r.ranks; }
  size_t recv_elements(const Run& r) const override { return r.count * r.ranks; }
  int start(const Run& r) const override {
    const size_t bytes = r.count * player::type_size(r.type);
    int result = r.api->GroupStart();
    for (int peer = 0; peer < r.ranks && result == kNcclSuccess; ++peer) {
      result = r.api->Send(r.send + peer * bytes, r.count, r.type, peer, r.comm, r.stream);
      if (result == kNcclSuccess) result = r.api->Recv(r.recv + peer * bytes, r.count, r.type, peer, r.comm, r.stream);
    }
    const int end = r.api->GroupEnd();
    return result != kNcclSuccess ? result : end;
  }
  double output(const Run& r, size_t i) const override {
    return input_of(r, static_cast<int>(i / r.count), r.rank * r.count + i % r.count);
  }
};

struct SendRecv : Collective {
  bool in_place_possible() const override { return false; }
  size_t count(size_t elements, int) const override { return elements; }
  size_t send_elements(const Run& r) const override { return r.count; }
  size_t recv_elements(const Run& r) const override { return r.count; }
  int start(const Run& r) const override {
    int result = r.api->GroupStart();
    if (result == kNcclSuccess) result = r.api->Send(r.send, r.count, r.type, (r.rank + 1) % r.ranks, r.comm, r.stream);
    if (result == kNcclSuccess)
      result = r.api->Recv(r.recv, r.count, r.type, (r.rank + r.ranks - 1) % r.ranks, r.comm, r.stream);
    const int end = r.api->GroupEnd();
    return result != kNcclSuccess ? result : end;
  }
  double bus_factor(int) const override { return 1; }
  double output(const Run& r, size_t i) const override { return input_of(r, (r.rank + r.ranks - 1) % r.ranks, i); }
};

const std::map<std::string, std::unique_ptr<Collective>>& all() {
  static const auto table = [] {
    std::map<std::string, std::unique_ptr<Collective>> t;
    t["all_reduce"] = std::make_unique<AllReduce>();
    t["all_gather"] = std::make_unique<AllGather>();
    t["reduce_scatter"] = std::make_unique<ReduceScatter>();
    t["broadcast"] = std::make_unique<Broadcast>();
    t["reduce"] = std::make_unique<Reduce>();
    t["alltoall"] = std::make_unique<AllToAll>();
    t["sendrecv"] = std::make_unique<SendRecv>();
    return t;
  }();
  return table;
}

}  // namespace

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const auto& [name, unused] : all()) names.push_back(name);
  return names;
}

const Collective& collective(const std::string& name) {
  return *all().at(name);
}

}  // namespace mrc::nccl_rig
