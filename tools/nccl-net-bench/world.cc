#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "fd.h"

namespace mrc::net_bench {

namespace {

constexpr char kStarting[] = "starting";

// Texts of other hosts go into messages that scripts read by the line.
std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text;
}

struct Process {
  pid_t pid = -1;
  std::unique_ptr<Channel> channel;
  bool gone = false;       // its end of the channel is closed
  bool delivered = false;  // its result is there
  bool doomed = false;
  std::string stage = kStarting;
  std::optional<Json> exchange;
};

// The first interrupt is for the ranks, which end well; the second one ends this program.
volatile sig_atomic_t interrupt_came = 0;

// Interrupts are delivered only while this program waits for the ranks: an earlier one stays pending until then.
class Interrupts {
 public:
  Interrupts() {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupt_came = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &before_);
  }
  ~Interrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  const sigset_t* before() const { return &before_; }

 private:
  sigset_t before_{};
};

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void replace_all(std::string* text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size())
    text->replace(at, from.size(), to);
}

// Executes the rank: this program again, with the command prefix that places it (in another namespace, for example).
[[noreturn]] void become_rank(const Environment& environment, int rank, const std::string& descriptor) {
  char self[PATH_MAX] = "";
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) _exit(127);
  std::vector<std::string> words = environment.launch;
  for (std::string& word : words) {
    replace_all(&word, "{rank}", std::to_string(rank));
    if (!environment.hosts.empty()) replace_all(&word, "{host}", environment.hosts[static_cast<size_t>(rank)]);
  }
  words.insert(words.end(), {environment.program.empty() ? self : environment.program, kRankArgument, descriptor});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fprintf(stderr, "nccl-net-bench: %s: %s\n", argv[0], strerror(errno));
  _exit(127);
}

// The child's end of the channel, and the argument that names it.
std::string place_channel(const Environment& environment, int fd) {
  if (environment.hosts.empty()) {
    fcntl(fd, F_SETFD, 0);
    return std::to_string(fd);
  }
  dup2(fd, STDIN_FILENO);
  dup2(fd, STDOUT_FILENO);
  return kStandard;
}

Process start(const Environment& environment, int rank, const sigset_t* mask) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    throw Fail(std::string("socketpair: ") + strerror(errno));
  Fd ours(pair[0]);
  const Fd theirs(pair[1]);
  const int big = 1 << 20;
  for (int fd : pair) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &big, sizeof big);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw Fail(std::string("fork: ") + strerror(errno));
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    if (mask != nullptr) pthread_sigmask(SIG_SETMASK, mask, nullptr);
    const std::string descriptor = place_channel(environment, theirs.get());
    if (!environment.preload.empty()) setenv("LD_PRELOAD", environment.preload.c_str(), 1);
    for (const auto& [name, value] : environment.set) setenv(name.c_str(), value.c_str(), 1);
    become_rank(environment, rank, descriptor);
  }
  Process p;
  p.pid = pid;
  p.channel = std::make_unique<Channel>(std::move(ours));
  return p;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return std::string("was ended by signal ") + strsignal(WTERMSIG(status));
  return "exited with " + std::to_string(WEXITSTATUS(status));
}

class World {
 public:
  World(const Json& job, const Environment& environment, std::chrono::duration<double> limit, const Progress& progress)
      : progress_(progress),
        hosts_(environment.hosts),
        until_(Clock::now() + std::chrono::duration_cast<Clock::duration>(limit)),
        limit_(limit) {
    const int ranks = job.at("ranks");
    if (job.value("duration_s", 0.0) > 0) interrupts_.emplace();
    outcome_.results.resize(static_cast<size_t>(ranks));
    for (int i = 0; i < ranks; ++i) processes_.push_back(start(environment, i, mask()));
    for (int i = 0; i < ranks; ++i) {
      Json mine = job;
      mine["rank"] = i;
      mine["preload"] = environment.preload;
      if (!environment.hosts.empty()) mine["environment"] = environment.set;
      processes_[static_cast<size_t>(i)].channel->send(mine);
    }
    for (int d : job.value("doomed", std::vector<int>{})) processes_[static_cast<size_t>(d)].doomed = true;
  }

  // No rank outlives the world.
  ~World() {
    for (Process& p : processes_)
      if (p.pid > 0) kill(p.pid, SIGKILL), wait_for(p.pid);
  }

  Outcome run() {
    while (outcome_.error.empty() && !finished()) step();
    interrupts_.reset();
    if (outcome_.error.empty()) reap();
    return std::move(outcome_);
  }

 private:
  const sigset_t* mask() const { return interrupts_ ? interrupts_->before() : nullptr; }

  bool finished() const {
    return std::all_of(processes_.begin(), processes_.end(), [](const Process& p) { return p.gone; });
  }

