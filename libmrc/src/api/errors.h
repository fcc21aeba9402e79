// The three ways in which the C functions report failure (spec/api.md, API-ERR-1), and the wall that no exception
// crosses. errno is set in every case.
#pragma once

#include <cerrno>
#include <new>

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

// For functions that return a pointer.
inline decltype(nullptr) null_with(int error) {
  errno = error;
  return nullptr;
}

// Runs `body`; when memory runs out, sets errno to ENOMEM and returns `failure`.
template <typename Result, typename Body>
Result or_enomem(Result failure, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return failure;
  }
}

}  // namespace mrc::api
