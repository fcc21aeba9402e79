// Instant and Duration: 64-bit nanoseconds. The core never reads a clock; its driver passes an Instant in.
// An Instant counts from an origin that the driver chooses (the monotonic clock, or zero in virtual time).
#pragma once

#include <cstdint>

namespace mrc {

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration nanoseconds(int64_t n) { return Duration(n); }
  static constexpr Duration microseconds(int64_t n) { return Duration(n * 1000); }
  static constexpr Duration milliseconds(int64_t n) { return Duration(n * 1000000); }
  static constexpr Duration seconds(int64_t n) { return Duration(n * 1000000000); }
  static constexpr Duration infinite() { return Duration(INT64_MAX / 4); }
  constexpr int64_t ns() const { return ns_; }
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ns_ + b.ns_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ns_ - b.ns_); }
  friend constexpr Duration operator*(Duration a, int64_t k) { return Duration(a.ns_ * k); }
  friend constexpr Duration operator/(Duration a, int64_t k) { return Duration(a.ns_ / k); }
  friend constexpr bool operator==(Duration a, Duration b) { return a.ns_ == b.ns_; }
  friend constexpr bool operator!=(Duration a, Duration b) { return a.ns_ != b.ns_; }
  friend constexpr bool operator<(Duration a, Duration b) { return a.ns_ < b.ns_; }
  friend constexpr bool operator<=(Duration a, Duration b) { return a.ns_ <= b.ns_; }
  friend constexpr bool operator>(Duration a, Duration b) { return a.ns_ > b.ns_; }
  friend constexpr bool operator>=(Duration a, Duration b) { return a.ns_ >= b.ns_; }

 private:
  constexpr explicit Duration(int64_t n) : ns_(n) {}
  int64_t ns_ = 0;
};

class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant from_ns(int64_t n) { return Instant(n); }
  static constexpr Instant never() { return Instant(INT64_MAX / 2); }
  constexpr int64_t ns() const { return ns_; }
  friend constexpr Instant operator+(Instant a, Duration d) { return Instant(a.ns_ + d.ns()); }
  friend constexpr Instant operator-(Instant a, Duration d) { return Instant(a.ns_ - d.ns()); }
  friend constexpr Duration operator-(Instant a, Instant b) { return Duration::nanoseconds(a.ns_ - b.ns_); }
  friend constexpr bool operator==(Instant a, Instant b) { return a.ns_ == b.ns_; }
  friend constexpr bool operator!=(Instant a, Instant b) { return a.ns_ != b.ns_; }
  friend constexpr bool operator<(Instant a, Instant b) { return a.ns_ < b.ns_; }
  friend constexpr bool operator<=(Instant a, Instant b) { return a.ns_ <= b.ns_; }
  friend constexpr bool operator>(Instant a, Instant b) { return a.ns_ > b.ns_; }
  friend constexpr bool operator>=(Instant a, Instant b) { return a.ns_ >= b.ns_; }

 private:
  constexpr explicit Instant(int64_t n) : ns_(n) {}
  int64_t ns_ = 0;
};

// Before every time that a driver passes in: "it has not happened yet". The difference to any such time is a Duration
// without overflow. kLongAgoNs is for atomics.
inline constexpr Instant kLongAgo = Instant::from_ns(INT64_MIN / 4);
inline constexpr int64_t kLongAgoNs = kLongAgo.ns();

static_assert(sizeof(Instant) == 8 && sizeof(Duration) == 8);

}  // namespace mrc
