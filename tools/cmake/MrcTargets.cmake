# Compile options shared by every target, and helpers that keep the per-folder CMake files short.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

add_library(mrc_options INTERFACE)
target_compile_options(mrc_options INTERFACE -Wall -Wextra -Werror -Wshadow -Wno-missing-field-initializers
                                             $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # at -O3 g++ 12 sees overlap in "text" + string, where there is none (GCC bug 105651)
  target_compile_options(mrc_options INTERFACE -Wno-restrict)
endif()
if(MRC_SANITIZE)
  target_compile_options(mrc_options INTERFACE -fsanitize=${MRC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(mrc_options INTERFACE -fsanitize=${MRC_SANITIZE})
  # A null pointer ends in a report of AddressSanitizer's anyway. Outside of the data path, UBSan's own checks of every
  # pointer are left out: they take a third of the time in which tests compile.
  if(MRC_SANITIZE MATCHES "address,undefined")
    set(mrc_of_the_library "$<FILTER:$<TARGET_PROPERTY:SOURCE_DIR>,EXCLUDE,^${PROJECT_SOURCE_DIR}/(tests|tools|sim|libmrc/support)>")
    target_compile_options(mrc_options INTERFACE "$<$<NOT:$<BOOL:${mrc_of_the_library}>>:-fno-sanitize=null,object-size,vptr>")
  endif()
endif()
if(MRC_BUILD_FUZZERS)
  target_compile_options(mrc_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# A part that is left out, because a package is missing: said, or refused with MRC_REQUIRE_ALL.
function(mrc_left_out what)
  if(MRC_REQUIRE_ALL)
    message(FATAL_ERROR "${what}")
  endif()
  message(STATUS "${what}")
endfunction()

# With MRC_QUICK_BUILD: options for what runs once or is compiled often: configuration, JSON, command lines, tests. Programs
# have no line numbers either, unless a sanitizer reports them; what programs of others load keeps its own.
# A release is compiled source by source; command lines at -O3 would be half of its time.
set(MRC_QUICK_TOOL -O1)
if(MRC_QUICK_BUILD)
  set(MRC_QUICK -Og)
  set(MRC_QUICK_PROGRAM -Og)
  if(NOT MRC_SANITIZE)
    list(APPEND MRC_QUICK_PROGRAM -g0)
  endif()
  set(MRC_QUICK_TOOL ${MRC_QUICK_PROGRAM})
endif()

# mrc_layer(NAME SOURCES ... DEPENDS ...): one static library per layer of the design.
function(mrc_layer name)
  cmake_parse_arguments(L "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(mrc_${name} STATIC ${L_SOURCES})
  target_include_directories(mrc_${name} PUBLIC ${PROJECT_SOURCE_DIR}/libmrc/src ${PROJECT_SOURCE_DIR}/libmrc/include)
  target_link_libraries(mrc_${name} PUBLIC mrc_options ${L_DEPENDS})
  set_target_properties(mrc_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# mrc_precompile(TARGET HEADER...): parses heavy headers once instead of once per source. Targets of one language standard
# and kind (executable, library) that name the same headers share the result.
function(mrc_precompile target)
  get_target_property(standard ${target} CXX_STANDARD)
  get_target_property(kind ${target} TYPE)
  get_directory_property(options COMPILE_OPTIONS)  # those of tools differ from the library's
  string(MAKE_C_IDENTIFIER "mrc_pch_${ARGN}_${standard}_${kind}_${options}" name)
  get_property(owner GLOBAL PROPERTY ${name})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY ${name} ${target})
  endif()
endfunction()

# mrc_uncancelled(TARGET): a library that is loaded into programs whose threads may be cancelled in its calls: see
# libmrc/environment/uncancelled.cc. Sanitizers need the functions of the C library, which they replace.
function(mrc_uncancelled target)
  if(MRC_SANITIZE)
    return()
  endif()
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/libmrc/environment/uncancelled.cc)
  foreach(function read write preadv2 send sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg poll epoll_wait eventfd_read
                   eventfd_write close connect accept4 nanosleep open opendir sigtimedwait pthread_cond_wait
                   pthread_cond_clockwait pthread_join fprintf)
    target_link_options(${target} PRIVATE -Wl,--wrap=${function})
  endforeach()
endfunction()

# mrc_carries_data(SOURCE...): sources in the path of every message, or with loops over data.
function(mrc_carries_data)
  if(NOT MRC_SANITIZE)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS $<IF:$<BOOL:${MRC_QUICK_BUILD}>,-O2,-O3> SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# Common headers of the tools: command line and JSON.
function(mrc_precompile_tool target)
  mrc_precompile(${target} <CLI/CLI.hpp> <nlohmann/json.hpp>)
endfunction()
