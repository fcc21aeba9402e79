// PlaneId, PlaneSet and PerPlane: one plane, a set of planes, and a value for each plane. Planes count from 0 here;
// users, ports of the controller API and log lines count them from 1. A set holds the planes 0..31, as the port status
// mask of the wire does [MRC-PORT-1].
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <vector>

#include "base/strong_id.h"

namespace mrc {

using PlaneId = StrongId<struct PlaneTag, uint8_t>;

// The plane with an index from 0, as loops over vectors have it.
constexpr PlaneId plane_at(size_t index) {
  return PlaneId(static_cast<uint8_t>(index));
}
// Planes as users, the controller API and log lines number them, from 1.
constexpr PlaneId plane_of_port(uint32_t port) {
  return plane_at(port - 1);
}
constexpr uint32_t port_of(PlaneId plane) {
  return plane.value() + 1u;
}

class PlaneSet {
 public:
  static constexpr size_t kMaxPlanes = 32;

  constexpr PlaneSet() = default;
  constexpr PlaneSet(std::initializer_list<PlaneId> planes) {
    for (const PlaneId plane : planes) insert(plane);
  }
  // The first `count` planes; all 32 where there are more.
  static constexpr PlaneSet all(size_t count = kMaxPlanes) {
    return from_mask(count >= kMaxPlanes ? UINT32_MAX : (uint32_t{1} << count) - 1);
  }
  // Bit p is plane p.
  static constexpr PlaneSet from_mask(uint32_t mask) {
    PlaneSet s;
    s.mask_ = mask;
    return s;
  }
  constexpr uint32_t mask() const { return mask_; }

  constexpr bool contains(PlaneId plane) const { return (mask_ >> plane.value() & 1) != 0; }
  constexpr bool contains_all(PlaneSet other) const { return (other - *this).empty(); }
  constexpr bool intersects(PlaneSet other) const { return !(*this & other).empty(); }
  constexpr bool empty() const { return mask_ == 0; }
  constexpr int count() const { return std::popcount(mask_); }
  // The lowest one; the set must not be empty.
  constexpr PlaneId first() const { return plane_at(static_cast<size_t>(std::countr_zero(mask_))); }

  constexpr void insert(PlaneId plane) { mask_ |= bit(plane); }
  constexpr void erase(PlaneId plane) { mask_ &= ~bit(plane); }
  constexpr void set(PlaneId plane, bool member) { member ? insert(plane) : erase(plane); }
  constexpr void clear() { mask_ = 0; }

  friend constexpr PlaneSet operator|(PlaneSet a, PlaneSet b) { return from_mask(a.mask_ | b.mask_); }
  friend constexpr PlaneSet operator&(PlaneSet a, PlaneSet b) { return from_mask(a.mask_ & b.mask_); }
  friend constexpr PlaneSet operator-(PlaneSet a, PlaneSet b) { return from_mask(a.mask_ & ~b.mask_); }
  friend constexpr PlaneSet operator^(PlaneSet a, PlaneSet b) { return from_mask(a.mask_ ^ b.mask_); }
  constexpr PlaneSet& operator|=(PlaneSet other) { return *this = *this | other; }
  constexpr PlaneSet& operator&=(PlaneSet other) { return *this = *this & other; }
  constexpr PlaneSet& operator-=(PlaneSet other) { return *this = *this - other; }
  friend constexpr bool operator==(PlaneSet, PlaneSet) = default;

  // Ascending. Changes of the set do not concern iterators that exist.
  class Iterator {
   public:
    using value_type = PlaneId;
    using difference_type = std::ptrdiff_t;
    constexpr Iterator() = default;
    constexpr PlaneId operator*() const { return from_mask(left_).first(); }
    constexpr Iterator& operator++() {
      left_ &= left_ - 1;
      return *this;
    }
    constexpr Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    friend class PlaneSet;
    constexpr explicit Iterator(uint32_t left) : left_(left) {}
    uint32_t left_ = 0;
  };
  constexpr Iterator begin() const { return Iterator(mask_); }
  constexpr Iterator end() const { return Iterator(); }

  // As "{0, 2}".
  template <typename Stream>
  friend auto operator<<(Stream& out, PlaneSet s) -> decltype(out.write(nullptr, 0), out << "") {
    const char* separator = "{";
    for (const PlaneId plane : s) {
      out << separator << plane;
      separator = ", ";
    }
    return out << (s.empty() ? "{}" : "}");
  }

 private:
  static constexpr uint32_t bit(PlaneId plane) { return uint32_t{1} << plane.value(); }

  uint32_t mask_ = 0;
};

// 1_plane is the plane with index 1, 0b101_planes the set of the planes 0 and 2.
consteval PlaneId operator""_plane(unsigned long long index) {
  return plane_at(index);
}
consteval PlaneSet operator""_planes(unsigned long long mask) {
  return PlaneSet::from_mask(static_cast<uint32_t>(mask));
}

static_assert(sizeof(PlaneSet) == 4 && std::is_trivially_copyable_v<PlaneSet> &&
              std::forward_iterator<PlaneSet::Iterator>);
static_assert(sizeof(PlaneId) == 1 && std::is_trivially_copyable_v<PlaneId>);

// A vector with one element per plane.
template <typename T>
class PerPlane : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  using std::vector<T>::operator[];
  T& operator[](PlaneId plane) { return (*this)[size_t{plane.value()}]; }
  const T& operator[](PlaneId plane) const { return (*this)[size_t{plane.value()}]; }
  bool has(PlaneId plane) const { return plane.value() < this->size(); }
  PlaneSet ids() const { return PlaneSet::all(this->size()); }
};

}  // namespace mrc
