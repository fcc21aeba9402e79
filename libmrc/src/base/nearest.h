// What somebody meant who wrote a name that nobody knows.
#pragma once

#include <string>
#include <vector>

namespace mrc {

// The candidate that the fewest edits make of the word, each of one character or a swap of two neighbours; empty when
// even that takes more than half as many as the word has characters.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace mrc
