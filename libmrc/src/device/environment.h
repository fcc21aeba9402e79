// Variables that look like a misspelt setting. They are not refused, as a key of the file is: the environment
// belongs to other programs, too.
#pragma once

#include <string>
#include <vector>

namespace mrc::device {

// One sentence for each name in `environment` ("NAME=value", a null pointer at the end) that begins with MRC_, that
// this software does not read, and that is similar to one that it reads.
std::vector<std::string> misspelt_variables(const char* const* environment);

// For a program with privileges that its user does not have: the sentence that names the variables of this software in
// `environment`, which have no effect on it. Empty: there is none.
std::string ignored_variables(const char* const* environment);

}  // namespace mrc::device
