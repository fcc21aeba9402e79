// mrc-fabric: the multiplane SRv6 fabric of a fabric file as network namespaces on one machine.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "commands.h"

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // a program that stops reading its batch says why on stderr
  CLI::App app;
  mrc::fabric::Options options;
  mrc::fabric::declare_commands(&app, &options);
  // A program's own words are not for CLI11, which would look for our options in them.
  int ours = 1;
  while (ours < argc && std::strcmp(argv[ours], "--") != 0) ++ours;
  if (ours < argc) options.words.assign(argv + ours + 1, argv + argc);
  try {
    app.parse(ours, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const char* lab = std::getenv("MRC_LAB");
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
