// The real libibverbs, for objects that are not ours: looked up once per symbol, with the version it has there. It
// follows this library in a preloaded process; it is opened by name if only this library was opened. [VRB-INT-1]
#pragma once

namespace mrc::shim {

// Null when there is no such function.
void* real_symbol(const char* name, const char* version);

}  // namespace mrc::shim

// The real function of that name, as its type; may be null.
#define MRC_REAL(name, version)                                                                              \
  ([]() -> decltype(&::name) {                                                                               \
    static const auto found = reinterpret_cast<decltype(&::name)>(::mrc::shim::real_symbol(#name, version)); \
    return found;                                                                                            \
  }())

// The real function's answer, or `missing` with ENOSYS where there is none.
#define MRC_FORWARD(missing, name, version, ...)                                     \
  do {                                                                               \
    if (auto real_##name = MRC_REAL(name, version)) return real_##name(__VA_ARGS__); \
    errno = ENOSYS;                                                                  \
    return missing;                                                                  \
  } while (0)
