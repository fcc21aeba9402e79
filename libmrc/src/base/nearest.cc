#include "base/nearest.h"

#include <algorithm>

namespace mrc {

namespace {

// Number of single-character edits between two words.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t least = word.size() / 2 + 1;
  for (const std::string& candidate : candidates)
    if (const size_t d = distance(word, candidate); d < least) {
      least = d;
      best = candidate;
    }
  return best;
}

}  // namespace mrc
