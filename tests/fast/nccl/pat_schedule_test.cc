// The schedule of PAT: golden ones, which NCCL 2.28.9 has too, and worlds of ranks that follow it over connections of
// eight steps.
#include "player/pat_schedule.h"

#include <gtest/gtest.h>

#include <bitset>
#include <map>
#include <string>

#include "append_item.h"

namespace mrc::nccl_rig::player {

namespace {

constexpr int kMaxRanks = 130;
constexpr size_t kSlots = 8;  // of a connection
using Ranks = std::bitset<kMaxRanks>;

// "1.0+2!": piece 0 on link 1, two messages ahead, which completes its message.
std::string text(const PatEnd& end) {
  if (end.link < 0) return "own";
  std::string text = std::to_string(end.link) + "." + std::to_string(end.piece);
  if (end.ahead > 0) text += "+" + std::to_string(end.ahead);
  return end.completes ? text + "!" : text;
}

// "3* 1.0>0.0!": of block 3, its first step.
std::string text(const std::vector<PatStep>& steps) {
  std::string all;
  for (const PatStep& step : steps)
    append_item(&all, std::to_string(step.block) + (step.first ? "* " : " ") + text(step.from) + ">" + text(step.to));
  return all;
}

// What lies at a place: whose block, and whose data are in it.
struct Data {
  int block = -1;
  Ranks of;
};

// The connection of a link of one rank, in one direction; for which rank, is in the world.
struct Connection {
  size_t sent = 0, freed = 0;
  std::map<int, Data> slots[kSlots];  // by piece
};

// Ranks that follow the schedule for some chunks, each as far as it comes before the next one's turn.
class World {
 public:
  World(bool gathers, int ranks, PatAggregation aggregation, int chunks)
      : gathers_(gathers),
        ranks_(ranks),
        chunks_(static_cast<size_t>(chunks)),
        steps_(gathers ? pat_all_gather(ranks, aggregation) : pat_reduce_scatter(ranks, aggregation)),
        done_(static_cast<size_t>(ranks)),
        outputs_(done_.size()),
        connections_(done_.size()) {
    for (auto& of_rank : connections_)
      while (1 << of_rank.size() < ranks) of_rank.emplace_back();
  }

