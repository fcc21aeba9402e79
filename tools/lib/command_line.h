// The command line of a tool, on CLI11: --version, errors with the mistyped word and the likely one, and
// numbers with leading zeros, which CLI11 interprets as octal.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace mrc::tools {

constexpr int kBadCommandLine = 2;  // exit status

// ", did you mean 'WORD'?" with the nearest candidate; empty where none is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

// Adds --version and parses. Empty: go on. Otherwise the tool's exit status: 0 after --help or --version, which are on
// stdout, kBadCommandLine after an error, which is on stderr. Call it once the options and commands are declared.
std::optional<int> parse_command_line(CLI::App* app, const std::string& name, int argc, const char* const* argv);

// For what a tool finds wrong with the values itself, after parsing. Prints like the above.
int report_parse_error(const CLI::App& app, const std::string& name, const CLI::ParseError& error);

}  // namespace mrc::tools
