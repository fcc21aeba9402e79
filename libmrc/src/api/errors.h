// The three ways in which the C functions report failure (spec/api.md, API-ERR-1), and the guard that no exception
// passes. errno is set in every case.
#pragma once

#include <cerrno>
#include <cstring>
#include <exception>
#include <new>

#include "uncancelled.h"

namespace mrc::api {

// For functions that mirror a verbs call: the positive errno value.
inline int errno_value(int error) {
  errno = error;
  return error;
}

// For all other functions that return int, and for mrc_get_cq_event and mrc_get_async_event.
inline int minus_one(int error) {
  errno = error;
  return -1;
}

// The number in a caller's enumeration, which may be none of its values: read as memory, because loading such a
// value as an enumeration is undefined.
template <typename Enum>
int raw(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int number;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

// For functions that return a pointer.
inline decltype(nullptr) null_with(int error) {
  errno = error;
  return nullptr;
}

// [API-ERR-3]
// Runs `body`, on the data path; when memory runs out, sets errno to ENOMEM and returns `failure`, and with EIO after
// any other exception: none is expected, but a library must not end its program.
template <typename Result, typename Body>
Result or_enomem_on_data_path(Result failure, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return failure;
  } catch (const std::exception&) {
    errno = EIO;
    return failure;
  }
}

// The same elsewhere, where the thread could be cancelled in functions of other libraries. [API-THR-1]
template <typename Result, typename Body>
Result or_enomem(Result failure, Body&& body) noexcept {
  const environment::Uncancelled now;
  return or_enomem_on_data_path(failure, body);
}

}  // namespace mrc::api
