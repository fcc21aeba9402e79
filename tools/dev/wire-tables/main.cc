// mrc-wire-tables: writes the sections that follow from the field tables into the files given, or checks that they are
// there. Exit status 0: written, or as it should be, 1: a file differs or cannot be read or written, 2: bad command
// line.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "command_line.h"
#include "sections.h"
#include "text_file.h"

namespace {

using mrc::tools::lua_section;
using mrc::tools::markdown_section;

constexpr char kProgram[] = "mrc-wire-tables";

bool fail(const std::string& file, const std::string& why) {
  std::fprintf(stderr, "%s: %s: %s\n", kProgram, file.c_str(), why.c_str());
  return false;
}

// Replaces the text between the marks; `count` is the number of sections.
bool fill_in(const std::string& file, std::string* text, int* count) {
  const std::string open = "[wire-tables ";
  for (size_t at = 0; (at = text->find(open, at)) != std::string::npos; ++*count) {
    const size_t name_at = at + open.size(), name_end = text->find(']', name_at);
    const std::string name = text->substr(name_at, name_end - name_at);
    const size_t begin = text->find('\n', at) + 1;
    const size_t mark = text->find("[end of " + name + "]", at);
    if (name_end == std::string::npos || begin == 0 || mark == std::string::npos)
      return fail(file, "no line \"[end of " + name + "]\" behind \"[wire-tables " + name + "]\"");
    auto section = markdown_section(name);
    if (!section) section = lua_section(name);
    if (!section) return fail(file, "there is no section \"" + name + "\"");
    const size_t end = text->rfind('\n', mark) + 1;
    text->replace(begin, end - begin, *section);
    at = begin + section->size();
  }
  return true;
}

bool handle(const std::string& file, bool check) {
  const mrc::Result<std::string> before = mrc::read_text_file(file);
  if (!before) return fail(file, "cannot be read: " + before.error().text);
  std::string text = *before;
  int count = 0;
  if (!fill_in(file, &text, &count)) return false;
  if (count == 0) return fail(file, "holds no section of the field tables");
  if (text == *before) return true;
  if (check)
    return fail(file, std::string("differs from the field tables of libmrc/src/wire; run ") + kProgram + " " + file);
  std::ofstream out(file);
  out << text;
  out.close();
  return out ? true : fail(file, std::string("cannot be written: ") + std::strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes the tables of wire headers into the specification and the dissector", kProgram);
  std::vector<std::string> files;
  bool check = false;
  app.add_option("FILE", files, "Files with sections marked [wire-tables NAME] ... [end of NAME]")->required();
  app.add_flag("--check", check, "Changes nothing; status 1 when a file differs");
  if (const auto status = mrc::support::parse_command_line(&app, kProgram, argc, argv)) return *status;
  bool good = true;
  for (const std::string& file : files) good = handle(file, check) && good;
  return good ? 0 : 1;
}
