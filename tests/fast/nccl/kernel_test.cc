// The player ends the process, with exit code 70 and a name, where a kernel's launch has anything that it does not
// know: no test of the rig passes because such a work was left out. Here a launch has one block with one work, which
// runs on the caller's thread. The algorithms are replaced by functions that name themselves, and NCCL's table of
// functions by one of the same size.
#include "player/kernel.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "cuda/fatal.h"
#include "cuda/library.h"
#include "player/functions.h"
#include "player/reduce.h"
#include "player/works.h"

namespace mrc::nccl_rig {

namespace {

constexpr size_t kRows = 1996;  // of NCCL 2.28.9, without the one that ends the table
constexpr size_t kRowWithoutFunction = 8;

}  // namespace

// The number of a function is that of its row.
const Library& loaded_library() {
  static const std::vector<int> numbers = [] {
    std::vector<int> all(kRows + 1);
    std::iota(all.begin(), all.end(), 0);
    all[kRowWithoutFunction] = all[kRows] = -1;
    return all;
  }();
  static const Library library = [] {
    Library made{};
    made.row_to_function = numbers.data();
    made.rows = numbers.size();
    return made;
  }();
  return library;
}

namespace player {

namespace {

std::string last_played;

}  // namespace

void run_ring(const Block&, const Function& function, const WorkColl&) {
  last_played = "ring: " + function.name();
}
void run_tree(const Block&, const Function& function, const WorkColl&) {
  last_played = "tree: " + function.name();
}
void run_pat(const Block&, const Function& function, const WorkColl&) {
  last_played = "pat: " + function.name();
}
void run_p2p(const Block&, const WorkP2p&) {
  last_played = "p2p";
}
size_t type_size(int) {
  return 4;
}

namespace {

// Functions by their numbers.
constexpr unsigned kSendRecvSimple = 0, kAllGatherRing = 3, kAllGatherCollnet = 6, kAllGatherNvls = 9,
                   kAllGatherPat = 12, kAllReduceTree = 16, kAllReduceCollnetChain = 25, kAllReduceNvlsTree = 31,
                   kLastFunction = kRows - 1;

struct OneWork {
  KernelArguments arguments;
  WorkBatch batch;
  char work[kWorkSizes[kWorkCollReg]];
};
static_assert(offsetof(OneWork, batch) == sizeof(KernelArguments));

// The arguments of a kernel of one channel, whose work is all zeros.
std::vector<char> one_work(unsigned function, unsigned work_type) {
  static KernelComm comm;
  OneWork all{};
  all.arguments.comm = &comm;
  all.arguments.channel_mask = 1;
  all.arguments.storage = kInArguments;
  all.batch.work_type = work_type;
  all.batch.function = function;
  all.batch.offset_base = offsetof(OneWork, work);
  all.batch.offset_bits = 1;
  const char* bytes = reinterpret_cast<const char*>(&all);
  return std::vector<char>(bytes, bytes + sizeof all);
}

// Which algorithm played which function.
std::string play(unsigned function, unsigned work_type) {
  last_played = "nothing";
  run_kernel(one_work(function, work_type), nullptr, 1);
  return last_played;
}

void play_first(size_t bytes) {
  std::vector<char> arguments = one_work(kAllGatherRing, kWorkColl);
  arguments.resize(bytes);
  run_kernel(arguments, nullptr, 1);
}

#define EXPECT_NAMED(statement, words) \
  EXPECT_EXIT(statement, testing::ExitedWithCode(kFatalExit), "nccl-rig cannot play this: " words)

}  // namespace

TEST(KernelTest, known_works_reach_their_algorithm) {
  EXPECT_EQ(play(kSendRecvSimple, kWorkP2p), "p2p");
  EXPECT_EQ(play(kAllGatherRing, kWorkColl), "ring: AllGather_RING_SIMPLE");
  EXPECT_EQ(play(kAllGatherPat, kWorkColl), "pat: AllGather_PAT_SIMPLE");
  EXPECT_EQ(play(kAllReduceTree, kWorkColl), "tree: AllReduce_Sum_i8_TREE_LL");
  EXPECT_EQ(play(kLastFunction, kWorkColl), "pat: ReduceScatter_SumPostDiv_f8e5m2_PAT_SIMPLE");
}

TEST(KernelDeathTest, an_unknown_function_is_named) {
  EXPECT_NAMED(play(kLastFunction + 1, kWorkColl), "a work with function number 1996, which libnccl does not have");
  EXPECT_NAMED(play(kRowWithoutFunction, kWorkColl), "a work with function number 8, which libnccl does not have");
}

TEST(KernelDeathTest, an_unknown_type_of_work_is_named) {
  EXPECT_NAMED(play(kAllGatherRing, kWorkTypes), "a work of unknown type 3");
}

// NCCL chooses these only where a switch or NVSwitch reduces, which the rig does not have.
TEST(KernelDeathTest, an_unplayed_algorithm_is_named) {
  EXPECT_NAMED(play(kAllGatherCollnet, kWorkColl), "algorithm of AllGather_COLLNET_DIRECT_SIMPLE");
  EXPECT_NAMED(play(kAllGatherNvls, kWorkColl), "algorithm of AllGather_NVLS_SIMPLE");
  EXPECT_NAMED(play(kAllReduceCollnetChain, kWorkColl), "algorithm of AllReduce_Sum_i8_COLLNET_CHAIN_LL");
  EXPECT_NAMED(play(kAllReduceNvlsTree, kWorkColl), "algorithm of AllReduce_Sum_i8_NVLS_TREE_LL");
}

TEST(KernelDeathTest, a_work_that_does_not_fit_its_function_is_named) {
  EXPECT_NAMED(play(kSendRecvSimple, kWorkColl), "a work of type 1 for SendRecv");
  EXPECT_NAMED(play(kAllGatherRing, kWorkP2p), "a work of type 0 for AllGather_RING_SIMPLE");
  EXPECT_NAMED(play(kAllGatherRing, kWorkCollReg),
               "buffers registered for peers of the same host in AllGather_RING_SIMPLE");
}

TEST(KernelDeathTest, arguments_that_are_cut_are_named) {
  constexpr size_t kArguments = sizeof(KernelArguments), kBatch = kArguments + sizeof(WorkBatch),
                   kAll = kBatch + kWorkSizes[kWorkColl];
  EXPECT_NAMED(play_first(kArguments - 1), "a kernel with 31 bytes of arguments");
  EXPECT_NAMED(play_first(kBatch - 1), "batch 0 lies beyond the kernel's arguments");
  EXPECT_NAMED(play_first(kAll - 1), "a work lies beyond the kernel's arguments");
  play_first(kAll);
  EXPECT_NAMED(run_kernel(one_work(kAllGatherRing, kWorkColl), nullptr, 2), "2 blocks for 1 channels");
}

}  // namespace player

}  // namespace mrc::nccl_rig
