// StrongId: a number that names one kind of thing. It converts from and to integers by name only, so that a queue pair
// number is not taken for a key, nor an index for a plane. As large and as fast as the integer.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <utility>

namespace mrc {

template <typename Tag, typename Integer>
class StrongId {
 public:
  using integer = Integer;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Integer value) : value_(value) {}
  constexpr Integer value() const { return value_; }

  friend constexpr bool operator==(StrongId, StrongId) = default;
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
  template <typename Hash>
  friend Hash AbslHashValue(Hash h, StrongId id) {
    return Hash::combine(std::move(h), id.value_);
  }
  // As a number, an 8-bit one too.
  template <typename Stream>
  friend auto operator<<(Stream& out, StrongId id) -> decltype(out.write(nullptr, 0), out << +Integer()) {
    return out << +id.value_;
  }

 private:
  Integer value_ = 0;
};

template <typename T>
inline constexpr bool kIsStrongId = false;
template <typename Tag, typename Integer>
inline constexpr bool kIsStrongId<StrongId<Tag, Integer>> = true;

}  // namespace mrc

template <typename Tag, typename Integer>
struct std::hash<mrc::StrongId<Tag, Integer>> {
  size_t operator()(mrc::StrongId<Tag, Integer> id) const noexcept { return std::hash<Integer>()(id.value()); }
};
