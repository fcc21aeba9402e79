#include "progress/progress_thread.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "objects/context.h"

namespace mrc::shim {

namespace {

constexpr int kMinParkMs = 1, kMaxParkMs = 4;  // while the application polls
constexpr int kMinSleeperParkMs = 2;           // while another thread sleeps and pumps; doubled each time
constexpr int kMaxSleeperParkMs = 20;
constexpr uint64_t kKeepAliveNs = 1'000'000'000;

}  // namespace

ProgressThread::ProgressThread(Context* context) : context_(context), event_(Wakeup::make()) {
  // The application's signal handlers are not to run on this thread, but for what its own instructions raise: blocked,
  // that kills without them.
  sigset_t all, before;
  sigfillset(&all);
  for (int raised : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS}) sigdelset(&all, raised);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "mrc-verbs");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressThread::~ProgressThread() {
  stopping_.store(true);
  event_.wake();
  thread_.join();
}

void ProgressThread::wake(bool sleeper) {
  if (!parked_.load() || (sleeper && park_is_short_.load())) return;
  event_.wake();
}

void ProgressThread::wake_if_asleep() {
  if (asleep_.load() && asleep_.exchange(false)) event_.wake();
}

// Either this sees the end of the other thread's wait, or that sees the thread parked.
void ProgressThread::park(int ms, bool beside_sleeper) {
  park_is_short_.store(beside_sleeper && ms <= kMaxParkMs);
  parked_.store(true);
  if (beside_sleeper && context_->activity().sleepers() == 0) ms = std::min(ms, kMinSleeperParkMs);
  pollfd wait = {event_.fd(), POLLIN, 0};
  if (::poll(&wait, 1, ms) > 0) event_.drain();
  parked_.store(false, std::memory_order_release);
  check_due_ = true;
}

// Or did since the last look: a program that waits in turns for events and serves them pumps itself.
bool ProgressThread::another_thread_sleeps() {
  const uint64_t waits = context_->activity().waits();
  const bool began = waits != waits_;
  waits_ = waits;
  if (began)
    sleeper_park_ms_ = kMinSleeperParkMs;
  else if (context_->activity().sleepers() > 0)
    sleeper_park_ms_ = std::min(sleeper_park_ms_ * 2, kMaxSleeperParkMs);
  else
    return false;
  return true;
}

void ProgressThread::keep_alive() {
  const uint64_t now = Context::now();
  if (now < check_at_) return;
  check_at_ = now + kKeepAliveNs;
  check_due_ = context_->keep_alive();
}

void ProgressThread::sleep() {
  pollfd wait[3] = {
      {event_.fd(), POLLIN, 0}, {context_->pump_queue().fd(), POLLIN, 0}, {context_->soft()->async_fd, POLLIN, 0}};
  uint64_t deadline = context_->deadline();
  if (check_due_) deadline = std::min(deadline, check_at_);
  int ms = -1;
  if (deadline != UINT64_MAX) {
    const uint64_t now = Context::now();
    ms = deadline > now ? static_cast<int>((deadline - now) / 1000000) + 1 : 0;
  }
  if (::poll(wait, 3, ms) > 0) check_due_ = true;
  if ((wait[0].revents & POLLIN) != 0) event_.drain();
  if ((wait[1].revents & POLLIN) != 0) context_->pump_queue().take_event();
}

void ProgressThread::run() {
  uint64_t seen = UINT64_MAX;
  int park_ms = kMinParkMs;
  while (!stopping_.load()) {
    context_->take_mrc_events();
    keep_alive();
    const uint64_t waits = context_->activity().waits();
    if (another_thread_sleeps()) {
      park(sleeper_park_ms_, /*beside_sleeper=*/true);
      continue;
    }
    // Programs poll once more between arming a completion queue and waiting at its channel's descriptor, so that an
    // armed one means more than a few polls do.
    const ApplicationActivity& activity = context_->activity();
    const uint64_t polls = activity.polls();
    if (polls != seen && (!activity.armed() || activity.spins_beside_armed(seen))) {
      seen = polls;
      park(park_ms, /*beside_sleeper=*/false);
      if (activity.polls() != seen && park_ms < kMaxParkMs) ++park_ms;
      continue;
    }
    park_ms = kMinParkMs;
    // Waits for the pumping thread: completions that it took out of the queue before the queue was armed raise no
    // event, and that thread may have made its last call.
    context_->pump_queue().request_event();
    if (context_->pump(/*wait=*/true)) {
      check_due_ = true;
      continue;
    }
    asleep_.store(true);
    if (context_->may_sleep(waits)) sleep();
    asleep_.store(false);
  }
}

}  // namespace mrc::shim
