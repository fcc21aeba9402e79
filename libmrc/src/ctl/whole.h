// A whole number of JSON in the range of its type. Plain values, any thread.
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <utility>

namespace mrc::ctl {

// A number that is refused unless it is a whole one in the range of T: nlohmann-json alone would make 4294967295 of -1
// and 1 of 257.
template <std::integral T>
class Whole {
 public:
  constexpr Whole(T value = 0) : value_(value) {}
  constexpr operator T() const { return value_; }
  T number() const { return value_; }  // where no conversion happens, as in printf

  friend void to_json(nlohmann::json& j, const Whole& from) { j = from.value_; }
  friend void from_json(const nlohmann::json& j, Whole& to) {
    if (!j.is_number_integer()) throw nlohmann::json::type_error::create(302, "not a whole number", &j);
    const bool fits = j.is_number_unsigned() ? std::in_range<T>(j.template get<uint64_t>())
                                             : std::in_range<T>(j.template get<int64_t>());
    if (!fits) throw nlohmann::json::out_of_range::create(401, "number out of range", &j);
    to.value_ = j.template get<T>();
  }

 private:
  T value_;
};

}  // namespace mrc::ctl
