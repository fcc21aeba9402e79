# Compile options shared by every target, and helpers that keep the per-folder CMake files short.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

add_library(mrc_options INTERFACE)
target_compile_options(mrc_options INTERFACE -Wall -Wextra -Werror -Wshadow -Wno-missing-field-initializers
                                             $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(MRC_SANITIZE)
  target_compile_options(mrc_options INTERFACE -fsanitize=${MRC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(mrc_options INTERFACE -fsanitize=${MRC_SANITIZE})
endif()
if(MRC_BUILD_FUZZERS)
  target_compile_options(mrc_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# mrc_layer(NAME [CXX17] SOURCES ... DEPENDS ...): one static library per layer of the design.
function(mrc_layer name)
  cmake_parse_arguments(L "CXX17" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(mrc_${name} STATIC ${L_SOURCES})
  target_include_directories(mrc_${name} PUBLIC ${PROJECT_SOURCE_DIR}/libmrc/src ${PROJECT_SOURCE_DIR}/libmrc/include)
  target_link_libraries(mrc_${name} PUBLIC mrc_options ${L_DEPENDS})
  set_target_properties(mrc_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(L_CXX17)  # what ns-3 includes must be C++17-clean (spec: sim is built as C++17)
    set_target_properties(mrc_${name} PROPERTIES CXX_STANDARD 17)
  endif()
endfunction()

# mrc_precompile(TARGET HEADER): parses a heavy header once instead of once per source. Targets of one language standard
# and kind (executable, library) share the result.
function(mrc_precompile target header)
  get_target_property(standard ${target} CXX_STANDARD)
  get_target_property(kind ${target} TYPE)
  string(MAKE_C_IDENTIFIER "mrc_pch_${header}_${standard}_${kind}" name)
  get_property(owner GLOBAL PROPERTY ${name})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${header})
    set_property(GLOBAL PROPERTY ${name} ${target})
  endif()
endfunction()
