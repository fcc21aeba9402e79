// A device of two shards: everything that QPs of both have in common. A test of this file needs a process of its own,
// because the configuration is read once per process: CTest gives it one.
#include "device/shards.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "api/channel.h"
#include "api/context.h"
#include "api/cq.h"
#include "api/qp.h"
#include "device/interfaces.h"
#include "device/qpn.h"
#include "harness/api_pair.h"

namespace mrc::api {
namespace {

constexpr uint32_t kShards = 2;

class ShardsTest : public ApiTest {
 protected:
  void SetUp() override {
    ::setenv("MRC_SHARDS", std::to_string(kShards).c_str(), 1);
    ApiTest::SetUp();
    ASSERT_EQ(context->shards().size(), kShards) << "the process has read another configuration before";
  }
  uint8_t slot(uint32_t shard) { return context->shards()[shard].slot(); }
  // With which counter of every shard something is proved.
  uint64_t placed(uint32_t shard) {
    device::Device& device = context->shards()[shard];
    const device::DeviceLock lock(device.mutex());
    return device.endpoint().counters().rx_data;
  }
  // The sender's completion follows the receiver's placing, but by the network, where ThreadSanitizer sees no order.
  static void after_placing(const End& receiver) { const device::DeviceLock lock(receiver.qp->device().mutex()); }
  // A queue that is notified when an EV of the device is assumed bad.
  mrc_cq* watch_evs() {
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
    attr.ev_event_mask = MRC_CTL_EV_ASSUMED_BAD;
    EXPECT_EQ(mrc_ctl_modify_ev_profile(context, 1, &attr,
                                        MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE |
                                            MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK),
              0);
    attr.profile_state = MRC_CTL_PROFILE_ONLINE;
    EXPECT_EQ(mrc_ctl_modify_ev_profile(context, 1, &attr, MRC_CTL_EV_PROFILE_STATE), 0);
    return mrc_ctl_create_ev_event_cq(context, 16, nullptr, nullptr, 0);
  }
  std::string stats() {
    std::string text(65536, '\0');
    text.resize(static_cast<size_t>(mrc_soft_query_stats(verbs, text.data(), text.size())));
    return text;
  }
};

// The QPN names the shard, because every shard has a process slot. [spec/architecture.md, decisions 9, 17] Each two are
// of both, and begin with the other one than the two before: of programs that make them in pairs, not one has all of a
// kind.
TEST_F(ShardsTest, queue_pairs_take_the_shards_in_turn) {
  EXPECT_NE(slot(0), slot(1));
  End a(context, pd), b(context, pd), c(context, pd), d(context, pd);
  std::multiset<uint8_t> slots;
  for (const End* end : {&a, &b, &c, &d}) slots.insert(device::slot_of(Qpn(end->qpn)));
  EXPECT_EQ(slots.count(slot(0)), 2u);
  EXPECT_EQ(slots.count(slot(1)), 2u);
  EXPECT_NE(&a.qp->device(), &b.qp->device());
  EXPECT_EQ(&a.qp->device(), &d.qp->device());
  EXPECT_EQ(&b.qp->device(), &c.qp->device());
}

// Where queue pairs were destroyed there is room for the next ones.
TEST_F(ShardsTest, queue_pairs_take_the_shard_with_the_fewest) {
  auto a = std::make_unique<End>(context, pd), b = std::make_unique<End>(context, pd);
  const uint32_t shard = a->qp->shard();
  ASSERT_NE(b->qp->shard(), shard);
  a = nullptr;
  EXPECT_EQ(End(context, pd).qp->shard(), shard);
  EXPECT_EQ(End(context, pd).qp->shard(), shard);
}

// A shard without room leaves the others theirs.
TEST_F(ShardsTest, a_full_shard_does_not_refuse_what_another_one_can_have) {
  std::vector<Qpn> taken;
  {
    const device::DeviceLock lock(context->device().mutex());
    for (Qpn qpn; (qpn = context->device().qpns().take()) != Qpn();) taken.push_back(qpn);
  }
  {
    End a(context, pd), b(context, pd), c(context, pd);
    for (const End* end : {&a, &b, &c}) {
      ASSERT_NE(end->qp, nullptr);
      EXPECT_EQ(end->qp->shard(), 1u);
    }
  }
  const device::DeviceLock lock(context->device().mutex());
  for (const Qpn qpn : taken) context->device().qpns().give(qpn);
}

// Data within each shard and from one to the other, from and into the same memory, with one completion queue.
TEST_F(ShardsTest, data_of_both_shards_through_one_queue_and_one_region) {
  EndOptions shared;
  shared.shared_cq = mrc_create_cq(context, 64, nullptr, nullptr, 0);
  ASSERT_NE(shared.shared_cq, nullptr);
  {
    End a(context, pd, shared), b(context, pd, shared), d(context, pd, shared), c(context, pd, shared);
    connect(&a, &c);  // of one shard
    connect(&b, &d);  // of the other one
    End e(context, pd, shared), f(context, pd, shared);
    connect(&e, &f);  // of both
    const auto check = [&](End& from, End& to, uint32_t length) {
      for (uint32_t i = 0; i < length; ++i) from.buffer[i] = static_cast<uint8_t>(i * 7 + length);
      ASSERT_EQ(from.write(to, length, length, IBV_SEND_SIGNALED), 0);
      const ibv_wc wc = from.wait();
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
      EXPECT_EQ(wc.wr_id, length);
      EXPECT_EQ(wc.qp_num, from.qpn);
      after_placing(to);
      EXPECT_EQ(std::memcmp(from.buffer.data(), to.buffer.data(), length), 0);
    };
    for (const uint32_t length : {1u, 5000u, 700000u}) {
      check(a, c, length);
      check(c, a, length + 1);
      check(b, d, length + 2);
      check(d, b, length + 3);
      check(e, f, length + 4);
      check(f, e, length + 5);
    }
    // One region written by queue pairs of both shards.
    for (End* from : {&a, &b}) {
      const End& peer = from == &a ? c : d;
      const uint8_t* const part = &e.buffer[from == &a ? 0 : 64];
      ASSERT_EQ(from->write_to(part, e.mr->rkey, 0, 64, IBV_SEND_SIGNALED), 0);
      EXPECT_EQ(from->wait().status, IBV_WC_SUCCESS);
      after_placing(peer);
      EXPECT_EQ(std::memcmp(part, from->buffer.data(), 64), 0);
    }
    EXPECT_GT(placed(0), 0u);
    EXPECT_GT(placed(1), 0u);
  }
  EXPECT_EQ(mrc_destroy_cq(shared.shared_cq), 0);
}

// A key is the same in all shards, and no shard keeps one that was deregistered.
TEST_F(ShardsTest, keys_come_and_go_in_every_shard) {
  End a(context, pd), b(context, pd), c(context, pd), d(context, pd);
  connect(&a, &c);
  connect(&b, &d);
  std::vector<uint8_t> memory(4096);
  for (int round = 0; round < 3; ++round) {
    ibv_mr* const mr = mrc_soft_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    ASSERT_NE(mr, nullptr);
    for (uint32_t shard = 0; shard < kShards; ++shard) {
      device::Device& device = context->shards()[shard];
      const device::DeviceLock lock(device.mutex());
      ASSERT_NE(device.endpoint().memory().find(Key(mr->lkey)), nullptr);
    }
    const uint32_t key = mr->lkey;
    ASSERT_EQ(mrc_soft_dereg_mr(mr), 0);
    for (uint32_t shard = 0; shard < kShards; ++shard) {
      device::Device& device = context->shards()[shard];
      const device::DeviceLock lock(device.mutex());
      EXPECT_EQ(device.endpoint().memory().find(Key(key)), nullptr);
    }
  }
  const uint32_t gone = c.mr->rkey;
  ASSERT_EQ(mrc_soft_dereg_mr(c.mr), 0);
  c.mr = mrc_soft_reg_mr(pd, c.buffer.data(), c.buffer.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  EXPECT_NE(c.mr->rkey, gone);
  for (End* from : {&a, &b}) {
    ASSERT_EQ(from->write_to(c.buffer.data(), gone, 0, 8, IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(from->wait().status, IBV_WC_REM_ACCESS_ERR);
  }
}

// One event for one arming, from whichever shard; a thread that sleeps for it is woken by either.
TEST_F(ShardsTest, events_of_a_queue_of_both_shards) {
  mrc_comp_channel* channel = nullptr;
  ASSERT_EQ(mrc_create_comp_channel(context, &channel), 0);
  EndOptions shared;
  shared.shared_cq = mrc_create_cq(context, 64, nullptr, channel, 0);
  {
    End a(context, pd), b(context, pd), c(context, pd, shared), d(context, pd, shared);
    connect(&a, &c);
    connect(&b, &d);
    for (int round = 0; round < 20; ++round) {
      ASSERT_EQ(mrc_req_notify_cq(shared.shared_cq, 0), 0);
      for (End* end : {&c, &d}) ASSERT_EQ(end->receive(1), 0);
      for (End* end : {&a, &b}) ASSERT_EQ(end->write(end == &a ? c : d, 1, 8, IBV_SEND_SIGNALED, true, 7), 0);
      int got = 0;
      mrc_cq* cq = nullptr;
      void* cq_context = nullptr;
      ASSERT_EQ(mrc_get_cq_event(channel, &cq, &cq_context), 0);
      mrc_ack_cq_events(cq, 1);
      ibv_wc wc[4];
      while (got < 2) got += mrc_poll_cq(cq, 4, wc);
      for (End* end : {&a, &b}) EXPECT_EQ(end->wait().status, IBV_WC_SUCCESS);
    }
    pollfd more = {channel->fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&more, 1, 0), 0) << "an event beyond one for each arming";
  }
  EXPECT_EQ(mrc_destroy_cq(shared.shared_cq), 0);
  EXPECT_EQ(mrc_destroy_comp_channel(channel), 0);
}

// A queue's arming is known to the helpers of the shards that complete into it, and to no other one: those may stay
// parked. A queue pair that comes later brings its shard, and the last one of a shard takes it along.
TEST_F(ShardsTest, an_armed_queue_is_noted_by_the_shards_of_its_queue_pairs) {
  mrc_comp_channel* channel = nullptr;
  ASSERT_EQ(mrc_create_comp_channel(context, &channel), 0);
  EndOptions shared;
  shared.shared_cq = mrc_create_cq(context, 64, nullptr, channel, 0);
  const auto armed = [&](const End& end) { return end.qp->device().has_armed(); };
  {
    End a(context, pd, shared);
    ASSERT_EQ(mrc_req_notify_cq(shared.shared_cq, 0), 0);
    End b(context, pd);
    ASSERT_NE(&a.qp->device(), &b.qp->device());
    EXPECT_TRUE(armed(a));
    EXPECT_FALSE(armed(b));
    {
      shared.shared_cq->attach(b.qp->shard());
      EXPECT_TRUE(armed(b));
      shared.shared_cq->detach(b.qp->shard());
      EXPECT_FALSE(armed(b));
    }
    EXPECT_TRUE(armed(a));
    shared.shared_cq->notify();
    EXPECT_FALSE(armed(a));
    ASSERT_EQ(mrc_req_notify_cq(shared.shared_cq, 0), 0);
    EXPECT_TRUE(armed(a));
  }
  for (uint32_t shard = 0; shard < kShards; ++shard) EXPECT_FALSE(context->shards()[shard].has_armed());
  EXPECT_EQ(mrc_destroy_cq(shared.shared_cq), 0);
  EXPECT_EQ(mrc_destroy_comp_channel(channel), 0);
}

// Events of another queue that come while it is being armed do not make a helper forget an armed one for a moment.
TEST_F(ShardsTest, an_armed_queue_stays_noted_while_another_one_is_armed_and_fires) {
  mrc_comp_channel* channel = nullptr;
  ASSERT_EQ(mrc_create_comp_channel(context, &channel), 0);
  EndOptions quiet, busy;
  quiet.shared_cq = mrc_create_cq(context, 64, nullptr, channel, 0);
  busy.shared_cq = mrc_create_cq(context, 64, nullptr, channel, 0);
  {
    End a(context, pd, quiet), b(context, pd, busy), c(context, pd, quiet), d(context, pd, busy);
    ASSERT_EQ(mrc_req_notify_cq(quiet.shared_cq, 0), 0);
    std::atomic<bool> done{false};
    std::thread arms([&] {
      while (!done) mrc_req_notify_cq(busy.shared_cq, 0);
    });
    int forgotten = 0;
    for (int fired = 0; fired < 2000;) {
      if (!busy.shared_cq->armed()) {
        std::this_thread::yield();
        continue;
      }
      busy.shared_cq->notify();
      ++fired;
      for (const End* end : {&a, &c})
        if (!end->qp->device().has_armed()) ++forgotten;
    }
    done = true;
    arms.join();
    EXPECT_EQ(forgotten, 0);
  }
  for (const EndOptions* options : {&quiet, &busy}) EXPECT_EQ(mrc_destroy_cq(options->shared_cq), 0);
  EXPECT_EQ(mrc_destroy_comp_channel(channel), 0);
}

ibv_wc success(uint64_t wr_id) {
  ibv_wc wc{};
  wc.wr_id = wr_id;
  return wc;
}

// Either every shard's ring of a queue is resized, or none is: what does not fit into one leaves all as they were.
TEST_F(ShardsTest, resizing_changes_all_rings_or_none) {
  mrc_cq* const cq = mrc_create_cq(context, 8, nullptr, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  cq->prepare(1);
  ASSERT_TRUE(cq->push(0, success(0), nullptr, 0, false));
  for (uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(cq->push(1, success(i), nullptr, 0, false));
  errno = 0;
  EXPECT_NE(mrc_soft_resize_cq(cq, 4), 0);
  EXPECT_EQ(errno, EINVAL);
  for (uint64_t i = 0; i < 7; ++i) EXPECT_TRUE(cq->push(0, success(1 + i), nullptr, 0, false)) << i;
  EXPECT_FALSE(cq->push(0, success(8), nullptr, 0, false));
  EXPECT_EQ(mrc_soft_resize_cq(cq, 16), 0);
  for (uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(cq->push(0, success(8 + i), nullptr, 0, false)) << i;
  for (uint64_t i = 0; i < 11; ++i) EXPECT_TRUE(cq->push(1, success(5 + i), nullptr, 0, false)) << i;
  ibv_wc wc[32];
  ASSERT_EQ(cq->take(32, wc), 32);
  for (uint64_t i = 0; i < 32; ++i) EXPECT_EQ(wc[i].wr_id, i % 16);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
}

// The ring of a shard that comes later has the size that the queue has, not one that was refused.
TEST_F(ShardsTest, a_later_ring_has_the_size_that_the_queue_has) {
  mrc_cq* const cq = mrc_create_cq(context, 8, nullptr, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  for (uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(cq->push(0, success(i), nullptr, 0, false));
  EXPECT_NE(mrc_soft_resize_cq(cq, 4), 0);
  cq->prepare(1);
  for (uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(cq->push(1, success(i), nullptr, 0, false)) << i;
  EXPECT_FALSE(cq->push(1, success(8), nullptr, 0, false));
  ibv_wc wc[16];
  EXPECT_EQ(cq->take(16, wc), 13);
  EXPECT_EQ(mrc_destroy_cq(cq), 0);
}

// A thread for each shard, with queue pairs, queues and memory of its own; and beside them registrations, which change
// the key tables of both.
TEST_F(ShardsTest, a_thread_for_each_shard) {
  std::atomic<int> working{static_cast<int>(kShards)};
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<End>> ends;
  for (uint32_t i = 0; i < 2 * kShards; ++i) ends.push_back(std::make_unique<End>(context, pd));
  for (uint32_t i = 0; i < kShards; ++i) connect(ends[i].get(), ends[2 * kShards - 1 - i].get());
  for (uint32_t i = 0; i < kShards; ++i)
    threads.emplace_back([&, i] {
      End& a = *ends[i];
      for (uint64_t n = 0; n < 200; ++n) {
        ASSERT_EQ(a.write(*ends[2 * kShards - 1 - i], n, 40000, IBV_SEND_SIGNALED), 0);
        const ibv_wc wc = a.wait();
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        ASSERT_EQ(wc.wr_id, n);
      }
      --working;
    });
  std::vector<uint8_t> memory(100);
  while (working > 0) {
    ibv_mr* const mr = mrc_soft_reg_mr(pd, memory.data(), memory.size(), 0);
    ASSERT_NE(mr, nullptr);
    ASSERT_EQ(mrc_soft_dereg_mr(mr), 0);
  }
  for (std::thread& thread : threads) thread.join();
}

// Nothing that one shard does waits for another one: not posting, receiving, acknowledging, completing, or polling, not
// even where both share a completion queue.
TEST_F(ShardsTest, a_shard_works_while_the_other_ones_lock_is_held) {
  EndOptions shared;
  shared.shared_cq = mrc_create_cq(context, 64, nullptr, nullptr, 0);
  {
    End a(context, pd, shared), b(context, pd, shared), d(context, pd), c(context, pd);
    connect(&a, &c);
    connect(&b, &d);
    for (End* held : {&a, &b}) {
      End& from = held == &a ? b : a;
      End& to = held == &a ? d : c;
      std::thread holder;
      std::atomic<bool> locked{false}, done{false};
      holder = std::thread([&] {
        const device::DeviceLock lock(held->qp->device().mutex());
        locked = true;
        while (!done) std::this_thread::yield();
      });
      while (!locked) std::this_thread::yield();
      for (uint64_t i = 0; i < 20; ++i) {
        EXPECT_EQ(to.receive(i), 0);
        EXPECT_EQ(from.write(to, i, 50000, IBV_SEND_SIGNALED, true, 5), 0);
        EXPECT_EQ(from.wait().qp_num, from.qpn);
        EXPECT_EQ(to.wait().wr_id, i);
      }
      done = true;
      holder.join();
    }
  }
  EXPECT_EQ(mrc_destroy_cq(shared.shared_cq), 0);
}

TEST_F(ShardsTest, reports_are_of_all_shards) {
  End a(context, pd), b(context, pd), c(context, pd), d(context, pd);
  EXPECT_NE(("\n" + stats()).find("\nqps 4\n"), std::string::npos) << stats();
  EXPECT_NE(stats().find("plane.1.up 1\n"), std::string::npos);
  std::string text(1 << 20, '\0');
  text.resize(static_cast<size_t>(mrc_soft_describe_device(verbs, text.data(), text.size())));
  const auto facts = nlohmann::json::parse(text);
  ASSERT_EQ(facts.at("shards").size(), kShards);
  EXPECT_EQ(facts.at("shards")[1].at("process_slot"), slot(1));
  EXPECT_EQ(facts.at("evs"), facts.at("shards")[0].at("evs"));
  EXPECT_EQ(facts.at("shards")[1].at("evs")[0].at("value"), context->shards()[1].evs().begin()->value);
  ibv_device_attr attr;
  ASSERT_EQ(mrc_soft_query_device(verbs, &attr), 0);
  EXPECT_EQ(attr.max_qp, static_cast<int>(kShards * 65532));
}

// EVs of both in one batch: each is probed by the shard that sends on it.
TEST_F(ShardsTest, evs_of_all_shards_can_be_probed) {
  std::vector<mrc_ctl_ep_req> requests;
  for (uint32_t shard = 0; shard < kShards; ++shard)
    for (const core::EvEntry& ev : context->shards()[shard].evs()) {
      mrc_ctl_ep_req request{};
      request.req_id = static_cast<uint16_t>(requests.size());
      request.dgid = gid;
      request.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
      request.req_ev.val[0] = static_cast<uint8_t>(ev.value >> 8);
      request.req_ev.val[1] = static_cast<uint8_t>(ev.value);
      request.req_ev.port = static_cast<uint8_t>(port_of(ev.plane));
      requests.push_back(request);
    }
  std::vector<mrc_ctl_ep_rsp> answers(requests.size());
  int n = 0;
  // Slot 0 answers, whichever process has it: that a probe was sent, and not refused, is what counts here.
  const int result = mrc_ctl_ep_batch_send_wait(context, 0, MRC_CTL_EP_OP_EV_PROBE, requests.data(),
                                                static_cast<int>(requests.size()), 4000000000u, answers.data(), &n);
  EXPECT_TRUE(result == 0 || errno == ETIMEDOUT) << std::strerror(errno);
  requests[0].req_ev.val[0] = 0;
  EXPECT_EQ(
      mrc_ctl_ep_batch_send_wait(context, 0, MRC_CTL_EP_OP_EV_PROBE, requests.data(), 1, 1000, answers.data(), &n), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(ShardsTest, planes_are_switched_off_in_all_shards) {
  ASSERT_EQ(mrc_soft_set_port_admin(verbs, 2, 0), 0);
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    device::Device& device = context->shards()[shard];
    const device::DeviceLock lock(device.mutex());
    EXPECT_FALSE(device.endpoint().plane_up(plane_of_port(2)));
  }
  mrc_ctl_port_attr on{};
  on.port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED;
  ASSERT_EQ(mrc_ctl_modify_port(context, 2, &on, MRC_CTL_PORT_ADMIN_STATE), 0);
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    device::Device& device = context->shards()[shard];
    const device::DeviceLock lock(device.mutex());
    EXPECT_TRUE(device.endpoint().plane_up(plane_of_port(2)));
  }
}

// A profile that a queue pair of any shard holds is refused by all, and stays in all as it was.
TEST_F(ShardsTest, a_profile_is_changed_in_all_shards_or_in_none) {
  constexpr uint64_t kId = 8;
  constexpr int kCcMade = MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM;
  constexpr int kEvMade = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                          MRC_CTL_EV_PROFILE_EVENT_MASK;
  const auto cc_to = [&](mrc_ctl_profile_state state, int mask = MRC_CTL_CC_PROFILE_STATE) {
    mrc_ctl_cc_profile_attr attr{};
    attr.profile_state = state;
    return mrc_ctl_modify_cc_profile(context, kId, &attr, mask) == 0 ? 0 : errno;
  };
  const auto ev_to = [&](mrc_ctl_profile_state state, int mask = MRC_CTL_EV_PROFILE_STATE) {
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = state;
    attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
    return mrc_ctl_modify_ev_profile(context, kId, &attr, mask) == 0 ? 0 : errno;
  };
  const auto use = [&](End* end, uint64_t ev, uint64_t cc) {
    mrc_qp_attr attr{};
    attr.profile = {ev, cc};
    return mrc_modify_qp(end->qp, nullptr, 0, &attr, MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID);
  };
  ASSERT_EQ(cc_to(MRC_CTL_PROFILE_OFFLINE, kCcMade), 0);
  ASSERT_EQ(ev_to(MRC_CTL_PROFILE_OFFLINE, kEvMade), 0);
  ASSERT_EQ(cc_to(MRC_CTL_PROFILE_ONLINE), 0);
  ASSERT_EQ(ev_to(MRC_CTL_PROFILE_ONLINE), 0);
  End a(context, pd), b(context, pd);
  ASSERT_NE(a.qp->shard(), b.qp->shard());
  for (End* end : {&a, &b}) ASSERT_EQ(end->to_init(), 0);
  for (End* holder : {&a, &b}) {
    End& other = holder == &a ? b : a;
    ASSERT_EQ(use(holder, kId, kId), 0);
    EXPECT_EQ(cc_to(MRC_CTL_PROFILE_OFFLINE), EBUSY);
    EXPECT_EQ(ev_to(MRC_CTL_PROFILE_OFFLINE), EBUSY);
    EXPECT_EQ(use(&other, kId, kId), 0) << "it is ONLINE there";
    EXPECT_EQ(use(&other, 0, 0), 0);
    EXPECT_EQ(use(holder, 0, 0), 0);
  }
  EXPECT_EQ(cc_to(MRC_CTL_PROFILE_OFFLINE), 0);
  EXPECT_EQ(ev_to(MRC_CTL_PROFILE_OFFLINE), 0);
  for (End* end : {&a, &b}) {
    EXPECT_EQ(use(end, kId, 0), EINVAL);
    EXPECT_EQ(use(end, 0, kId), EINVAL);
  }
}

// Each shard's automatic profile has that shard's own EVs.
TEST_F(ShardsTest, an_entry_of_an_automatic_profile_is_changed_in_its_shard) {
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
  ASSERT_EQ(mrc_ctl_modify_ev_profile(context, 1, &attr,
                                      MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE |
                                          MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK),
            0);
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  ASSERT_EQ(mrc_ctl_modify_ev_profile(context, 1, &attr, MRC_CTL_EV_PROFILE_STATE), 0);
  mrc_ctl_ev_op_entry entry{};
  entry.state = MRC_CTL_EV_DENIED;
  attr.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, 1};
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    const core::EvEntry& ev = *context->shards()[shard].evs().begin();
    entry.ev = {};
    entry.ev.val[0] = static_cast<uint8_t>(ev.value >> 8);
    entry.ev.val[1] = static_cast<uint8_t>(ev.value);
    entry.ev.port = static_cast<uint8_t>(port_of(ev.plane));
    EXPECT_EQ(mrc_ctl_modify_ev_profile(context, 1, &attr, MRC_CTL_EV_PROFILE_EV_OP), 0) << shard;
  }
  entry.ev.val[0] = 0;  // no shard's
  EXPECT_NE(mrc_ctl_modify_ev_profile(context, 1, &attr, MRC_CTL_EV_PROFILE_EV_OP), 0);
  EXPECT_EQ(errno, ENOENT);
}

// Both shards' EVs name the same paths, and one of those is dead.
class ShardPathsTest : public ShardsTest {
 protected:
  void SetUp() override {
    if (!device::ipv6_loopback_works()) GTEST_SKIP() << "SRv6 paths need IPv6, which this host lacks";
    ::setenv("MRC_EV_MODE", "srv6", 1);
    ::setenv("MRC_SRV6_PATHS", "::/0 direct", 1);
    ::setenv("MRC_FAULT", "ev=2:blackhole", 1);
    ::setenv("MRC_EV_COUNT", "16", 1);
    ::setenv("MRC_EV_BACKUPS", "0", 1);
    ShardsTest::SetUp();
  }
  static int paths_that_are(const char* state, const End& end) {
    std::string text(1 << 20, '\0');
    text.resize(static_cast<size_t>(mrc_soft_query_qp_stats(end.qp, text.data(), text.size())));
    const std::string wanted = std::string(" state ") + state + " ";
    int n = 0;
    for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) ++n;
    return n;
  }
};

// [MRC-EVT-2] [MRC-EVS-16]
TEST_F(ShardPathsTest, an_event_for_an_ev_comes_once) {
  mrc_cq* const events = watch_evs();
  ASSERT_NE(events, nullptr);
  int of_dead = 0;
  const auto take_events = [&] {
    mrc_ctl_ev_event event;
    while (mrc_ctl_poll_ev_event(events, 1, &event) == 1)
      if (event.ev.port == 3 && event.ev.val[1] == 1) ++of_dead;  // the third EV: path 1 of the third plane
  };
  {
    End a(context, pd), b(context, pd), c(context, pd), d(context, pd);
    ASSERT_NE(a.qp->shard(), b.qp->shard());
    connect(&a, &d);
    connect(&b, &c);
    // One after the other, so that the first one's event has been taken when the second one observes it.
    for (End* from : {&a, &b}) {
      while (paths_that_are("ASSUMED_BAD", *from) == 0 || of_dead == 0) {
        ASSERT_EQ(from->write(from == &a ? d : c, 1, End::kBytes, IBV_SEND_SIGNALED), 0);
        ASSERT_EQ(from->wait().status, IBV_WC_SUCCESS);
        take_events();
      }
    }
    for (int i = 0; i < 100; ++i) take_events();
  }
  EXPECT_EQ(of_dead, 1);
  EXPECT_EQ(mrc_destroy_cq(events), 0);
}

// EVs that are source ports are of one shard each, and so are the changes of an automatic profile.
class ShardPortsTest : public ShardsTest {
 protected:
  void SetUp() override {
    ::setenv("MRC_FAULT", "ev=2:blackhole", 1);
    ShardsTest::SetUp();
  }
};

TEST_F(ShardPortsTest, events_come_from_all_shards) {
  mrc_cq* const events = watch_evs();
  ASSERT_NE(events, nullptr);
  std::multiset<uint32_t> bad;
  {
    End a(context, pd), b(context, pd), c(context, pd), d(context, pd);
    connect(&a, &d);
    connect(&b, &c);
    const auto seen = [&](uint32_t shard) { return bad.count((*(context->shards()[shard].evs().begin() + 2)).value); };
    while (seen(0) == 0 || seen(1) == 0) {
      for (End* from : {&a, &b}) {
        ASSERT_EQ(from->write(from == &a ? d : c, 1, End::kBytes, IBV_SEND_SIGNALED), 0);
        ASSERT_EQ(from->wait().status, IBV_WC_SUCCESS);
      }
      mrc_ctl_ev_event event;
      while (mrc_ctl_poll_ev_event(events, 1, &event) == 1)
        bad.insert(static_cast<uint32_t>(event.ev.val[0] << 8 | event.ev.val[1]));
    }
    EXPECT_EQ(seen(0), 1u);
    EXPECT_EQ(seen(1), 1u);
  }
  EXPECT_EQ(mrc_destroy_cq(events), 0);
}

TEST_F(ShardPathsTest, a_denied_path_is_denied_in_all_shards) {
  std::vector<std::unique_ptr<End>> ends;
  for (int i = 0; i < 6; ++i) ends.push_back(std::make_unique<End>(context, pd));
  std::vector<End*> of[kShards];
  for (const auto& end : ends) of[end->qp->shard()].push_back(end.get());
  ASSERT_EQ(of[1].size(), 3u);
  End &a = *of[0][0], &b = *of[1][0];
  connect(&a, of[1][1]);
  connect(&b, of[1][2]);
  const uint32_t ev = context->shards()[0].evs().begin()->value;
  ASSERT_EQ(mrc_soft_deny_ev(a.qp, ev, 1), 0);
  EXPECT_EQ(paths_that_are("DENIED", a), 1);
  EXPECT_EQ(paths_that_are("DENIED", b), 1);
  ASSERT_EQ(mrc_soft_deny_ev(a.qp, ev, 0), 0);
  EXPECT_EQ(paths_that_are("DENIED", a), 0);
  EXPECT_EQ(paths_that_are("DENIED", b), 0);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// A child starts anew, and the parent's shards go on.
TEST_F(ShardsTest, fork_leaves_both_shards_alone) {
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {  // no gtest in here: the exit status is the result
    for (uint32_t shard = 0; shard < kShards; ++shard)
      if (context->shards()[shard].progress() != 0) ::_exit(2);
    ibv_context* const own = mrc_soft_open_device_by_name(nullptr);
    ::_exit(own != nullptr && mrc_soft_close_device(own) == 0 ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  End a(context, pd), b(context, pd), c(context, pd), d(context, pd);
  connect(&a, &d);
  connect(&b, &c);
  for (End* from : {&a, &b}) {
    ASSERT_EQ(from->write(from == &a ? d : c, 1, 9000, IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(from->wait().status, IBV_WC_SUCCESS);
  }
}
#endif

}  // namespace
}  // namespace mrc::api
