// Due answers of a queue pair are sent even if its application makes no more calls. [VRB-RSP-6, VRB-PRG-1]
#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "connected_qp.h"
#include "fd.h"
#include "first_device.h"
#include "harness/limits.h"

namespace {

using namespace std::chrono_literals;

constexpr size_t kBytes = 4096;
// A device opened for itself, so with a progress thread of its own, and one queue pair.
class Side {
 public:
  explicit Side(bool shared_receives = false, int completions = 16) {
    context_ = open_first_device();
    if (context_ == nullptr) throw std::runtime_error("no device");
    pd_ = ibv_alloc_pd(context_);
    channel_ = ibv_create_comp_channel(context_);
    cq_ = ibv_create_cq(context_, completions, nullptr, channel_, 0);
    memory = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mr_ = ibv_reg_mr(pd_, memory, kBytes, IBV_ACCESS_LOCAL_WRITE);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    init.cap.max_send_wr = init.cap.max_recv_wr = init.cap.max_send_sge = init.cap.max_recv_sge = 4;
    if (shared_receives) {
      ibv_srq_init_attr shared{};
      shared.attr.max_wr = shared.attr.max_sge = 4;
      init.srq = srq_ = ibv_create_srq(pd_, &shared);
    }
    qp_ = ibv_create_qp(pd_, &init);
  }
  ~Side() {
    ibv_destroy_qp(qp_);
    if (srq_ != nullptr) ibv_destroy_srq(srq_);
    ibv_dereg_mr(mr_);
    ibv_destroy_cq(cq_);
    ibv_destroy_comp_channel(channel_);
    if (other_cq_ != nullptr) ibv_destroy_cq(other_cq_);
    if (other_channel_ != nullptr) ibv_destroy_comp_channel(other_channel_);
    ibv_dealloc_pd(pd_);
    ibv_close_device(context_);
    munmap(memory, kBytes);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void connect(const Side& peer) { connect_rc(qp_, {.dest_qpn = peer.qp_->qp_num}); }

  void send() {
    ibv_sge sge = whole();
    ibv_send_wr wr{}, *bad;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    ASSERT_EQ(ibv_post_send(qp_, &wr, &bad), 0);
  }

  void receive() {
    ibv_sge sge = whole();
    ibv_recv_wr wr{}, *bad;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ASSERT_EQ(srq_ != nullptr ? ibv_post_srq_recv(srq_, &wr, &bad) : ibv_post_recv(qp_, &wr, &bad), 0);
  }

  // Completions that were there, of which one that failed fails the test.
  int take() {
    ibv_wc wc;
    const int n = ibv_poll_cq(cq_, 1, &wc);
    if (n > 0) {
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    }
    return n;
  }
  ibv_wc_status completion() { return status_within(cq_, 10s); }

  ibv_qp_state state() {
    ibv_qp_attr attr;
    ibv_qp_init_attr init;
    EXPECT_EQ(ibv_query_qp(qp_, &attr, IBV_QP_STATE, &init), 0);
    return attr.qp_state;
  }

  void wait_for_event() {
    ibv_cq* cq;
    void* unused;
    ASSERT_EQ(ibv_get_cq_event(channel_, &cq, &unused), 0);
    ibv_ack_cq_events(cq, 1);
  }
  void wait_at_descriptor() {
    pollfd wait = {channel_->fd, POLLIN, 0};
    ASSERT_EQ(poll(&wait, 1, static_cast<int>(mrc::harness::limit(10s) / 1ms)), 1);
  }
  void arm() { ASSERT_EQ(ibv_req_notify_cq(cq_, 0), 0); }
  // A queue in which nothing will ever be.
  void arm_another() {
    other_channel_ = ibv_create_comp_channel(context_);
    other_cq_ = ibv_create_cq(context_, 1, nullptr, other_channel_, 0);
    ASSERT_EQ(ibv_req_notify_cq(other_cq_, 0), 0);
  }

  char* memory = nullptr;

 private:
  ibv_sge whole() const { return {reinterpret_cast<uint64_t>(memory), kBytes, mr_->lkey}; }

  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_comp_channel* other_channel_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_cq* other_cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_srq* srq_ = nullptr;
  ibv_qp* qp_ = nullptr;
};

// The requester sends to the responder.
struct Connected {
  explicit Connected(bool shared_receives = false, int completions = 16) : responder(shared_receives, completions) {
    requester.connect(responder);
    responder.connect(requester);
  }
  void complete_both() {
    EXPECT_EQ(responder.completion(), IBV_WC_SUCCESS);
    EXPECT_EQ(requester.completion(), IBV_WC_SUCCESS);
  }

