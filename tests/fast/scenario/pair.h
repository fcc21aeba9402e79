// Pair: two endpoints, one connected QP, a source buffer on node 0 and a target buffer of the same size on node 1, both
// registered. What most scenarios start from. Virtual time; single thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/fabric.h"

namespace mrc::scenario {

using namespace core;
using harness::Fabric;
using harness::FabricConfig;
using harness::Link;
using harness::TraceRecord;
namespace event = core::event;

inline constexpr uint8_t kFill = 0xEE;  // what the target holds before anything has arrived

// For tests that count or time each packet: no queries for source ports at the start.
inline FabricConfig without_queries(FabricConfig config = {}) {
  config.endpoint.compare_source_ports = false;
  return config;
}

struct Pair {
  explicit Pair(const FabricConfig& config = {}, const QpAttr& attr = {}, size_t bytes = 1 << 20,
                const QpCaps& caps = {128, 128, 4, 64})
      : fabric(config), source(bytes), target(bytes, kFill) {
    for (size_t i = 0; i < bytes; ++i) source[i] = static_cast<uint8_t>((i * 2654435761u) >> 13);
    lkey = fabric.register_memory(0, source);
    rkey = fabric.register_memory(1, target);
    link = fabric.connect(0, 1, attr, caps);
  }

  PostResult write(uint64_t id, size_t offset, uint32_t length, bool signaled = true) {
    return fabric.write(0, link.qa, id, &source[0] + offset, length, lkey, &target[0] + offset, rkey, signaled);
  }
  PostResult write_imm(uint64_t id, size_t offset, uint32_t length, uint32_t imm, bool signaled = true) {
    return fabric.write_imm(0, link.qa, id, &source[0] + offset, length, lkey, &target[0] + offset, rkey, imm,
                            signaled);
  }
  // Exactly so long: the fabric jumps from one wake-up to the next, so an unreadable packet marks the end.
  void pass(Duration time) {
    fabric.net().inject(fabric.now() + time, 0, 0, wire::Flow(), {0});
    fabric.run_for(time);
  }
  const std::vector<Completion>& sends() { return fabric.node(0).sends; }
  const std::vector<Completion>& receives() { return fabric.node(1).receives; }
  bool until_sends(size_t n, Duration limit = Duration::seconds(10)) {
    return fabric.run_until([&] { return sends().size() >= n; }, limit);
  }
  bool until_receives(size_t n, Duration limit = Duration::seconds(10)) {
    return fabric.run_until([&] { return receives().size() >= n; }, limit);
  }
  bool arrived(size_t offset, size_t length) const {
    return std::equal(source.begin() + static_cast<std::ptrdiff_t>(offset),
                      source.begin() + static_cast<std::ptrdiff_t>(offset + length),
                      target.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  bool untouched(size_t offset, size_t length) const {
    return std::all_of(target.begin() + static_cast<std::ptrdiff_t>(offset),
                       target.begin() + static_cast<std::ptrdiff_t>(offset + length),
                       [](uint8_t b) { return b == kFill; });
  }
  bool all_ok(size_t n) {
    return sends().size() == n && std::all_of(sends().begin(), sends().end(),
                                              [](const Completion& c) { return c.status == WcStatus::kSuccess; });
  }
  QpState state(int node) { return fabric.at(node).qp_state(node == 0 ? link.qa : link.qb); }
  const Counters& counters(int node) { return fabric.at(node).counters(); }

  Fabric fabric;
  std::vector<uint8_t> source, target;
  Key lkey, rkey;
  Link link;
};

}  // namespace mrc::scenario
