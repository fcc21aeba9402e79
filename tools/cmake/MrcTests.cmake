# Declares tests. The tier of a test, which is a label of ctest, is the folder in which it is declared:
#
#   tests/fast    everything in virtual time, in one process and without sockets. Never run a second time. So are tests/fuzz and
#                 sim/test.
#   tests/facts   looks at sources and built objects.
#   tests/system  real processes, sockets, clocks, interfaces, files and memory mappings. Each runs in a world of its own
#                 (tests/harness/world).
#
# mrc_test(NAME COMMAND ... [CORES n] [LIMIT seconds] [SANITIZE address thread] [NEVER address thread] [LONG] [TARGETS NAME...]
#          [ENVIRONMENT NAME=VALUE...])
#
# CORES:    how many processors it keeps busy; 0 for a test that mostly waits, and by default 1.
# LIMIT:    seconds until it is ended, 120 by default. A sanitizer and a loaded machine (MRC_TEST_SCALE) multiply it, and the
#           test finds that factor in the variable TEST_SCALE: every limit of its own is multiplied by it.
# SANITIZE: the sanitizers under which `tools/test --sanitizers` runs it; under the others `tools/test --long --sanitizers` does,
#           but for those in NEVER.
# LONG:     only `tools/test --long` runs it.
# TARGETS:  what has to be built for it, for builds of the sanitizers' tests alone (target `sanitized_tests`).
#
# A second label is the product's folder that the test is about (tools/test --area): MRC_TEST_AREA, where tests/CMakeLists.txt sets it.
# Exit status 77 is a skip; the output names what is missing.

# The interpreter itself, where `python3` is a script that looks for it each time.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable)" OUTPUT_VARIABLE mrc_python OUTPUT_STRIP_TRAILING_WHITESPACE)
set(Python3_EXECUTABLE ${mrc_python})

if(MRC_SANITIZE MATCHES "thread")
  set(mrc_sanitizer thread)
  set(mrc_test_scale 8)
elseif(MRC_SANITIZE)
  set(mrc_sanitizer address)
  set(mrc_test_scale 4)
else()
  set(mrc_sanitizer "")
  set(mrc_test_scale 1)
endif()
if(DEFINED ENV{MRC_TEST_SCALE})
  math(EXPR mrc_test_scale "${mrc_test_scale} * $ENV{MRC_TEST_SCALE}")
endif()
if(NOT TARGET sanitized_tests)
  add_custom_target(sanitized_tests)
endif()

# The tier of the folder that is being configured, in the variable `tier`.
function(mrc_tier_of_folder)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  if(folder MATCHES "^tests/(fast|facts|system)(/|$)")
    set(tier ${CMAKE_MATCH_1} PARENT_SCOPE)
  elseif(folder MATCHES "^(tests/fuzz|sim/test)$")
    set(tier fast PARENT_SCOPE)
  else()
    message(FATAL_ERROR "${folder} has no tier: tests are declared below tests/fast, tests/facts or tests/system")
  endif()
endfunction()