  // Ends at the first failure.
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < ranks_; ++rank)
        for (; done_[rank] < chunks_ * steps_.size() && step(rank, steps_[done_[rank] % steps_.size()]); moved = true) {
          if (testing::Test::HasFailure()) return;
          if (++done_[rank] % steps_.size() == 0) check_outputs(rank);
        }
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      ASSERT_EQ(done_[rank], chunks_ * steps_.size()) << "rank " << rank << " waits for ever";
      for (const Connection& c : connections_[rank]) {
        ASSERT_EQ(c.sent, c.freed);
        for (const auto& slot : c.slots) ASSERT_TRUE(slot.empty()) << "what was never sent";
      }
    }
  }

 private:
  Connection& from(int rank, int link) {
    const int distance = 1 << link;
    return connections_[(rank + (gathers_ ? distance : ranks_ - distance)) % ranks_][link];
  }

  // False: it must wait.
  bool step(int rank, const PatStep& step) {
    Connection* in = step.from.link < 0 ? nullptr : &from(rank, step.from.link);
    Connection* out = step.to.link < 0 ? nullptr : &connections_[rank][step.to.link];
    if (in && in->freed + step.from.ahead >= in->sent) return false;
    if (out && out->sent + step.to.ahead >= out->freed + kSlots) return false;
    const int block = (rank + step.block) % ranks_;
    Data received;
    if (in) {
      received = in->slots[(in->freed + step.from.ahead) % kSlots][step.from.piece];
      EXPECT_EQ(received.block, block) << "rank " << rank;
    }
    Data* sent = out ? &out->slots[(out->sent + step.to.ahead) % kSlots][step.to.piece] : nullptr;
    gathers_ ? gather(rank, step, block, received, sent) : reduce(rank, step, block, received, sent);
    if (step.to.completes) {
      EXPECT_EQ(out->slots[out->sent % kSlots].rbegin()->first, step.to.piece) << "a piece behind the message's end";
      ++out->sent;
    }
    if (step.from.completes) in->slots[in->freed++ % kSlots].clear();
    return true;
  }
  void gather(int rank, const PatStep& step, int block, const Data& received, Data* sent) {
    const Data data = step.from.link < 0 ? own(rank, rank) : received;
    EXPECT_EQ(data.block, block) << "rank " << rank;
    if (sent) {
      EXPECT_EQ(sent->block, -1) << "rank " << rank << " sends over another piece";
      *sent = data;
    }
    if (step.first) outputs_[rank].push_back(data);
  }
  void reduce(int rank, const PatStep& step, int block, const Data& received, Data* sent) {
    if (step.to.link < 0 && step.first) outputs_[rank].push_back({block, {}});
    Data* sum = sent ? sent : &outputs_[rank].back();
    if (step.first) {
      EXPECT_TRUE(sum->of.none()) << "rank " << rank << " overwrites another sum";
      *sum = own(rank, block);
    }
    EXPECT_EQ(sum->block, block) << "rank " << rank;
    EXPECT_TRUE((sum->of & received.of).none()) << "rank " << rank << " adds data that are in the sum";
    sum->of |= received.of;
  }
  static Data own(int rank, int block) { return {block, Ranks().set(static_cast<size_t>(rank))}; }

  // After a chunk.
  void check_outputs(int rank) {
    Ranks all;
    for (const Data& data : outputs_[rank]) {
      EXPECT_TRUE((all & data.of).none()) << "rank " << rank << " has a block twice";
      all |= data.of;
      EXPECT_EQ(data.block, gathers_ ? static_cast<int>(data.of._Find_first()) : rank);
    }
    EXPECT_EQ(outputs_[rank].size(), gathers_ ? static_cast<size_t>(ranks_) : 1);
    EXPECT_EQ(all.count(), static_cast<size_t>(ranks_)) << "rank " << rank;
    outputs_[rank].clear();
  }

  const bool gathers_;
  const int ranks_;
  const size_t chunks_;
  const std::vector<PatStep> steps_;
  std::vector<size_t> done_;
  std::vector<std::vector<Data>> outputs_;
  std::vector<std::vector<Connection>> connections_;  // by rank and link: the sender's
};

// Every aggregation that sizes can give.
std::vector<PatAggregation> aggregations(int ranks) {
  std::vector<PatAggregation> all;
  for (size_t bytes = 512;; bytes /= 2) {
    const PatAggregation next = pat_aggregation(ranks, 512, bytes);
    if (!all.empty() && all.back().pieces == next.pieces) return all;
    all.push_back(next);
  }
}

