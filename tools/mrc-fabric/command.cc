#include "command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "append_item.h"
#include "fd.h"
#include "text_file.h"
#include "topology.h"

namespace mrc::fabric {
namespace {

struct Pipe {
  Fd ends[2];
  Pipe() {
    int made[2];
    if (pipe2(made, O_CLOEXEC) != 0) throw FabricError(std::string("pipe: ") + std::strerror(errno));
    for (int end : {0, 1}) ends[end] = Fd(made[end]);
  }
  void shut(int end) { ends[end] = Fd(); }
};

// Feeds `input` and collects both outputs until the child has closed them.
void exchange(Pipe* in, Pipe* out, Pipe* err, const std::string& input, CommandResult* result) {
  size_t sent = 0;
  if (input.empty()) in->shut(1);
  while (out->ends[0] || err->ends[0]) {
    pollfd fds[3] = {{in->ends[1].get(), POLLOUT, 0}, {out->ends[0].get(), POLLIN, 0}, {err->ends[0].get(), POLLIN, 0}};
    if (poll(fds, 3, -1) < 0) continue;  // interrupted: the caller's signal flag is checked between commands
    if (fds[0].revents != 0) {
      const ssize_t n = write(in->ends[1].get(), input.data() + sent, input.size() - sent);
      if (n > 0) sent += static_cast<size_t>(n);
      if ((n < 0 && errno != EINTR) || sent == input.size()) in->shut(1);
    }
    const auto collect = [](Pipe* from, short ready, std::string* text) {
      if (ready == 0) return;
      char buffer[16384];
      const ssize_t n = read(from->ends[0].get(), buffer, sizeof buffer);
      if (n > 0) text->append(buffer, static_cast<size_t>(n));
      if (n == 0 || (n < 0 && errno != EINTR)) from->shut(0);
    };
    collect(out, fds[1].revents, &result->out);
    collect(err, fds[2].revents, &result->err);
  }
}

// "Command failed -:7" gives a line number of the batch; its text is shown instead.
std::string failed_line(const std::string& err, const std::string& input) {
  const size_t at = err.rfind("-:");
  if (at == std::string::npos || input.empty()) return "";
  long number = std::strtol(err.c_str() + at + 2, nullptr, 10);
  std::istringstream lines(input);
  std::string line;
  while (number-- > 0 && std::getline(lines, line)) {
  }
  return line;
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& words, const std::string& input) {
  Pipe in, out, err;
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw FabricError(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    dup2(in.ends[0].get(), 0);
    dup2(out.ends[1].get(), 1);
    dup2(err.ends[1].get(), 2);
    execvp(argv[0], argv.data());
    _exit(kCannotStart);
  }
  in.shut(0);
  out.shut(1);
  err.shut(1);
  CommandResult result;
  exchange(&in, &out, &err, input, &result);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (result.status == kCannotStart && result.err.empty())
    throw FabricError("the program '" + words[0] + "' is missing (Debian: apt-get install iproute2)");
  return result;
}

std::string need_command(const std::vector<std::string>& words, const std::string& input) {
  const CommandResult r = run_command(words, input);
  if (r.status == 0) return r.out;
  std::string text;
  for (const std::string& w : words) append_item(&text, w, " ");
  const std::string line = failed_line(r.err, input);
  throw FabricError(text + (line.empty() ? "" : " at '" + line + "'") + ": " + r.err);
}

void run_batch(const std::string& program, const std::string& netns, const std::string& batch) {
  if (batch.empty()) return;
  std::vector<std::string> words = {program, "-n", netns};
  if (program == "ip") words.push_back("-6");
  words.insert(words.end(), {"-batch", "-"});
  need_command(words, batch);
}

std::string read_text(const std::string& path) {
  Result<std::string> text = read_text_file(path);
  return text ? *std::move(text) : std::string();
}

void write_text(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out || rename(fresh.c_str(), path.c_str()) != 0)
    throw FabricError(path + ": cannot be written: " + std::strerror(errno));
}

}  // namespace mrc::fabric
