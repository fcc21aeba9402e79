// The dynamic linker's own dlopen, past the one that this library puts in front of it for the program, and this library
// as the dynamic linker knows it. Any thread.
#pragma once

#include <string>

namespace mrc::shim {

using DlOpen = void* (*)(const char*, int) noexcept;
DlOpen real_dlopen_function();
inline void* real_dlopen(const char* file, int mode) {
  return real_dlopen_function()(file, mode);
}

// One more reference to a library that is open, as dlopen of its name gives it.
void* open_again(void* handle, int mode);

// Under this name dlopen finds the library that is loaded, wherever the program has gone since it started.
const char* name_of_this_library();
// With the slash at its end; empty when the name has none.
std::string folder_of_this_library();

}  // namespace mrc::shim
