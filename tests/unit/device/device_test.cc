// Devices over real loopback sockets and over the in-process datapath: slots, a write from one to the other, the helper
// thread, stopping, fork.
#include "device/device.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "datapath/mem/mem_datapath.h"
#include "device/interfaces.h"
#include "device/qpn.h"
#include "device/registry.h"

namespace mrc::device {
namespace {

// A QP with what it reported.
struct End final : QpObserver {
  End(Device* d, uint32_t pd) : device(d) {
    std::lock_guard lock(device->mutex());
    core::QpInit init;
    init.cookie = static_cast<QpObserver*>(this);
    init.qpn = qpn = device->allocate_qpn_locked();
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
    device->release_qpn_locked(qpn);
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
    std::string error;
    attr.peer = device->resolve_peer_locked(gid, peer.qpn, &error);
    ASSERT_NE(attr.peer, core::kNoPeer) << error;
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
  void write_imm(const End& peer, uint32_t length) {
    std::lock_guard lock(device->mutex());
    core::Sge sge{reinterpret_cast<uint64_t>(memory.data()), length, rkey};
    core::SendWr wr;
    wr.wr_id = 42;
    wr.op = core::SendOp::kWriteImm;
    wr.signaled = true;
    wr.sges = &sge;
    wr.num_sge = 1;
    wr.remote_addr = reinterpret_cast<uint64_t>(peer.memory.data());
    wr.rkey = peer.rkey;
    wr.imm = 0x01020304;
    ASSERT_EQ(device->endpoint().post_send(device->now(), qp, wr), core::PostResult::kOk);
    device->transmit_locked();
  }

  Device* device;
  core::Qp* qp = nullptr;
  uint32_t qpn = 0;
  uint32_t rkey = 0;
  std::vector<uint8_t> memory = std::vector<uint8_t>(1 << 20);
  std::vector<core::Completion> sent, received;
  std::vector<core::AsyncEvent> events;
  std::atomic<int> completions{0};
};

void fill(std::vector<uint8_t>* bytes) {
  for (size_t i = 0; i < bytes->size(); ++i) (*bytes)[i] = static_cast<uint8_t>(i * 7 + i / 251);
}

DeviceConfig test_config() {
  Settings settings;
  settings.linger_quiet_ms = 0;
  return loopback_config(settings, ipv6_loopback_works());
}

std::shared_ptr<Device> start(const DeviceConfig& config) {
  std::string error;
  int err = 0;
  std::shared_ptr<Device> device = Device::start(config, &error, &err);
  EXPECT_NE(device, nullptr) << error << " " << err;
  return device;
}

TEST(Device, start__second_device_gets_another_slot) {
  const auto a = start(test_config());
  const auto b = start(test_config());
  EXPECT_LT(a->slot(), b->slot());  // not necessarily 0: other programs of this host may have it
  EXPECT_EQ(a->planes(), 4u);
  EXPECT_EQ(a->evs().size(), 80u);
  EXPECT_EQ(a->max_mtu(), 4096u);
  std::lock_guard lock(b->mutex());
  EXPECT_EQ(slot_of(b->allocate_qpn_locked()), b->slot());
}

TEST(Device, write_imm__between_two_devices_over_sockets) {
  const auto a = start(test_config());
  const auto b = start(test_config());
  End from(a.get(), 1), to(b.get(), 1);
  fill(&from.memory);
  from.connect(to, b->config().gids[3]);
  to.connect(from, a->config().gids[0]);
  to.post_recv();
  from.write_imm(to, 1 << 20);
  while (from.completions == 0 || to.completions == 0) {
    a->progress();
    b->try_progress();
  }
  EXPECT_EQ(from.sent.at(0).status, core::WcStatus::kSuccess);
  EXPECT_EQ(from.sent.at(0).wr_id, 42u);
  EXPECT_EQ(to.received.at(0).imm, 0x01020304u);
  EXPECT_EQ(from.memory, to.memory);
}

TEST(Device, write_imm__the_helpers_do_it_alone) {
  const auto a = start(test_config());
  const auto b = start(test_config());
  End from(a.get(), 1), to(b.get(), 1);
  fill(&from.memory);
  from.connect(to, b->config().gids[1]);
  to.connect(from, a->config().gids[1]);
  to.post_recv();
  from.write_imm(to, 1 << 20);
  while (from.completions.load() == 0 || to.completions.load() == 0) std::this_thread::yield();
  std::scoped_lock lock(a->mutex(), b->mutex());
  EXPECT_EQ(from.sent.at(0).status, core::WcStatus::kSuccess);
  EXPECT_EQ(from.memory, to.memory);
}

TEST(Device, write_imm__over_ipv4) {
  const DeviceConfig config = loopback_config(test_config().settings, false);
  const auto a = start(config);
  const auto b = start(config);
  End from(a.get(), 1), to(b.get(), 1);
  fill(&from.memory);
  from.connect(to, b->config().gids[3]);
  to.connect(from, a->config().gids[3]);
  to.post_recv();
  from.write_imm(to, 1 << 20);
  while (from.completions == 0 || to.completions == 0) {
    a->progress();
    b->progress();
  }
  EXPECT_EQ(from.memory, to.memory);
}

TEST(Device, write_imm__structured_evs_travel_in_the_flow_label) {
  DeviceConfig config = test_config();
  if (!config.planes[0].addr.is_v4()) config.settings.ev_mode = "structured";
  const auto a = start(config);
  const auto b = start(config);
  if (!config.planes[0].addr.is_v4()) {
    for (const core::EvEntry& ev : a->evs()) EXPECT_NE(ev.value >> 16, 0u);
  }
  for (const core::EvEntry& ev : a->evs()) EXPECT_NE(ev.value & 0xFFFF, 0u);
  End from(a.get(), 1), to(b.get(), 1);
  fill(&from.memory);
  from.connect(to, b->config().gids[3]);
  to.connect(from, a->config().gids[3]);
  to.post_recv();
  from.write_imm(to, 1 << 20);
  while (from.completions == 0 || to.completions == 0) {
    a->progress();
    b->progress();
  }
  EXPECT_EQ(from.memory, to.memory);
}

TEST(Device, write_imm__to_itself) {
  const auto a = start(test_config());
  End from(a.get(), 1), to(a.get(), 1);
  fill(&from.memory);
  from.connect(to, a->config().gids[3]);
  to.connect(from, a->config().gids[3]);
  to.post_recv();
  from.write_imm(to, 100000);
  while (from.completions == 0 || to.completions == 0) a->progress();
  EXPECT_EQ(std::memcmp(from.memory.data(), to.memory.data(), 100000), 0);
  EXPECT_EQ(to.memory[100000], 0);
}

TEST(Device, write_imm__with_faults) {
  DeviceConfig config = test_config();
  config.settings.fault = "seed=3; loss=0.02, dup=0.02, reorder=0.05";
  const auto a = start(config);
  const auto b = start(config);
  End from(a.get(), 1), to(b.get(), 1);
  fill(&from.memory);
  from.connect(to, b->config().gids[3]);
  to.connect(from, a->config().gids[3]);
  to.post_recv();
  from.write_imm(to, 1 << 20);
  while (from.completions == 0 || to.completions == 0) {
    a->progress();
    b->progress();
  }
  EXPECT_EQ(from.sent.at(0).status, core::WcStatus::kSuccess);
  EXPECT_EQ(from.memory, to.memory);
  EXPECT_NE(a->stats_text().find("driver.fault_dropped "), std::string::npos);
  EXPECT_EQ(a->stats_text().find("driver.fault_dropped 0\n"), std::string::npos);
}

TEST(Device, write_imm__over_a_datapath_that_is_often_full) {
  DeviceConfig config = test_config();
  auto pair = datapath::MemDatapath::make_pair(4, 1);  // one burst per plane
  std::vector<core::EvEntry> evs;
  for (uint32_t i = 0; i < 16; ++i) evs.push_back({1000 + i, static_cast<uint8_t>(i % 4)});
  const auto a = Device::start_over(config, std::move(pair.first), evs, 0, false);
  const auto b = Device::start_over(config, std::move(pair.second), evs, 1, false);
  End from(a.get(), 1), to(b.get(), 1);
  fill(&from.memory);
  from.connect(to, b->config().gids[3]);
  to.connect(from, a->config().gids[3]);
  to.post_recv();
  from.write_imm(to, 1 << 20);
  while (from.completions == 0 || to.completions == 0) {
    a->progress();
    b->progress();
  }
  EXPECT_EQ(from.memory, to.memory);
}

TEST(Device, stop__progress_does_nothing_afterwards) {
  const auto a = start(test_config());
  a->stop();
  EXPECT_EQ(a->progress(), 0);
  EXPECT_EQ(a->try_progress(), 0);
  a->stop();
}

// The receiver stops right after its completion, the sender has not polled yet (clients.md rule 2).
TEST(Device, stop__the_peer_still_gets_its_acknowledgement) {
  DeviceConfig config = test_config();
  config.settings.linger_quiet_ms = 20;
  const auto a = start(config);
  auto b = start(config);
  End from(a.get(), 1);
  {
    auto to = std::make_unique<End>(b.get(), 1);
    from.connect(*to, b->config().gids[3]);
    to->connect(from, a->config().gids[3]);
    to->post_recv();
    from.write_imm(*to, 4096);
    while (to->completions == 0) b->progress();
  }
  b.reset();
  while (from.completions == 0) a->progress();
  std::lock_guard lock(a->mutex());
  EXPECT_EQ(from.sent.at(0).status, core::WcStatus::kSuccess);
}

struct PortWatcher final : DeviceObserver {
  void on_port_event(uint8_t plane, core::AsyncEvent e) override { seen.push_back({plane, e}); }
  void on_endpoint_response(uint16_t, uint8_t, Duration) override {}
  std::vector<std::pair<uint8_t, core::AsyncEvent>> seen;
};

TEST(Device, observers__are_told_of_ports_until_they_are_removed) {
  const auto a = start(test_config());
  PortWatcher watcher;
  a->add_observer(&watcher);
  const auto set = [&](bool up) {
    std::lock_guard lock(a->mutex());
    a->endpoint().set_plane_up(a->now(), 2, up);
  };
  set(false);
  set(true);
  a->remove_observer(&watcher);
  set(false);
  ASSERT_EQ(watcher.seen.size(), 2u);
  EXPECT_EQ(watcher.seen[0], std::make_pair(uint8_t{2}, core::AsyncEvent::kPortDown));
  EXPECT_EQ(watcher.seen[1], std::make_pair(uint8_t{2}, core::AsyncEvent::kPortUp));
}

TEST(Device, reports__are_well_formed) {
  const auto a = start(test_config());
  const auto j = nlohmann::json::parse(a->describe_json());
  EXPECT_EQ(j["name"], "mrc0");
  EXPECT_EQ(j["planes"].size(), 4u);
  EXPECT_EQ(j["evs"].size(), 80u);
  EXPECT_EQ(j["settings"]["ev_count"], "64");
  EXPECT_NE(a->stats_text().find("\nplane.4.rx_bytes 0\n"), std::string::npos);
  EXPECT_EQ(a->stats_text().rfind("tx_packets 0\n", 0), 0u);
  EXPECT_EQ(a->qp_stats_text(nullptr), "");
  End end(a.get(), 1);
  EXPECT_EQ(a->qp_stats_text(end.qp).rfind("qpn " + std::to_string(end.qpn) + "\n", 0), 0u);
}

TEST(Device, start__explains_an_address_that_is_not_here) {
  DeviceConfig config = test_config();
  IpAddress::parse("192.0.2.1", &config.planes[1].addr);
  std::string error;
  int err = 0;
  EXPECT_EQ(Device::start(config, &error, &err), nullptr);
  EXPECT_EQ(err, EADDRNOTAVAIL);
  EXPECT_EQ(error.rfind("device 'mrc0': plane 2: cannot bind for 192.0.2.1", 0), 0u) << error;
}

TEST(Registry, open__shares_and_knows_its_names) {
  std::string error;
  int err = 0;
  const auto a = open_device(nullptr, &error, &err);
  ASSERT_NE(a, nullptr) << error;
  EXPECT_EQ(open_device("mrc0", &error, &err), a);
  EXPECT_EQ(open_device("mrc7", &error, &err), nullptr);
  EXPECT_EQ(err, ENODEV);
  EXPECT_EQ(error, "no device 'mrc7' in the configuration");
}

TEST(Registry, fork__the_child_starts_anew_and_leaves_the_parent_alone) {
  std::string error;
  int err = 0;
  auto parent = open_device(nullptr, &error, &err);
  ASSERT_NE(parent, nullptr) << error;
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    // No gtest in here: the exit status says what happened.
    if (parent->progress() != 0) ::_exit(2);
    parent->count_armed(1);
    parent->stop();
    auto own = open_device(nullptr, &error, &err);
    if (own == nullptr) ::_exit(3);
    if (own == parent || own->slot() == parent->slot()) ::_exit(4);
    own->progress();
    parent.reset();
    own.reset();
    ::exit(0);  // runs the exit handlers
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  End from(parent.get(), 1), to(parent.get(), 1);
  from.connect(to, parent->config().gids[3]);
  to.connect(from, parent->config().gids[3]);
  to.post_recv();
  from.write_imm(to, 1000);
  while (from.completions == 0 || to.completions == 0) parent->progress();
}

}  // namespace
}  // namespace mrc::device
