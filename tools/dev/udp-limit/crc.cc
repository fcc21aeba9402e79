#include "crc.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "common.h"
#include "wire/crc32.h"

namespace udp_limit {

const std::vector<std::string>& crc_words() {
  static const std::vector<std::string> words = {"none", "mrc", "fold256", "fold512"};
  return words;
}

Crc crc_of(const std::string& word) {
  const std::vector<std::string>& words = crc_words();
  const Crc way = static_cast<Crc>(std::find(words.begin(), words.end(), word) - words.begin());
  const uint8_t probe[16] = {};
  const bool lacks = (way == Crc::kFold256 && !mrc::wire::crc32_folded(0, probe, sizeof probe)) ||
                     (way == Crc::kFold512 && !mrc::wire::crc32_folded_wide(0, probe, sizeof probe));
  errno = 0;
  if (lacks) fail("--crc " + word + ": this processor lacks the instructions");
  return way;
}

uint32_t pass_over(Crc way, const void* data, size_t len, void* to) {
  if (way == Crc::kNone) {
    if (to != nullptr) std::memcpy(to, data, len);
    return 0;
  }
  std::optional<uint32_t> sum;  // none: too short to be folded
  if (way == Crc::kFold256) sum = mrc::wire::crc32_folded(0, data, len, to);
  if (way == Crc::kFold512) sum = mrc::wire::crc32_folded_wide(0, data, len, to);
  if (sum) return *sum;
  return to != nullptr ? mrc::wire::crc32_copy(0, to, data, len) : mrc::wire::crc32(0, data, len);
}

}  // namespace udp_limit