  Side requester, responder;
};

// Long enough for a progress thread to detect that no thread polls, and to sleep.
void let_progress_thread_sleep() {
  std::this_thread::sleep_for(100ms);
}

// The second completion is lost: the application would wait for it for ever. [VRB-CQ-1]
TEST(Overrun, a_lost_completion_fails_the_queue_pair) {
  Connected c(false, 1);
  for (int i = 0; i < 2; ++i) c.responder.receive();
  for (int i = 0; i < 2; ++i) c.requester.send();
  const auto until = std::chrono::steady_clock::now() + mrc::harness::limit(10s);
  while (c.responder.state() != IBV_QPS_ERR && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(c.responder.state(), IBV_QPS_ERR);
  EXPECT_EQ(c.responder.completion(), IBV_WC_SUCCESS);  // the first one is still there
}

// The SEND waits for a receive request. The receiver posts one and makes no other call.
void wait_for_a_receive_request(bool shared_receives) {
  Connected c(shared_receives);
  for (int i = 0; i < 5; ++i) {
    c.requester.send();
    let_progress_thread_sleep();
    c.responder.receive();
    ASSERT_EQ(c.requester.completion(), IBV_WC_SUCCESS) << i;
  }
}

TEST(Progress, posting_a_receive_request_is_enough_for_the_confirmation) {
  wait_for_a_receive_request(false);
}

TEST(Progress, so_it_is_on_a_shared_receive_queue) {
  wait_for_a_receive_request(true);
}

// The receiver begins to wait when the progress thread sleeps, so both wait for the same event of the MRC library.
TEST(Progress, a_wait_for_an_event_leaves_no_work_behind) {
  Connected c;
  for (int i = 0; i < 100; ++i) {
    c.responder.receive();
    c.responder.arm();
    std::this_thread::sleep_for(10ms);
    std::thread receiver([&] { c.responder.wait_for_event(); });
    std::this_thread::sleep_for(1ms);
    c.requester.send();
    receiver.join();
    c.complete_both();
    ASSERT_FALSE(HasFailure()) << i;
  }
}

// A program that has waited in ibv_get_cq_event many times, and then waits at the channel's descriptor.
TEST(Progress, waits_in_the_call_may_be_followed_by_one_at_the_descriptor) {
  Connected c;
  for (int i = 0; i < 100; ++i) {
    c.responder.receive();
    c.responder.arm();
    c.requester.send();
    if (i % 10 == 9) c.responder.wait_at_descriptor();
    c.responder.wait_for_event();
    c.complete_both();
    ASSERT_FALSE(HasFailure()) << i;
  }
}

// What has happened to the threads of this process so far, for the cost of a short read of each.
class Switches {
 public:
  Switches() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::getline(std::ifstream(task.path() / "comm"), name);
      if (name == "mrc-verbs")
        threads_.push_back(mrc::Fd(open((task.path() / "status").c_str(), O_RDONLY | O_CLOEXEC)));
    }
  }
  size_t progress_threads() const { return threads_.size(); }
  // How often the progress threads have given up a processor, which each wake-up of one ends with.
  uint64_t rests() const {
    uint64_t rests = 0;
    for (const mrc::Fd& thread : threads_) {
      char text[4096];
      const ssize_t size = pread(thread.get(), text, sizeof text, 0);
      const std::string status(text, size > 0 ? static_cast<size_t>(size) : 0);
      const std::string key = "\nvoluntary_ctxt_switches:";
      rests += std::stoull(status.substr(status.find(key) + key.size()));
    }
    return rests;
  }
  // How often the calling thread has lost its processor.
  static long lost() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
  }

