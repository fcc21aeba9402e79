// The dynamic linker's own dlopen, bypassing the one that this library exports to the program, and this library
// in the dynamic linker's list. Any thread.
#pragma once

#include <string>

namespace mrc::shim {

using DlOpen = void* (*)(const char*, int) noexcept;
DlOpen real_dlopen_function();
inline void* real_dlopen(const char* file, int mode) {
  return real_dlopen_function()(file, mode);
}

// One more reference to a library that is open, as from dlopen of its name.
void* open_again(void* handle, int mode);

// Under this name dlopen finds the loaded library, regardless of later changes of the working directory.
const char* name_of_this_library();
// With the slash at its end; empty when the name has none.
std::string folder_of_this_library();

}  // namespace mrc::shim
