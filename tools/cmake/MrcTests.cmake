# Tests in Python: real programs of ours, run by ctest one function at a time.

# mrc_python_tests(SUITE HARNESS [FILES NAME...] [PROGRAMS NAME=TARGET...] [LONG] [PROPERTIES ...]): every function test_* of every
# test_<file>.py of this folder, or of those named, is a test SUITE.<file>.<function>. HARNESS is the suite's module of helpers,
# see tests/harness/run_one.py, which gets the paths of those named targets that are built.
# LONG: only ctest -C long runs them, as tools/test --long does.
function(mrc_python_tests suite harness)
  cmake_parse_arguments(P "LONG" "" "FILES;PROGRAMS;PROPERTIES" ${ARGN})
  set(configurations "")
  if(P_LONG)
    set(configurations CONFIGURATIONS long)
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(built "")
  foreach(program IN LISTS P_PROGRAMS)
    string(REPLACE "=" ";" program ${program})
    list(GET program 0 name)
    list(GET program 1 target)
    if(TARGET ${target})
      list(APPEND built "${name}=$<TARGET_FILE:${target}>")
    endif()
  endforeach()
  file(GLOB scripts CONFIGURE_DEPENDS test_*.py)
  foreach(script ${scripts})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
    get_filename_component(module ${script} NAME_WE)
    string(REPLACE "test_" "" area ${module})
    if(P_FILES AND NOT area IN_LIST P_FILES)
      continue()
    endif()
    file(STRINGS ${script} functions REGEX "^def test_[a-z0-9_]+\\(")
    foreach(line ${functions})
      string(REGEX REPLACE "^def (test_[a-z0-9_]+).*" "\\1" function "${line}")
      string(REPLACE "test_" "" name ${function})
      add_test(NAME ${suite}.${area}.${name} ${configurations}
               COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/harness/run_one.py
                       ${CMAKE_CURRENT_SOURCE_DIR}/${harness} ${module} ${function} ${built})
      set_tests_properties(${suite}.${area}.${name} PROPERTIES TIMEOUT 180 SKIP_RETURN_CODE 77 ${P_PROPERTIES})
    endforeach()
  endforeach()
endfunction()