void expect_right(int ranks, PatAggregation aggregation, int chunks) {
  for (bool gathers : {true, false}) {
    SCOPED_TRACE((gathers ? "AllGather of " : "ReduceScatter of ") + std::to_string(ranks) + " ranks, " +
                 std::to_string(aggregation.pieces) + " pieces, " + std::to_string(aggregation.trees) + " trees");
    World(gathers, ranks, aggregation, chunks).run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace

TEST(PatSchedule, aggregation_by_sizes) {
  const auto expect = [](int ranks, size_t chunk, size_t channel, int pieces, int trees) {
    const PatAggregation found = pat_aggregation(ranks, chunk, channel);
    EXPECT_EQ(found.pieces, pieces) << ranks << " ranks, " << channel << " of " << chunk << " bytes";
    EXPECT_EQ(found.trees, trees) << ranks << " ranks, " << channel << " of " << chunk << " bytes";
  };
  // As many pieces as fit into half a chunk.
  expect(64, 1000, 501, 1, 8);
  expect(64, 1000, 500, 2, 16);
  expect(64, 1000, 251, 2, 16);
  expect(64, 1000, 250, 4, 32);
  // No more than half the ranks, rounded up to a power of two.
  expect(2, 1000, 1, 1, 1);
  expect(3, 1000, 1, 1, 1);
  expect(4, 1000, 1, 2, 2);
  expect(5, 1000, 1, 2, 2);
  expect(6, 1000, 1, 4, 4);
  expect(130, 1000, 1, 128, 128);
  // Eight messages of large data.
  expect(7, 1000, 100'000, 1, 4);
  expect(10, 1000, 100'000, 1, 8);
  expect(130, 1000, 100'000, 1, 8);
}

// The schedules of these sizes are those of PatAGAlgorithm and PatRSAlgorithm in NCCL's src/include/collectives.h.
TEST(PatSchedule, schedules_are_those_of_nccl) {
  const auto expect = [](int ranks, PatAggregation aggregation, const char* all_gather, const char* reduce_scatter) {
    EXPECT_EQ(text(pat_all_gather(ranks, aggregation)), all_gather) << ranks << " ranks";
    EXPECT_EQ(text(pat_reduce_scatter(ranks, aggregation)), reduce_scatter) << ranks << " ranks";
  };
  expect(2, {1, 1}, "0* own>0.0!, 1* 0.0!>own", "1* own>0.0!, 0* 0.0!>own");
  expect(3, {1, 1}, "0* own>1.0!, 2* 1.0!>own, 0 own>0.0!, 1* 0.0!>own",
         "2* own>1.0!, 0* 1.0!>own, 1* own>0.0!, 0 0.0!>own");
  expect(5, {1, 2}, "0* own>2.0!, 0 own>1.0!, 2* 1.0!>0.0!, 3* 0.0!>own, 0 own>0.0!, 4* 2.0!>own, 1* 0.0!>own",
         "3* own>0.0!, 2* 0.0!>1.0!, 4* own>2.0, 0* 1.0!>own, 1* own>0.0!, 4 own>2.0!, 0 2.0!>own, 0 0.0!>own");
  expect(7, {4, 4},
         "0* own>2.0!, 0 own>1.0, 4* 2.0>1.1!, 0 own>0.0, 2* 1.0>0.1, 4 2.0!>0.2!, 6* 1.1!>own, 1* 0.0>own, 3* "
         "0.1>own, 5* 0.2!>own",
         "3* own>0.1, 5* own>0.2, 1* own>0.3!, 6* own>1.0, 2* 0.1>1.1!, 4* 1.0>2.0, 0* 1.1!>own, 4 0.2>2.0!, 0 "
         "2.0!>own, 0 0.3!>own");
  expect(13, {1, 8},
         "0* own>3.0!, 0 own>2.0!, 8* 3.0>2.0!, 0 own>1.0!, 4* 2.0>1.0!, 8 3.0>1.0!, 0 own>0.0!, 2* 1.0!>0.0!, "
         "4 2.0!>0.0!, 6* 1.0!>0.0!, 8 3.0!>0.0!, 10* 1.0!>0.0!, 12* 2.0!>own, 1* 0.0!>own, 3* 0.0!>own, 5* "
         "0.0!>own, 7* 0.0!>own, 9* 0.0!>own, 11* 0.0!>own",
         "7* own>0.0!, 11* own>0.0!, 3* own>0.0!, 5* own>0.0!, 9* own>0.0!, 1* own>0.0!, 6* 0.0!>1.0!, 10* "
         "0.0!>1.0!, 2* 0.0!>1.0!, 12* own>2.0, 4* 1.0!>2.0+1, 8* 1.0!>3.0, 0* 1.0!>own, 12 own>2.0!, 4 "
         "0.0!>2.0!, 8 2.0!>3.0, 0 2.0!>own, 8 0.0!>3.0!, 0 3.0!>own, 0 0.0!>own");
}

// Every rank gets every block once, sums have every rank's data once, no piece is overwritten or left, and no rank
// waits for ever.
TEST(PatSchedule, every_number_of_ranks) {
  for (int ranks = 2; ranks <= kMaxRanks && !HasFailure(); ++ranks) {
    const std::vector<PatAggregation> all = aggregations(ranks);
    expect_right(ranks, all.front(), 1);
    expect_right(ranks, all.back(), 1);
  }
}

// Chunks follow each other through the same eight slots.
TEST(PatSchedule, chunks_in_a_row) {
  for (int ranks : {2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 31, 33, 64})
    for (const PatAggregation& aggregation : aggregations(ranks))
      if (!HasFailure()) expect_right(ranks, aggregation, 10);
}

}  // namespace mrc::nccl_rig::player