 private:
  std::vector<mrc::Fd> threads_;
};

// UCX arms the completion queue of its wire-up and polls the others: a progress thread that wakes up for each message
// takes the processor from the program. It may look once in a millisecond.
TEST(Progress, a_program_that_polls_beside_an_armed_queue_keeps_its_processor) {
  Connected c;
  c.requester.arm_another();
  c.responder.arm_another();
  const Switches switches;
  ASSERT_EQ(switches.progress_threads(), 2u);
  const auto until = std::chrono::steady_clock::now() + mrc::harness::limit(60s);
  const auto exchange = [&] {
    c.responder.receive();
    c.requester.send();
    for (int left = 2; left > 0 && std::chrono::steady_clock::now() < until;)  // both polled all the time
      left -= c.responder.take() + c.requester.take();
  };
  // A thread that has lost its processor does not poll, and the progress threads serve: only exchanges without that
  // count. Where these threads took it, hardly any would.
  constexpr int kMessages = 2000, kExchange = 20;
  int messages = 0;
  uint64_t rests = 0, allowed = kMessages / 2;
  while (messages < kMessages && std::chrono::steady_clock::now() < until) {
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(c.responder.take() + c.requester.take(), 0);
    const auto begin = std::chrono::steady_clock::now();
    const long lost = Switches::lost();
    const uint64_t before = switches.rests();
    for (int i = 0; i < kExchange; ++i) exchange();
    const uint64_t after = switches.rests();
    if (Switches::lost() != lost) continue;
    messages += kExchange;
    rests += after - before;
    allowed += 2 * static_cast<uint64_t>((std::chrono::steady_clock::now() - begin) / 1ms + 1);
  }
  ASSERT_EQ(messages, kMessages);
  EXPECT_LT(rests, allowed);
}

// A program that has polled for long, and then waits at the channel's descriptor without arming again.
TEST(Progress, a_wait_at_the_descriptor_may_follow_many_polls) {
  Connected c;
  for (int i = 0; i < 20; ++i) {
    c.responder.receive();
    c.responder.arm();
    for (int k = 0; k < 3000; ++k) ASSERT_EQ(c.responder.take(), 0);
    std::thread sender([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(i));
      c.requester.send();
    });
    c.responder.wait_at_descriptor();
    sender.join();
    c.responder.wait_for_event();
    c.complete_both();
    ASSERT_FALSE(HasFailure()) << i;
  }
}

// Touching `guarded` keeps the thread that does it for a while: it was interrupted, say, by another program. On a busy
// machine that may be the progress thread.
char* guarded;
void interrupted(int, siginfo_t* info, void*) {
  if (info->si_addr < guarded || info->si_addr >= guarded + kBytes) _exit(3);
  usleep(50000);
  mprotect(guarded, kBytes, PROT_READ | PROT_WRITE);
}