  void step() {
    std::vector<pollfd> fds;
    std::vector<size_t> polled;
    for (size_t i = 0; i < processes_.size(); ++i)
      if (!processes_[i].gone) fds.push_back({processes_[i].channel->fd(), POLLIN, 0}), polled.push_back(i);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - Clock::now()).count();
    const timespec wait{static_cast<time_t>(left / 1000), static_cast<long>(left % 1000 * 1000000)};
    const int ready = left > 0 ? ppoll(fds.data(), fds.size(), &wait, mask()) : 0;
    if (ready == 0) return time_is_over();
    if (interrupt_came != 0) {
      interrupt_came = 0;
      for (const Process& p : processes_)
        if (p.pid > 0 && !p.gone) kill(p.pid, SIGINT);
    }
    for (size_t k = 0; ready > 0 && k < fds.size(); ++k)
      if (fds[k].revents != 0) handle_all(polled[k]);
    join_exchange();
  }

  void handle_all(size_t rank) {
    const Process& p = processes_[rank];
    do handle(rank);
    while (!p.gone && p.channel->pending());
  }

  std::string name(size_t rank) const {
    return hosts_.empty() ? "rank " + std::to_string(rank) : "host " + hosts_[rank];
  }

  void handle(size_t rank) {
    Process& p = processes_[rank];
    const std::optional<Json> message = p.channel->receive(Clock::now());
    if (!message && !p.channel->ended()) return;  // a part of one
    if (!message) {
      p.gone = true;
      if (!p.delivered && !p.doomed) died(rank);
      return;
    }
    try {
      take(rank, *message);
    } catch (const Json::exception&) {  // a greeting of a host that happens to be JSON
      fprintf(stderr, "%s: %s\n", name(rank).c_str(),
              message->dump(-1, ' ', true, Json::error_handler_t::replace).c_str());
    }
  }

  void take(size_t rank, const Json& message) {
    Process& p = processes_[rank];
    const std::string type = message.at("type");
    if (type == "exchange") p.exchange = message.at("data");
    if (type == "stage") p.stage = one_line(message.at("text"));
    if (type == "progress" && progress_) progress_(rank, message.at("data"));
    if (type == "result") {
      outcome_.results[rank] = message.at("data");
      p.delivered = true;
      p.stage = "ending, its work done";
    }
    if (type == "error") {
      outcome_.error = name(rank) + ": " + one_line(message.at("text"));
      outcome_.cannot_run = message.value("cannot_run", false);
    }
  }

  // Sends all values to all ranks once every running rank has sent its value; null for an ended one.
  void join_exchange() {
    Json all = Json::array();
    bool any = false;
    for (const Process& p : processes_) {
      if (!p.gone && !p.delivered && !p.exchange) return;
      any = any || p.exchange;
      all.push_back(p.exchange ? *p.exchange : Json());
    }
    if (!any) return;
    for (Process& p : processes_)
      if (p.exchange) p.exchange.reset(), p.channel->send(all);
  }

  void died(size_t rank) {
    Process& p = processes_[rank];
    const int status = wait_for(p.pid);
    p.pid = -1;
    outcome_.error = name(rank) + " " + how_it_ended(status) + " while " + p.stage;
    outcome_.died = static_cast<int>(rank);
  }

  static bool waits_to_start(const Process& p) { return !p.gone && p.stage == kStarting; }

  void time_is_over() {
    outcome_.error = "not finished after " + std::to_string(static_cast<int>(limit_.count())) + " s:";
    // The others wait for those that have not started.
    const bool all_started =
        std::none_of(processes_.begin(), processes_.end(), [](const Process& p) { return waits_to_start(p); });
    for (size_t i = 0; i < processes_.size(); ++i)
      if (!processes_[i].gone && (all_started || waits_to_start(processes_[i])))
        outcome_.error += " " + name(i) + " hangs while " + processes_[i].stage + ";";
  }

  // The results are there; an exit with an error, as after a sanitizer's report, still counts.
  void reap() {
    for (size_t i = 0; i < processes_.size(); ++i) {
      Process& p = processes_[i];
      int status = 0;
      while (waitpid(p.pid, &status, WNOHANG) == 0) {
        if (Clock::now() >= until_) return time_is_over();
        usleep(1000);
      }
      p.pid = -1;
      const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      if (p.doomed ? !killed && status != 0 : status != 0)
        outcome_.error = name(i) + " " + how_it_ended(status) + " after its work was done";
    }
  }

  Progress progress_;
  const std::vector<std::string> hosts_;
  Clock::time_point until_;
  std::chrono::duration<double> limit_;
  std::optional<Interrupts> interrupts_;
  std::vector<Process> processes_;
  Outcome outcome_;
};

}  // namespace

Outcome run_world(const Json& job, const Environment& environment, std::chrono::duration<double> limit,
                  const Progress& progress) {
  return World(job, environment, limit, progress).run();
}

}  // namespace mrc::net_bench
