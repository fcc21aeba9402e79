#include "command_line.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <cstdio>

#include "base/nearest.h"
#include "version.h"

namespace mrc::support {

namespace {

// "007" is 7 and "0010" is 10; "0x10" is 16.
std::string strip_zeros(std::string& text) {
  const size_t digits = text.find_first_not_of("+-");
  if (digits == std::string::npos || text.find_first_not_of("0123456789", digits) != std::string::npos) return {};
  const size_t first = std::min(text.find_first_not_of('0', digits), text.size() - 1);
  text.erase(digits, first - digits);
  return {};
}

void read_decimals(CLI::App* app) {
  for (CLI::Option* option : app->get_options()) {
    const std::string type = option->get_type_name();
    if (type.rfind("INT", 0) == 0 || type.rfind("UINT", 0) == 0)
      option->transform(CLI::Validator(strip_zeros, std::string()));
  }
  for (CLI::App* command : app->get_subcommands({})) read_decimals(command);
}

// The innermost command that the line names.
const CLI::App* innermost(const CLI::App* app) {
  const std::vector<CLI::App*> named = app->get_subcommands();
  return named.empty() ? app : innermost(named.back());
}

// Such as "mrcctl show devices".
std::string path_of(const CLI::App* command, const std::string& name) {
  return command->get_parent() == nullptr ? name : path_of(command->get_parent(), name) + " " + command->get_name();
}

std::vector<std::string> commands_of(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_name().empty()) names.push_back(command->get_name());
  return names;
}

// Those of the command itself and of its groups, which are commands without a name to CLI11.
void add_options(const CLI::App* app, std::vector<std::string>* names) {
  for (const CLI::Option* option : app->get_options())
    for (const std::string& name : option->get_lnames()) names->push_back("--" + name);
  for (const CLI::App* group : app->get_subcommands([](const CLI::App* a) { return a->get_name().empty(); }))
    add_options(group, names);
}

std::vector<std::string> options_of(const CLI::App* app) {
  std::vector<std::string> names;
  for (; app != nullptr; app = app->get_parent()) add_options(app, &names);
  return names;
}

// The first word that no option and no command consumed; with fallthrough it is left at an outer command.
std::string unknown_word(const CLI::App* app, bool option) {
  for (; app != nullptr; app = app->get_parent())
    for (const std::string& word : app->remaining())
      if ((word.rfind('-', 0) == 0) == option) return word;
  return {};
}

std::string message_of(const CLI::App& app, const std::string& name, const CLI::ParseError& error) {
  const CLI::App* const at = innermost(&app);
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const bool of_words = code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError;
  if (!of_words || at->get_prefix_command()) return error.what();
  const std::string command = path_of(at, name);
  const std::vector<std::string> commands = commands_of(at);
  if (!commands.empty()) {
    if (const std::string word = unknown_word(at, false); !word.empty())
      return "'" + word + "' is no command of " + command + did_you_mean(word, commands) + "\n" +
             "Commands: " + absl::StrJoin(commands, ", ");
    if (unknown_word(at, true).empty() && at->get_require_subcommand_min() > 0)
      return (at == &app ? "a command is required: " : at->get_name() + " requires a command: ") +
             absl::StrJoin(commands, ", ");
  }
  if (const std::string word = unknown_word(at, true); !word.empty()) {
    const std::string option = word.substr(0, word.find('='));
    return "'" + option + "' is no option of " + command + did_you_mean(option, options_of(at));
  }
  if (const std::string word = unknown_word(at, false); !word.empty()) return "'" + word + "' is one argument too many";
  return error.what();
}

}  // namespace

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string meant = nearest(word, candidates);
  return meant.empty() ? std::string() : ", did you mean '" + meant + "'?";
}

int report_parse_error(const CLI::App& app, const std::string& name, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  std::fprintf(stderr, "%s: %s\nRun %s --help for more information.\n", name.c_str(),
               message_of(app, name, error).c_str(), name.c_str());
  return kBadCommandLine;
}

std::optional<int> parse_command_line(CLI::App* app, const std::string& name, int argc, const char* const* argv) {
  app->set_version_flag("--version", name + " " + version());
  read_decimals(app);
  try {
    app->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(*app, name, error);
  }
  return std::nullopt;
}

}  // namespace mrc::support
