// Suggestion for an unknown name: the most similar known one.
#pragma once

#include <string>
#include <vector>

namespace mrc {

// The candidate with the fewest edits from the word, each of one character or a swap of two neighbours; empty when
// even that needs more edits than half of the word's characters.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace mrc
