// The command line of a program, on CLI11: --version, errors with the mistyped word and the likely one, and
// numbers with leading zeros, which CLI11 interprets as octal.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace mrc::support {

constexpr int kBadCommandLine = 2;  // exit status

// ", did you mean 'WORD'?" with the nearest candidate; empty where none is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

// Accepts decimal numbers from min to max. In place of CLI::Range, which accepts NaN, and -1 or a number of too many
// digits as the largest unsigned one.
template <typename T>
CLI::Validator in_range(T min, T max) {
  const std::string range = CLI::detail::to_string(min) + " to " + CLI::detail::to_string(max);
  return {[min, max, range](const std::string& text) -> std::string {
            T value{};
            const char* end = text.data() + text.size();
            const auto [stopped, error] = std::from_chars(text.data(), end, value);
            if (error == std::errc() && stopped == end && value >= min && value <= max) return {};
            return "'" + text + "' is not a number from " + range;
          },
          range};
}

// Adds --version and parses. Empty: go on. Otherwise the tool's exit status: 0 after --help or --version, which are on
// stdout, kBadCommandLine after an error, which is on stderr. Call it once the options and commands are declared.
std::optional<int> parse_command_line(CLI::App* app, const std::string& name, int argc, const char* const* argv);

// For what a tool finds wrong with the values itself, after parsing. Prints like the above.
int report_parse_error(const CLI::App& app, const std::string& name, const CLI::ParseError& error);

}  // namespace mrc::support
