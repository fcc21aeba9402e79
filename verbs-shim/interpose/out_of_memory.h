// No exception leaves an exported function: a program that only preloads this library must not end because memory runs
// out in it.
#pragma once

#include <cerrno>
#include <exception>
#include <new>

#include "uncancelled.h"

namespace mrc::shim {

// Of verbs functions that are not on the data path: `failure` with errno ENOMEM when memory runs out, and EIO after any
// other exception. The thread is not cancelled meanwhile. [API-THR-1]
template <typename Result, typename Body>
Result or_enomem(Result failure, const Body& body) noexcept {
  const environment::Uncancelled now;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  } catch (const std::exception&) {
    errno = EIO;
  }
  return failure;
}

// Of functions of the C library: what the real one does.
template <typename Ours, typename Real>
auto or_real(const Ours& ours, const Real& real) -> decltype(real()) {
  try {
    return ours();
  } catch (const std::exception&) {
    return real();
  }
}

}  // namespace mrc::shim
