// A QP of a device, with its memory, that records what is reported to it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "device/device.h"

namespace mrc::device {

struct End final : core::QpSink {
  End(Device* d, uint32_t pd) : device(d) {
    std::lock_guard lock(device->mutex());
    core::QpInit init;
    init.sink = this;
    init.qpn = qpn = device->qpns().take();
    init.pd = pd;
    init.caps = {16, 16, 4, 64};
    qp = device->endpoint().create_qp(init);
    EXPECT_NE(qp, nullptr);
    rkey = device->endpoint().memory().add(memory.data(), reinterpret_cast<uint64_t>(memory.data()), memory.size(),
                                           core::kAccessLocalWrite | core::kAccessRemoteWrite, pd);
  }
  ~End() {
    std::lock_guard lock(device->mutex());
    device->endpoint().destroy_qp(qp);
    device->qpns().give(qpn);
  }
  bool on_completion(const core::Completion& c) override {
    (c.is_recv ? received : sent).push_back(c);
    ++completions;
    return true;
  }
  void on_event(core::AsyncEvent e) override { events.push_back(e); }

  void connect(const End& peer, const IpAddress& gid) {
    std::lock_guard lock(device->mutex());
    core::QpAttr attr = device->default_qp_attr();
    const Result<core::PeerId> resolved = device->resolve_peer_locked(gid, peer.qpn);
    ASSERT_TRUE(resolved) << resolved.error().text;
    attr.peer = *resolved;
    attr.dest_qpn = peer.qpn;
    attr.access = core::kAccessLocalWrite | core::kAccessRemoteWrite;
    for (core::QpState to : {core::QpState::kInit, core::QpState::kRtr, core::QpState::kRts})
      ASSERT_TRUE(device->endpoint().modify_qp(device->now(), qp, to, attr));
    device->endpoint().release_peer(attr.peer);
  }
  void post_recv() {
    std::lock_guard lock(device->mutex());
    ASSERT_EQ(device->endpoint().post_recv(device->now(), qp, 7), core::PostResult::kOk);
  }
  void write(const End& peer, uint32_t length) { post(core::SendOp::kWrite, peer, length); }
  void write_imm(const End& peer, uint32_t length) { post(core::SendOp::kWriteImm, peer, length); }

  Device* device;
  core::Qp* qp = nullptr;
  Qpn qpn;
  Key rkey;
  std::vector<uint8_t> memory = std::vector<uint8_t>(1 << 20);
  std::vector<core::Completion> sent, received;
  std::vector<core::AsyncEvent> events;
  std::atomic<int> completions{0};

 private:
  void post(core::SendOp op, const End& peer, uint32_t length) {
    std::lock_guard lock(device->mutex());
    core::Sge sge{reinterpret_cast<uint64_t>(memory.data()), length, rkey};
    core::SendWr wr;
    wr.wr_id = 42;
    wr.op = op;
    wr.signaled = true;
    wr.sges = &sge;
    wr.num_sge = 1;
    wr.remote_addr = reinterpret_cast<uint64_t>(peer.memory.data());
    wr.rkey = peer.rkey;
    wr.imm = 0x01020304;
    ASSERT_EQ(device->endpoint().post_send(device->now(), qp, wr), core::PostResult::kOk);
    device->transmit_locked();
  }
};

inline void fill(std::vector<uint8_t>* bytes) {
  for (size_t i = 0; i < bytes->size(); ++i) (*bytes)[i] = static_cast<uint8_t>(i * 7 + i / 251);
}

}  // namespace mrc::device