// ThreadSanitizer takes a thread that is cancelled in a wait for one still in it, and sees none of its locks.
// AddressSanitizer does not see that the frames of a cancelled thread are left, and takes its own call of sigaltstack()
// for a write to one.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// rping cancels the thread that waits for completions. The unwinding passes through the library.
TEST(Progress, a_thread_that_waits_for_an_event_can_be_cancelled) {
  ibv_context* const context = open_first_device();
  ASSERT_NE(context, nullptr);
  ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  pthread_t waits;
  const auto wait = [](void* of) -> void* {
    ibv_cq* cq;
    void* cq_context;
    ibv_get_cq_event(static_cast<ibv_comp_channel*>(of), &cq, &cq_context);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&waits, nullptr, wait, channel), 0);
  std::this_thread::sleep_for(50ms);  // most likely it sleeps by now; it may be cancelled before as well
  ASSERT_EQ(pthread_cancel(waits), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(waits, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

// Whether it stood in for the library's own threads, they serve again.
TEST(Progress, traffic_goes_on_after_a_thread_that_waited_was_cancelled) {
  Connected c;
  for (int i = 0; i < 5; ++i) {
    pthread_t waits;
    const auto wait = [](void* of) -> void* {
      static_cast<Side*>(of)->wait_for_event();
      return nullptr;
    };
    c.responder.receive();
    c.responder.arm();
    ASSERT_EQ(pthread_create(&waits, nullptr, wait, &c.responder), 0);
    std::this_thread::sleep_for(20ms);
    ASSERT_EQ(pthread_cancel(waits), 0);
    ASSERT_EQ(pthread_join(waits, nullptr), 0);
    c.requester.send();
    c.responder.wait_at_descriptor();
    c.responder.wait_for_event();
    c.complete_both();
    ASSERT_FALSE(HasFailure()) << i;
  }
}

struct Transfers {
  Connected* c;
  std::atomic<int> done{0};

  // None is left half done at the only cancellation point.
  static void* run(void* self) {
    auto& t = *static_cast<Transfers*>(self);
    for (;; ++t.done) {
      t.c->responder.receive();
      t.c->requester.send();
      t.c->complete_both();
      pthread_testcancel();
    }
  }
};

// [API-THR-1]: verbs' data path has no cancellation point, so a thread that is cancelled is at one of its own.
TEST(Progress, a_thread_is_not_cancelled_in_the_middle_of_a_transfer) {
  Connected c;
  Transfers transfers{&c};
  for (int i = 0; i < 100; ++i) {
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, &Transfers::run, &transfers), 0);
    std::this_thread::sleep_for(i * 50us);  // the moment is any
    ASSERT_EQ(pthread_cancel(thread), 0);
    void* result = nullptr;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
  }
  c.responder.receive();
  c.requester.send();
  c.complete_both();
  EXPECT_GT(transfers.done.load(), 0);
}

// [API-THR-1]: the device is open, as libibverbs itself can be cancelled while it looks for devices.
TEST(Progress, objects_are_made_and_destroyed_by_threads_that_are_cancelled) {
  ibv_context* const context = open_first_device();
  ASSERT_NE(context, nullptr);
  const auto make = [](void* of) -> void* {
    auto* const device = static_cast<ibv_context*>(of);
    static char memory[4096];
    for (;;) {
      ibv_pd* const pd = ibv_alloc_pd(device);
      ibv_cq* const cq = ibv_create_cq(device, 4, nullptr, nullptr, 0);
      ibv_mr* const mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
      ibv_qp_init_attr init{};
      init.send_cq = init.recv_cq = cq;
      init.qp_type = IBV_QPT_RC;
      init.cap.max_send_wr = init.cap.max_recv_wr = init.cap.max_send_sge = init.cap.max_recv_sge = 1;
      ibv_qp* const qp = ibv_create_qp(pd, &init);
      EXPECT_EQ(ibv_destroy_qp(qp), 0);
      EXPECT_EQ(ibv_dereg_mr(mr), 0);
      EXPECT_EQ(ibv_destroy_cq(cq), 0);
      EXPECT_EQ(ibv_dealloc_pd(pd), 0);
      pthread_testcancel();
    }
  };
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, make, context), 0);
    std::this_thread::sleep_for(i * 100us);
    ASSERT_EQ(pthread_cancel(thread), 0);
    void* result = nullptr;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
  }
  EXPECT_EQ(ibv_close_device(context), 0);
}
#endif

// The receiver is interrupted inside ibv_poll_cq until the progress thread takes it for one that does not poll. It gets
// its completion and makes no other call.
TEST(Progress, an_interrupted_poll_does_not_hold_back_the_confirmation) {
  struct sigaction action {
  }, before;
  action.sa_sigaction = interrupted;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
  Connected c;
  guarded = c.responder.memory;
  for (int i = 0; i < 5; ++i) {
    c.responder.receive();
    mprotect(guarded, kBytes, PROT_NONE);
    ibv_wc_status got = IBV_WC_GENERAL_ERR;
    std::thread receiver([&] { got = c.responder.completion(); });
    std::this_thread::sleep_for(5ms);
    c.requester.send();
    receiver.join();
    ASSERT_EQ(got, IBV_WC_SUCCESS) << i;
    ASSERT_EQ(c.requester.completion(), IBV_WC_SUCCESS) << i;
  }
  ASSERT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
}

}  // namespace