# The arguments that all declarations share, in the caller's scope: P_*, and `skipped` where this build does not run the test;
# then `properties` for set_tests_properties, `world` for before the command, and `long` for after add_test's name.
macro(mrc_test_arguments)
  mrc_tier_of_folder()
  cmake_parse_arguments(P "LONG" "CORES;LIMIT" "SANITIZE;NEVER;TARGETS;ENVIRONMENT;COMMAND;${mrc_more_arguments}" ${ARGN})
  if(P_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "a test's declaration has no '${P_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT DEFINED P_CORES)
    set(P_CORES 1)
  endif()
  if(NOT DEFINED P_LIMIT)
    set(P_LIMIT 120)
  endif()
  foreach(word IN LISTS P_SANITIZE P_NEVER)
    if(NOT word MATCHES "^(address|thread)$")
      message(FATAL_ERROR "a test's declaration names the sanitizer '${word}': address or thread")
    endif()
  endforeach()
  set(skipped FALSE)
  if(mrc_sanitizer)
    if(mrc_sanitizer IN_LIST P_NEVER OR tier STREQUAL "facts")
      set(skipped TRUE)
    elseif(NOT mrc_sanitizer IN_LIST P_SANITIZE)
      set(P_LONG TRUE)
    endif()
  endif()
  set(long "")
  if(P_LONG)
    set(long CONFIGURATIONS long)
  elseif(mrc_sanitizer AND P_TARGETS AND NOT skipped)
    add_dependencies(sanitized_tests ${P_TARGETS})
  endif()
  set(world "")
  if(tier STREQUAL "system")
    set(world ${PROJECT_SOURCE_DIR}/tests/harness/world ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} --)
  endif()
  math(EXPR timeout "${P_LIMIT} * ${mrc_test_scale}")
  # Half processors, so that what waits can run beside others. tools/test starts two at a time for each processor.
  math(EXPR slots "${P_CORES} * 2")
  if(slots EQUAL 0)
    set(slots 1)
  endif()
  set(environment TEST_SCALE=${mrc_test_scale} PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/harness ${P_ENVIRONMENT})
  set(labels ${tier} ${MRC_TEST_AREA})
  string(REPLACE ";" "\\;" several_labels "${labels}")
  string(REPLACE ";" "\\;" several_variables "${environment}")
  set(properties TIMEOUT ${timeout} SKIP_RETURN_CODE 77 LABELS "${several_labels}" PROCESSORS ${slots} ENVIRONMENT "${several_variables}")
endmacro()

function(mrc_test name)
  mrc_test_arguments(${ARGN})
  if(skipped)
    return()
  endif()
  add_test(NAME ${name} ${long} COMMAND ${world} ${P_COMMAND})
  set_tests_properties(${name} PROPERTIES ${properties})
endfunction()

