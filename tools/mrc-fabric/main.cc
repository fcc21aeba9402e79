// mrc-fabric: the multiplane SRv6 fabric of a fabric file as network namespaces on one machine.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "command_line.h"
#include "commands.h"
#include "secure_environment.h"

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // a program that stops reading its batch writes the reason to stderr
  CLI::App app;
  mrc::fabric::Options options;
  mrc::fabric::declare_commands(&app, &options);
  // A program's own words are not passed to CLI11, which would parse our options in them.
  int ours = 1;
  while (ours < argc && std::strcmp(argv[ours], "--") != 0) ++ours;
  if (ours < argc) options.words.assign(argv + ours + 1, argv + argc);
  if (const auto status = mrc::support::parse_command_line(&app, "mrc-fabric", ours, argv)) return *status;
  const char* lab = mrc::environment::variable("MRC_LAB");
  if (options.lab.empty() && lab != nullptr) options.lab = lab;
  try {
    return mrc::fabric::run_commands(app, options);
  } catch (const mrc::fabric::UsageError& e) {
    std::fprintf(stderr, "mrc-fabric: %s\n", e.what());
    return 2;
  } catch (const mrc::sim::ConfigError& e) {
    std::fprintf(stderr, "mrc-fabric: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mrc-fabric: %s\n", e.what());
    return 1;
  }
}
