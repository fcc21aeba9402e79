// Runs programs (ip, tc) with text on their standard input, and manages namespaces by name, which the kernel keeps
// as mounts in /run/netns. Single-threaded.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace mrc::fabric {

// Exit status of a child whose program cannot be started, as of a shell.
inline constexpr int kCannotStart = 127;

struct CommandResult {
  int status = 0;  // exit status; 128 + signal when killed by one
  std::string out, err;
};

// Waits for the end. Throws FabricError when the program is missing.
CommandResult run_command(const std::vector<std::string>& words, const std::string& input = "");
// The same, and throws FabricError with the program's output and the line of the batch where it stopped, on failure.
std::string need_command(const std::vector<std::string>& words, const std::string& input = "");
// One batch inside a namespace ("ip" with -6, or "tc"); nothing happens for an empty one.
void run_batch(const std::string& program, const std::string& netns, const std::string& batch);

bool netns_exists(const std::string& name);
std::vector<std::string> netns_list();
// Takes the name away; the namespace itself ends with its last process. No error where there is none.
void netns_remove(const std::string& name);
// The calling thread moves into the namespace while `work` runs, and back. Throws FabricError.
void inside_netns(const std::string& name, const std::function<void()>& work);
// Moves permanently.
void enter_netns(const std::string& name);
// Ends the processes in these namespaces: SIGTERM, after a second SIGKILL. Returns how many there were.
size_t end_processes(const std::vector<std::string>& netns);

std::string read_text(const std::string& path);                     // empty when text_file.h refuses it
void write_text(const std::string& path, const std::string& text);  // whole or not at all; throws FabricError

}  // namespace mrc::fabric
