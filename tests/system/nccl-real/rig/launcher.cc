#include "rig/launcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cuda/fatal.h"
#include "rig/board.h"
#include "rig/cases.h"
#include "rig/clock.h"

namespace mrc::nccl_rig {

namespace {

std::string for_rank(std::string text, int rank) {
  for (size_t at; (at = text.find("{rank}")) != std::string::npos;) text.replace(at, 6, std::to_string(rank));
  return text;
}

// What NCCL needs for ranks that share a machine to meet over the network, each with a device of its own.
void set_environment(const Options& o, int process, int board) {
  const auto unless_set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 0); };
  setenv(kRankVariable, std::to_string(process).c_str(), 1);
  setenv(kBoardVariable, std::to_string(board).c_str(), 1);
  setenv("NCCL_RIG_DEVICES", std::to_string(o.gpus).c_str(), 1);
  setenv("NCCL_HOSTID", ("nccl-rig-" + std::to_string(process)).c_str(), 1);
  setenv("NCCL_DEBUG", "INFO", 1);  // filtered by the parent
  unless_set("NCCL_P2P_DISABLE", "1");
  unless_set("NCCL_SHM_DISABLE", "1");
  unless_set("NCCL_CUMEM_ENABLE", "0");
  unless_set("NCCL_CUMEM_HOST_ENABLE", "0");
  setenv("NCCL_RIG_SM", std::to_string(o.sm).c_str(), 1);
  if (o.launch.empty()) unless_set("NCCL_SOCKET_IFNAME", "lo");
  if (o.plugin == "socket") {
    setenv("NCCL_NET_PLUGIN", "none", 1);
    setenv("NCCL_NET", "Socket", 1);
  } else {
    setenv("NCCL_NET_PLUGIN", o.plugin.c_str(), 1);
    // Otherwise NCCL goes on over TCP where the plugin cannot be used.
    if (!o.expect_net.empty()) unless_set("NCCL_NET", o.expect_net);
    unless_set("NCCL_NET_PLUGIN_REF_COUNT", "1");
  }
  for (const std::string& item : o.environment) {
    const std::string text = for_rank(item, process);
    const size_t equals = text.find('=');
    setenv(text.substr(0, equals).c_str(), equals == std::string::npos ? "" : text.c_str() + equals + 1, 1);
  }
}

class Child {
 public:
  Child(const Options& options, int process, int board, char** argv) : options_(options), process_(process) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe for a rank");
    fflush(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      close(ends[0]);
      close(ends[1]);
      set_environment(options, process, board);
      std::vector<std::string> words;
      for (const std::string& word : options.launch) words.push_back(for_rank(word, process));
      char self[4096];
      const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
      words.emplace_back(self, static_cast<size_t>(length));
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      for (char** argument = argv + 1; *argument; ++argument) arguments.push_back(*argument);
      arguments.push_back(nullptr);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    close(ends[1]);
    fd_ = ends[0];
    if (!options.log_folder.empty()) file_.open(options.log_folder + "/rank" + std::to_string(process) + ".log");
  }
  ~Child() {
    if (!ended_ && pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(fd_);
  }

  int fd() const { return open_ ? fd_ : -1; }
  // What is there to read; lines go where they belong.
  void read_some(nlohmann::json* report) {
    char bytes[16384];
    const ssize_t n = ::read(fd_, bytes, sizeof bytes);
    if (n <= 0) {
      open_ = false;
      return;
    }
    rest_.append(bytes, static_cast<size_t>(n));
    for (size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1))
      line(rest_.substr(0, end), report);
  }
  bool ended() {
    if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
    return ended_;
  }
  // 128 + signal where a signal ended it; an end expected by the case is none.
  int code() const {
    if (WIFEXITED(status_)) return WEXITSTATUS(status_);
    const Case* of = find_case(options_.only_case);
    const bool wanted =
        of != nullptr && of->last_dies && process_ == options_.processes - 1 && WTERMSIG(status_) == SIGKILL;
    return wanted ? 0 : 128 + WTERMSIG(status_);
  }
  const std::string& net() const { return net_; }
  bool other_net() const { return !net_.empty() && !options_.expect_net.empty() && net_ != options_.expect_net; }
  void print_other_net() const {
    printf("# rank %d used transport %s, not %s\n", process_, net_.c_str(), options_.expect_net.c_str());
  }
  void print_tail() const {
    printf("# last lines of rank %d:\n", process_);
    for (const std::string& text : tail_) printf("#   %s\n", text.c_str());
  }

