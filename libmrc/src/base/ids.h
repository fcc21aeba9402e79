// Qpn, Key and EvIndex: numbers of queue pairs, memory regions and EVs, and a vector with one element per EV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/strong_id.h"

namespace mrc {

// Number of a queue pair, 24 bits; 0 in trace events of the whole endpoint.
using Qpn = StrongId<struct QpnTag, uint32_t>;

// Key of a memory region, local or remote; 0 is none.
using Key = StrongId<struct KeyTag, uint32_t>;

// Index of an EV in the table of the endpoint (EndpointConfig::evs), from 0; the same towards every peer. The EV itself
// is its 32-bit value, which packets carry.
using EvIndex = StrongId<struct EvIndexTag, uint16_t>;

// The EV with an index from 0, as loops over vectors have it.
constexpr EvIndex ev_at(size_t index) {
  return EvIndex(static_cast<uint16_t>(index));
}

// The EVs of a table, ascending.
class EvRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(size_t index) : index_(index) {}
    constexpr EvIndex operator*() const { return ev_at(index_); }
    constexpr Iterator& operator++() {
      ++index_;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    size_t index_;
  };
  constexpr explicit EvRange(size_t evs) : evs_(evs) {}
  constexpr Iterator begin() const { return Iterator(0); }
  constexpr Iterator end() const { return Iterator(evs_); }

 private:
  size_t evs_;
};

// A vector with one element per EV.
template <typename T>
class PerEv : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  using std::vector<T>::operator[];
  decltype(auto) operator[](EvIndex ev) { return (*this)[size_t{ev.value()}]; }
  decltype(auto) operator[](EvIndex ev) const { return (*this)[size_t{ev.value()}]; }
  bool has(EvIndex ev) const { return ev.value() < this->size(); }
  EvIndex id_of(typename std::vector<T>::const_iterator element) const {
    return ev_at(static_cast<size_t>(element - this->begin()));
  }
  // Ascending.
  EvRange ids() const { return EvRange(this->size()); }
};

// 1_ev is the EV with index 1.
consteval EvIndex operator""_ev(unsigned long long index) {
  return ev_at(index);
}

static_assert(sizeof(Qpn) == 4 && sizeof(Key) == 4 && sizeof(EvIndex) == 2);
static_assert(std::is_trivially_copyable_v<Qpn> && std::is_trivially_copyable_v<Key> &&
              std::is_trivially_copyable_v<EvIndex>);

}  // namespace mrc