# mrc_gtests(TARGET [PREFIX text] [FILTER expression] [CASES regex] ...): a test for each suite of a GoogleTest program,
# TARGET.SUITE; the summary of tools/test counts their cases. In suites that match CASES each case has a process of its own, because
# what it tests is read or counted once in a process.
function(mrc_gtests target)
  set(mrc_more_arguments PREFIX FILTER CASES)
  mrc_test_arguments(${ARGN} TARGETS ${target})
  get_target_property(used ${target} MRC_USED)
  if(skipped)
    if(NOT used)
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    endif()
    return()
  endif()
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL FALSE MRC_USED TRUE)
  string(MAKE_C_IDENTIFIER "${P_FILTER}" part)
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${P_PREFIX}${target}${part}_suites.cmake)
  # ctest evaluates this with the policies of old versions: quoted words are compared, and TRUE would be false.
  set(condition "1")
  if(P_LONG)
    set(condition "\"\${CTEST_CONFIGURATION_TYPE}\" STREQUAL \"long\"")
  endif()
  # A list of lists, in characters that a command line keeps.
  string(REPLACE "\\;" "^" properties "${properties}")
  list(JOIN properties "|" properties)
  list(JOIN environment "^" environment)
  list(JOIN world "|" world)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/tools/cmake/ListSuites.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${list} VERBATIM
    COMMAND ${CMAKE_COMMAND} -D program=$<TARGET_FILE:${target}> -D target=${target} "-Dprefix=${P_PREFIX}" "-Dfilter=${P_FILTER}" "-Dcases=${P_CASES}"
            "-Dcondition=${condition}" "-Dproperties=${properties}" "-Dworld=${world}" "-Denvironment=${environment}" -D list=${list}
            -P ${PROJECT_SOURCE_DIR}/tools/cmake/ListSuites.cmake)
  # Without the list the program was not built: a test without a program, which tools/test takes for a failure, but for programs that
  # a build of sanitized tests leaves out. Its labels are those of the tests that it stands for, which may be selected by them.
  set(unbuilt ${CMAKE_CURRENT_BINARY_DIR}/${P_PREFIX}${target}${part}_suites_or_none.cmake)
  file(WRITE ${unbuilt} "if(EXISTS \"${list}\")\n  include(\"${list}\")\nelseif(${condition})\n"
                        "  add_test(${P_PREFIX}${target}_NOT_BUILT ${P_PREFIX}${target}_NOT_BUILT)\n"
                        "  set_tests_properties(${P_PREFIX}${target}_NOT_BUILT PROPERTIES LABELS [==[${labels}]==])\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${unbuilt})
endfunction()

# The words that run a function of a Python module by tests/harness/run_one.py, in the variable `run`: before the module, and after
# the function `built`, the paths of those targets that are built, of NAME=TARGET...
function(mrc_run_one)
  set(run ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/harness/run_one.py PARENT_SCOPE)
  set(built "")
  foreach(program IN LISTS ARGN)
    string(REPLACE "=" ";" program ${program})
    list(GET program 0 name)
    list(GET program 1 target)
    if(TARGET ${target})
      list(APPEND built "${name}=$<TARGET_FILE:${target}>")
    endif()
  endforeach()
  set(built ${built} PARENT_SCOPE)
endfunction()

# mrc_python_tests(SUITE [FILES NAME...] [PROGRAMS NAME=TARGET...] ...): every function test_* of every test_<file>.py of this folder,
# or of those named, is a test SUITE.<file>.<function>, and gets the paths of those named targets that are built
# (tests/harness/built.py). Functions in LATER are LONG; with GATE all are but those named there, for suites that repeat another
# one under other settings. Those in NEVER_ADDRESS and NEVER_THREAD do not run under that sanitizer. A name of no test is refused.
function(mrc_python_tests suite)
  set(mrc_more_arguments FILES PROGRAMS LATER GATE NEVER_ADDRESS NEVER_THREAD)
  mrc_test_arguments(${ARGN})
  if(skipped)
    return()
  endif()
  mrc_run_one(${P_PROGRAMS})
  string(TOUPPER "${mrc_sanitizer}" sanitizer)
  set(files ${P_FILES})
  set(gate ${P_GATE})
  set(never ${P_NEVER_ADDRESS} ${P_NEVER_THREAD})
  file(GLOB scripts CONFIGURE_DEPENDS test_*.py)
  foreach(script ${scripts})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
    get_filename_component(module ${script} NAME_WE)
    string(REPLACE "test_" "" area ${module})
    if(P_FILES AND NOT area IN_LIST P_FILES)
      continue()
    endif()
    list(REMOVE_ITEM files ${area})
    file(STRINGS ${script} functions REGEX "^(async )?def test_[A-Za-z0-9_]+ *\\(")
    foreach(line ${functions})
      string(REGEX REPLACE "^(async )?def (test_[A-Za-z0-9_]+).*" "\\2" function "${line}")
      string(REGEX REPLACE "^test_" "" name ${function})
      set(when ${long})
      if("${area}.${name}" IN_LIST P_LATER)
        set(when CONFIGURATIONS long)
        list(REMOVE_ITEM P_LATER ${area}.${name})
      endif()
      list(REMOVE_ITEM never ${area}.${name})
      if("${area}.${name}" IN_LIST P_GATE)
        list(REMOVE_ITEM gate ${area}.${name})
      elseif(P_GATE)
        set(when CONFIGURATIONS long)
      endif()
      if("${area}.${name}" IN_LIST P_NEVER_${sanitizer})
        continue()
      endif()
      add_test(NAME ${suite}.${area}.${name} ${when}
               COMMAND ${world} ${run} ${script} ${function} ${built})
      set_tests_properties(${suite}.${area}.${name} PROPERTIES ${properties})
    endforeach()
  endforeach()
  if(files OR P_LATER OR gate OR never)
    message(FATAL_ERROR "no tests of ${suite}: ${files} ${P_LATER} ${gate} ${never}")
  endif()
endfunction()
