# What `cmake --install` puts in place: the library, headers, pkg-config and CMake package files, and on request the names
# under which existing programs look for an MRC library.
include(CMakePackageConfigHelpers)

install(TARGETS mrc EXPORT mrcTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(FILES
  ${PROJECT_SOURCE_DIR}/libmrc/include/mrc.h ${PROJECT_SOURCE_DIR}/libmrc/include/mrc_api_ver.h
  ${PROJECT_SOURCE_DIR}/libmrc/include/mrc_ctl.h ${PROJECT_SOURCE_DIR}/libmrc/include/mrc_ctl_api_ver.h
  ${PROJECT_SOURCE_DIR}/libmrc/include/mrc_soft.h ${PROJECT_SOURCE_DIR}/libmrc/include/mrc_compat.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT mrcTargets NAMESPACE mrc:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mrc COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_SOURCE_DIR}/mrcConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/mrcConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mrc)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/mrcConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mrcConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/mrcConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mrc COMPONENT development)
# mrc.pc finds the rest from where it lies, since --prefix may differ from what was configured. Our headers need those of
# libibverbs, whose flags Requires.private adds; a program does not have to link it.
file(RELATIVE_PATH MRC_UP_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" MRC_UP_TO_PREFIX "${MRC_UP_TO_PREFIX}")
set(MRC_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(MRC_PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
endif()
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/mrc.pc.in ${CMAKE_CURRENT_BINARY_DIR}/mrc.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mrc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# A compatibility name is a small shared object of its own that brings libmrc.so.1 along, so that the process has one
# device however many names it opened the library by. It is a filter (DT_FILTER): its own symbols exist for the linker,
# and the dynamic linker takes each of them from libmrc.so.1. Always built, because it is tested; installed with the rest by
# MRC_COMPAT_NAMES, else by `cmake --install ... --component compat_names` alone.
file(STRINGS ${PROJECT_SOURCE_DIR}/tests/facts/abi/exported_symbols.txt exported REGEX "@@MRC_1\\.")
set(text "/* Generated from exported_symbols.txt: names for the linker; at run time they come from libmrc.so.1. */\n")
foreach(line ${exported})
  string(REGEX REPLACE "@@.*" "" name ${line})
  string(APPEND text "void ${name}(void);\nvoid ${name}(void) { __builtin_trap(); }\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/compat_names.c CONTENT "${text}" @ONLY)
# [API-LIB-2]
foreach(name nv_mrc _mrc)
  add_library(compat${name} SHARED compat/mlx5dv.c ${CMAKE_CURRENT_BINARY_DIR}/compat_names.c)
  set_target_properties(compat${name} PROPERTIES OUTPUT_NAME ${name} INSTALL_RPATH "$ORIGIN" BUILD_RPATH "$ORIGIN")
  target_link_options(compat${name} PRIVATE -Wl,--filter=libmrc.so.1)
  add_dependencies(compat${name} mrc)
  set(when COMPONENT compat_names EXCLUDE_FROM_ALL)
  if(MRC_COMPAT_NAMES)
    set(when COMPONENT runtime)
  endif()
  install(TARGETS compat${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${when})
endforeach()
