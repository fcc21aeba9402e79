// LineReader: splits a byte stream into lines. The framing of every control socket and pipe of this project: mrcd's
// socket (both ends), mrc-switch's socket, and the command that mrcctl runs for the remote side of a check.
//
// Appending costs time proportional to what is appended: a long line is not searched again with each of its parts. The
// owner limits the length of a line by unfinished(). Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mrc {

class LineReader {
 public:
  void append(std::string_view bytes) {
    text_.erase(0, begin_);
    searched_ -= std::min(begin_, searched_);
    begin_ = 0;
    text_ += bytes;
  }

  // The next complete line, without its end. It is valid until the next call of append(), clear() or rest(); nullopt:
  // none is complete.
  std::optional<std::string_view> next() {
    const size_t end = text_.find('\n', std::max(begin_, searched_));
    if (end == std::string::npos) {
      searched_ = text_.size();
      if (begin_ == text_.size()) clear();  // frees the memory of a long line
      return std::nullopt;
    }
    const std::string_view line(text_.data() + begin_, end - begin_);
    begin_ = searched_ = end + 1;
    return line;
  }

  // Bytes of the line that has no end yet; 0 while next() has not been called for all complete ones.
  size_t unfinished() const { return searched_ == text_.size() ? text_.size() - begin_ : 0; }

  // Everything that next() has not returned.
  std::string rest() {
    std::string all = text_.substr(begin_);
    clear();
    return all;
  }
  void clear() {
    text_ = std::string();
    begin_ = searched_ = 0;
  }

 private:
  std::string text_;
  size_t begin_ = 0;     // of the first line that next() has not returned
  size_t searched_ = 0;  // no line ends between begin_ and here
};

}  // namespace mrc
