// Two processes on one device and one GID, as programs of the field are: spec/clients.md rules 1, 2 and 8. The child is
// forked before either opens a device; they exchange what real programs exchange (QPN, key, address) through shared
// memory.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "harness/api_pair.h"

namespace mrc::api {
namespace {

struct Side {
  std::atomic<uint32_t> qpn{0};
  std::atomic<bool> ready{false};
  uint32_t rkey = 0;
  uint64_t addr = 0;
};

struct Shared {
  Side parent, child;
  std::atomic<bool> flag{false};
};

// The objects of one process, in the order in which they are made.
struct Process {
  Process() {
    verbs = mrc_soft_open_device_by_name(nullptr);
    context = mrc_create_context(verbs, nullptr);
    pd = mrc_soft_alloc_pd(verbs);
    mrc_soft_query_gid(verbs, 1, 3, &gid);
    end = std::make_unique<End>(context, pd);
  }
  ~Process() {
    end.reset();
    mrc_destroy_context(context);
    mrc_soft_dealloc_pd(pd);
    mrc_soft_close_device(verbs);
  }
  // True when the QP stands; the peer's may still be in INIT.
  bool connect(Side* own, Side* peer) {
    own->rkey = end->mr->rkey;
    own->addr = reinterpret_cast<uint64_t>(end->buffer.data());
    own->qpn = end->qpn;
    while (peer->qpn == 0) usleep(100);
    const bool done = end->to_init() == 0 && end->to_rtr(gid, peer->qpn) == 0 && end->to_rts() == 0;
    own->ready = done;
    return done;
  }
  int write(const Side& peer, uint64_t wr_id, uint32_t length, bool with_imm) {
    ibv_sge sge{reinterpret_cast<uint64_t>(end->buffer.data()), length, end->mr->lkey};
    ibv_send_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = with_imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = peer.addr;
    wr.wr.rdma.rkey = peer.rkey;
    ibv_send_wr* bad;
    return mrc_post_send(end->qp, &wr, &bad);
  }

  ibv_context* verbs = nullptr;
  mrc_context* context = nullptr;
  ibv_pd* pd = nullptr;
  union ibv_gid gid {};
  std::unique_ptr<End> end;
};

// Still reachable when the process exits, so that a leak checker sees no leak; volatile, or the compiler drops it.
Process* volatile left_open = nullptr;

// Spins on the last word of `n` bytes, like a program without completions (spec/clients.md rule 14), until each
// of its bytes is `value`; `n` is a multiple of 8.
template <typename Between>
void spin_on_last_word(const std::vector<uint8_t>& buffer, size_t n, uint8_t value, Between&& between) {
  const auto* last = reinterpret_cast<const uint64_t*>(&buffer[n - 8]);
  const uint64_t word = value * uint64_t{0x0101010101010101};
  while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != word) between();
}

class ProcessesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared = new (memory) Shared;
  }
  void TearDown() override {
    for (const char* name : {"MRC_FAULT", "MRC_LINGER_QUIET_MS", "MRC_LINGER_MS"}) unsetenv(name);
    munmap(shared, sizeof(Shared));
  }
  template <typename Body>
  void fork_child(Body&& body) {
    child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) std::exit(body() ? 0 : 1);
  }
  void child_succeeds() {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  // The child receives `n` immediates, then goes in its own way; the parent's writes must all complete.
  template <typename Leave>
  void receiver_leaves_at_once(int n, Leave&& leave) {
    fork_child([&] {
      auto process = std::make_unique<Process>();
      for (int i = 0; i < n; ++i)
        if (process->end->to_init() != 0 || process->end->receive(i) != 0) return false;
      if (!process->connect(&shared->child, &shared->parent)) return false;
      for (int i = 0; i < n; ++i)
        if (process->end->wait().status != IBV_WC_SUCCESS) return false;
      leave(std::move(process));
      return true;
    });
    Process process;
    ASSERT_TRUE(process.connect(&shared->parent, &shared->child));
    for (int i = 0; i < n; ++i) ASSERT_EQ(process.write(shared->child, i, 100000, true), 0);
    // The child may be gone before the parent looks at its queue for the first time.
    child_succeeds();
    for (int i = 0; i < n; ++i) EXPECT_EQ(process.end->wait().status, IBV_WC_SUCCESS) << i;
  }

  Shared* shared = nullptr;
  pid_t child = -1;
};

// Rule 1: the target spins on plain memory and calls nothing; it receives, places and acknowledges all the same.
TEST_F(ProcessesTest, target_that_makes_no_calls) {
  constexpr uint32_t kLength = 100000;
  fork_child([&] {
    Process process;
    if (!process.connect(&shared->child, &shared->parent)) return false;
    const std::vector<uint8_t>& buffer = process.end->buffer;
    spin_on_last_word(buffer, kLength, 0x5A, [] { usleep(50); });
    while (!shared->flag) usleep(50);  // until the writer has its completion
    // The other packets may have come after the last word: the first call orders them before what follows.
    return process.end->state() == IBV_QPS_RTS &&
           std::all_of(buffer.begin(), buffer.begin() + kLength, [](uint8_t byte) { return byte == 0x5A; });
  });
  Process process;
  ASSERT_TRUE(process.connect(&shared->parent, &shared->child));
  process.end->buffer.assign(End::kBytes, 0x5A);
  ASSERT_EQ(process.write(shared->child, 1, kLength, false), 0);
  EXPECT_EQ(process.end->wait().status, IBV_WC_SUCCESS);
  shared->flag = true;
  child_succeeds();
}

// Rule 1, the other side: the writer posts and then makes no more calls, and the data goes out to its end.
TEST_F(ProcessesTest, writer_that_makes_no_calls_after_posting) {
  fork_child([&] {
    Process process;
    process.end->buffer.assign(End::kBytes, 0xA5);
    if (!process.connect(&shared->child, &shared->parent)) return false;
    if (process.write(shared->parent, 1, End::kBytes, false) != 0) return false;
    while (!shared->flag) usleep(50);
    return true;
  });
  Process process;
  ASSERT_TRUE(process.connect(&shared->parent, &shared->child));
  spin_on_last_word(process.end->buffer, End::kBytes, 0xA5, [&] { process.end->poll_once(); });
  shared->flag = true;
  child_succeeds();
}

// Rule 2. [API-QP-8]
TEST_F(ProcessesTest, receiver_destroys_everything_and_exits) {
  receiver_leaves_at_once(4, [](std::unique_ptr<Process> process) { process.reset(); });
}

TEST_F(ProcessesTest, receiver_exits_without_destroying) {
  receiver_leaves_at_once(4, [](std::unique_ptr<Process> process) { left_open = process.release(); });
}

TEST_F(ProcessesTest, receiver_exits_over_lossy_paths) {
  setenv("MRC_FAULT", "loss=0.05", 1);
  // An answer may be lost several times over, and a busy machine may keep the peer from asking again.
  setenv("MRC_LINGER_QUIET_MS", "1000", 1);
  setenv("MRC_LINGER_MS", "10000", 1);
  receiver_leaves_at_once(4, [](std::unique_ptr<Process> process) { left_open = process.release(); });
}

}  // namespace
}  // namespace mrc::api
