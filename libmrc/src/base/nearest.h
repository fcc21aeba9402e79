// What somebody meant who wrote a name that nobody knows.
#pragma once

#include <string>
#include <vector>

namespace mrc {

// The candidate that the fewest single-character edits make of the word; empty when even that takes more than half of
// the word's characters.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace mrc
