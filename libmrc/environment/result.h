// Result<T>: a value, or the Error that took its place; Status: success, or an Error. An Error carries the errno value
// that the C API returns and the sentence for the log.
//
// Not absl::StatusOr: absl::ErrnoToStatus() maps errno to one of 17 canonical codes and there is no way back, so that
// EADDRINUSE (try the next process slot) and EEXIST, or ELIBBAD and EIO, would be the same. It also appends strerror()
// to every message, and an errno carried as a payload would be one more text to encode and parse at each use. Not
// std::expected: it needs C++23; the members here have its names and meanings.
//
// Both classes are [[nodiscard]]: a caller that ignores a failure does not compile without a cast to void.
#pragma once

#include <cassert>
#include <cerrno>
#include <concepts>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace mrc {

struct Error {
  int code = 0;      // an errno value
  std::string text;  // one sentence: what failed, why, and what is allowed

  // The same failure with the place in front: "plane 2: " before "bind: Address already in use".
  [[nodiscard]] Error under(const std::string& place) && { return {code, place + text}; }
};

// A value from outside that cannot be accepted.
inline Error invalid(std::string text) {
  return {EINVAL, std::move(text)};
}

// A system call that has just failed: "what: reason", with errno unless `code` is given.
inline Error failed_call(const std::string& what, int code = errno) {
  return {code, what + ": " + std::strerror(code)};
}

template <typename T>
class [[nodiscard]] Result {
  static_assert(!std::is_same_v<T, bool>, "a Result converts to bool: its value would be mistaken for its success");

 public:
  using value_type = T;

  template <typename U>
  requires(std::convertible_to<U&&, T> && !std::same_as<std::remove_cvref_t<U>, Result>) Result(U&& value)
      : content_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Only with a value.
  T& operator*() & { return held<0>(content_); }
  const T& operator*() const& { return held<0>(content_); }
  T&& operator*() && { return std::move(held<0>(content_)); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  // Only without one.
  const Error& error() const& { return held<1>(content_); }
  Error&& error() && { return std::move(held<1>(content_)); }

 private:
  template <size_t kIndex, typename Variant>
  static auto& held(Variant& content) {
    assert(content.index() == kIndex);
    return *std::get_if<kIndex>(&content);
  }

  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;  // success
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }

  // Only of a failure.
  const Error& error() const& {
    assert(!has_value());
    return *error_;
  }
  Error&& error() && {
    assert(!has_value());
    return *std::move(error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace mrc