 private:
  void line(const std::string& text, nlohmann::json* report) {
    if (!text.empty() && text[0] == kToReport) {
      if (options_.slices && other_net())
        print_other_net();
      else if (options_.slices)
        printf("%s\n", text.c_str() + 1);
      else
        report->push_back(nlohmann::json::parse(text.substr(1)));
      return;
    }
    if (file_.is_open()) file_ << (text.empty() || text[0] != kToUser ? text : text.substr(1)) << std::endl;
    if (!text.empty() && text[0] == kToUser) {
      if (options_.json != "-") printf("%s\n", text.c_str() + 1);
      return;
    }
    static const std::string kAssigned = "Assigned NET plugin ";
    if (const size_t at = text.find(kAssigned); at != std::string::npos) {
      const size_t begin = at + kAssigned.size();
      net_ = text.substr(begin, text.find(' ', begin) - begin);
    }
    tail_.push_back(text);
    if (tail_.size() > kTail) tail_.pop_front();
    const char* level = getenv("NCCL_DEBUG");
    const bool all = level != nullptr && (strcasecmp(level, "INFO") == 0 || strcasecmp(level, "TRACE") == 0);
    if (all || text.find("NCCL WARN") != std::string::npos || text.find("nccl-rig") == 0)
      fprintf(stderr, "%d: %s\n", process_, text.c_str());
  }

  static constexpr size_t kTail = 30;
  const Options& options_;
  const int process_;
  pid_t pid_ = -1;
  int fd_ = -1, status_ = 0;
  bool open_ = true, ended_ = false;
  std::string rest_, net_;
  std::deque<std::string> tail_;
  std::ofstream file_;
};

Board* interrupted_board = nullptr;
void interrupt(int) {
  interrupted_board->finish();
}

using Children = std::vector<std::unique_ptr<Child>>;

// Until all have ended; false: not in time.
bool serve(const Options& options, Children* children, Board* board, nlohmann::json* report) {
  constexpr double kAfterFailure = 20;  // seconds for the others to end by themselves
  double until = now_s() + options.limit_s;
  bool shortened = false;
  for (;;) {
    std::vector<pollfd> polled;
    for (auto& child : *children) polled.push_back({child->fd(), POLLIN, 0});
    if (poll(polled.data(), polled.size(), 50) < 0) continue;  // interrupted
    bool all_ended = true;
    for (size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents) (*children)[i]->read_some(report);
      const bool ended = (*children)[i]->ended();
      all_ended &= ended && (*children)[i]->fd() < 0;
      if (ended && (*children)[i]->code() != 0) board->fail();
    }
    fflush(stdout);
    if (all_ended) return true;
    if (board->failed() && !shortened) {
      shortened = true;
      until = std::min(until, now_s() + kAfterFailure);
    }
    if (now_s() > until) return false;
  }
}

int verdict(const Options& options, const Children& children, bool in_time) {
  int code = 0;
  for (size_t i = 0; i < children.size(); ++i) {
    const int own = in_time ? children[i]->code() : 1;
    if (own == kFatalExit || code == 0) code = own;
    if (own > 1) printf("# rank %zu: %s %d\n", i, own > 128 ? "signal" : "exit code", own > 128 ? own - 128 : own);
    if (code == 0 && children[i]->other_net()) {
      children[i]->print_other_net();
      code = 1;
    } else if (code == 0 && children[i]->net().empty() && options.processes > 1) {
      printf("# rank %zu has no line 'Assigned NET plugin' in its log\n", i);
      code = 1;
    }
  }
  if (!in_time) printf("# no end within %.0f s\n", options.limit_s);
  if (code != 0)
    for (const auto& child : children) child->print_tail();
  return code > 1 && code != kFatalExit ? 1 : code;
}

// The transport that was used, as NCCL's log names it.
std::string used_net(const Options& options, const Children& children) {
  if (!options.expect_net.empty()) return options.expect_net;
  return children.front()->net().empty() ? "an unnamed transport" : children.front()->net();
}

void write_report(const Options& options, const std::string& net, const nlohmann::json& lines, int code) {
  if (options.json.empty()) return;
  const nlohmann::json all = {{"ranks", options.ranks()}, {"net", net}, {"exit_code", code}, {"lines", lines}};
  if (options.json == "-")
    printf("%s\n", all.dump(1).c_str());
  else
    std::ofstream(options.json) << all.dump(1) << "\n";
}

}  // namespace

int run_all(const Options& options, char** argv) {
  int descriptor = -1;
  Board* board = Board::create(options.processes, &descriptor);
  nlohmann::json lines = nlohmann::json::array();
  signal(SIGINT, SIG_IGN);  // what the ranks inherit
  Children children;
  for (int i = 0; i < options.processes; ++i) children.push_back(std::make_unique<Child>(options, i, descriptor, argv));
  interrupted_board = board;
  signal(SIGINT, options.duration_s > 0 ? interrupt : SIG_DFL);
  const bool in_time = serve(options, &children, board, &lines);
  const int code = verdict(options, children, in_time);
  const std::string net = used_net(options, children);
  if (options.json != "-")
    printf(code == 0 ? "# all well: %d ranks over %s\n" : "# FAILED: %d ranks over %s\n", options.ranks(), net.c_str());
  write_report(options, net, lines, code);
  return code;
}

}  // namespace mrc::nccl_rig
