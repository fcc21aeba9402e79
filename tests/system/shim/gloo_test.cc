// The pattern of Gloo's transport for ibverbs: a queue pair for each pair of ranks, one completion queue and one thread
// that sleeps on its channel for each rank, memory regions sent as messages, data as WRITE WITH IMMEDIATE whose value
// names the slot. Ranks exchange blocks with all others, and compare every element.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "connected_qp.h"
#include "first_device.h"

namespace {

constexpr uint32_t kRanks = 4, kRounds = 20, kElements = 16384, kReceives = 16;

uint32_t value(uint32_t from, uint32_t to, uint32_t round, uint32_t i) {
  return ((from * kRanks + to) * kRounds + round) * kElements + i;
}

struct Region {
  uint64_t addr = 0;
  uint32_t rkey = 0;
};

// One rank's end of a pair. Two slots in turn: a peer is one round ahead at most.
struct Pair {
  ibv_qp* qp = nullptr;
  std::vector<uint32_t> out, in;               // one block, and two slots
  std::array<Region, kReceives + 1> messages;  // received, and the last one ours
  ibv_mr *out_mr = nullptr, *in_mr = nullptr, *message_mr = nullptr;
  Region peer;
  uint32_t rounds_in = 0, writes_done = 0;
};

class Rank {
 public:
  explicit Rank(uint32_t self) : self_(self), context_(open_first_device()) {
    if (context_ == nullptr) return;
    pd_ = ibv_alloc_pd(context_);
    channel_ = ibv_create_comp_channel(context_);
    cq_ = ibv_create_cq(context_, 256, nullptr, channel_, 0);
    for (uint32_t other = 0; other < kRanks; ++other)
      if (other != self_) make(&pairs_[other]);
  }
  ~Rank() {
    for (auto& [other, p] : pairs_) {
      EXPECT_EQ(ibv_destroy_qp(p.qp), 0);
      for (ibv_mr* mr : {p.out_mr, p.in_mr, p.message_mr}) EXPECT_EQ(ibv_dereg_mr(mr), 0);
    }
    EXPECT_EQ(ibv_destroy_cq(cq_), 0);
    EXPECT_EQ(ibv_destroy_comp_channel(channel_), 0);
    EXPECT_EQ(ibv_dealloc_pd(pd_), 0);
    EXPECT_EQ(ibv_close_device(context_), 0);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  bool ready() const { return context_ != nullptr; }
  ibv_qp* towards(uint32_t other) { return pairs_[other].qp; }
  void start() {
    ASSERT_EQ(ibv_req_notify_cq(cq_, 0), 0);
    loop_ = std::thread([this] { serve(); });
    for (auto& [other, p] : pairs_) {
      for (uint32_t i = 0; i < kReceives; ++i) receive(&p, i);
      p.messages[kReceives] = {reinterpret_cast<uint64_t>(p.in.data()), p.in_mr->rkey};
      send(&p, IBV_WR_SEND, {reinterpret_cast<uint64_t>(&p.messages[kReceives]), sizeof(Region), p.message_mr->lkey}, 0,
           {});
    }
  }
  void exchange() {
    for (uint32_t round = 0; round < kRounds; ++round) {
      for (auto& [other, p] : pairs_) {
        Region to;
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&p = p, round] { return p.peer.rkey != 0 && p.writes_done == round; });
          to = p.peer;
        }
        for (uint32_t i = 0; i < kElements; ++i) p.out[i] = value(self_, other, round, i);
        const uint32_t slot = round % 2;
        to.addr += slot * kElements * sizeof(uint32_t);
        send(&p, IBV_WR_RDMA_WRITE_WITH_IMM,
             {reinterpret_cast<uint64_t>(p.out.data()), kElements * static_cast<uint32_t>(sizeof(uint32_t)),
              p.out_mr->lkey},
             slot, to);
      }
      for (auto& [other, p] : pairs_) {
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&p = p, round] { return p.rounds_in > round; });
        }
        const uint32_t* const block = p.in.data() + round % 2 * kElements;
        for (uint32_t i = 0; i < kElements; ++i) wrong += block[i] != value(other, self_, round, i);
      }
    }
  }
  void stop() { loop_.join(); }  // it ends when the last write is complete
  uint32_t wrong = 0;

 private:
  void make(Pair* p) {
    p->out.resize(kElements);
    p->in.resize(2 * kElements);
    constexpr int kRemote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    p->out_mr = ibv_reg_mr(pd_, p->out.data(), p->out.size() * sizeof(uint32_t), IBV_ACCESS_LOCAL_WRITE);
    p->in_mr = ibv_reg_mr(pd_, p->in.data(), p->in.size() * sizeof(uint32_t), kRemote);
    p->message_mr = ibv_reg_mr(pd_, p->messages.data(), sizeof p->messages, IBV_ACCESS_LOCAL_WRITE);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {kReceives, kReceives, 1, 1, 0};
    p->qp = ibv_create_qp(pd_, &init);
    by_number_[p->qp->qp_num] = p;
  }
  static void receive(Pair* p, uint64_t i) {
    ibv_sge sge = {reinterpret_cast<uint64_t>(&p->messages[i]), sizeof(Region), p->message_mr->lkey};
    ibv_recv_wr wr{}, *bad;
    wr.wr_id = i;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ASSERT_EQ(ibv_post_recv(p->qp, &wr, &bad), 0);
  }
  static void send(Pair* p, ibv_wr_opcode opcode, ibv_sge sge, uint32_t imm, const Region& to) {
    ibv_send_wr wr{}, *bad;
    wr.opcode = opcode;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.imm_data = imm;
    wr.wr.rdma = {to.addr, to.rkey};
    ASSERT_EQ(ibv_post_send(p->qp, &wr, &bad), 0);
  }
  void handle(const ibv_wc& wc) {
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
    Pair* const p = by_number_[wc.qp_num];
    const std::lock_guard lock(mutex_);
    if (wc.opcode == IBV_WC_RECV) {
      p->peer = p->messages[wc.wr_id];
      receive(p, wc.wr_id);
    } else if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
      EXPECT_EQ(wc.imm_data, p->rounds_in % 2);
      ++p->rounds_in;
      receive(p, wc.wr_id);
    } else if (wc.opcode == IBV_WC_RDMA_WRITE) {
      ++p->writes_done;
    }
    changed_.notify_all();
  }
  bool over() {
    const std::lock_guard lock(mutex_);
    for (const auto& [other, p] : pairs_)
      if (p.rounds_in < kRounds || p.writes_done < kRounds) return false;
    return true;
  }
  void serve() {
    while (!over()) {
      ibv_cq* cq;
      void* unused;
      ASSERT_EQ(ibv_get_cq_event(channel_, &cq, &unused), 0);
      ibv_ack_cq_events(cq, 1);
      ASSERT_EQ(ibv_req_notify_cq(cq, 0), 0);
      ibv_wc found[8];
      for (int n = ibv_poll_cq(cq, 8, found); n > 0; n = ibv_poll_cq(cq, 8, found))
        for (int i = 0; i < n; ++i) handle(found[i]);
    }
  }

  const uint32_t self_;
  ibv_context* const context_;
  ibv_pd* pd_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* cq_ = nullptr;
  std::map<uint32_t, Pair> pairs_;
  std::map<uint32_t, Pair*> by_number_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread loop_;
};

TEST(ShimGloo, ranks_exchange_blocks) {
  std::vector<std::unique_ptr<Rank>> ranks;
  for (uint32_t i = 0; i < kRanks; ++i) ranks.push_back(std::make_unique<Rank>(i));
  for (const auto& rank : ranks) ASSERT_TRUE(rank->ready());
  for (uint32_t i = 0; i < kRanks; ++i) {
    for (uint32_t other = 0; other < kRanks; ++other) {
      if (other == i) continue;
      RcConnection to;
      to.dest_qpn = ranks[other]->towards(i)->qp_num;
      to.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
      ASSERT_NO_FATAL_FAILURE(connect_rc(ranks[i]->towards(other), to));
    }
  }
  for (const auto& rank : ranks) rank->start();
  std::vector<std::thread> threads;
  for (const auto& rank : ranks) threads.emplace_back([&rank] { rank->exchange(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& rank : ranks) {
    rank->stop();
    EXPECT_EQ(rank->wrong, 0u);
  }
}

}  // namespace
