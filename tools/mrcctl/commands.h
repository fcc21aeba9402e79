// The command line of mrcctl: each function adds some commands and the functions that run them.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace CLI {
class App;
}

namespace mrcctl {

struct Common {
  bool json = false;
  std::string socket;
};
using Command = std::function<int()>;
using Commands = std::map<const CLI::App*, Command>;

void add_show_commands(CLI::App* app, Common* common, Commands* commands);    // show, watch, events
void add_change_commands(CLI::App* app, Common* common, Commands* commands);  // profile, ev, port
void add_probe_commands(CLI::App* app, Common* common, Commands* commands);   // probe

}  // namespace mrcctl
