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
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/mrc.pc.in ${CMAKE_CURRENT_BINARY_DIR}/mrc.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mrc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# A compatibility name is a small shared object of its own that brings libmrc.so.1 along, so that the process has one
# device however many names it opened the library by. It is a filter (DT_FILTER): its own symbols exist for the linker,
# and the dynamic linker takes each of them from libmrc.so.1. Always built, because it is tested; installed on request.
file(STRINGS ${PROJECT_SOURCE_DIR}/tests/abi/exported_symbols.txt exported REGEX "@@MRC_1.0$")
set(text "/* Generated from exported_symbols.txt: names for the linker; at run time they come from libmrc.so.1. */\n")
foreach(line ${exported})
  string(REPLACE "@@MRC_1.0" "" name ${line})
  string(APPEND text "void ${name}(void);\nvoid ${name}(void) { __builtin_trap(); }\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/compat_names.c CONTENT "${text}" @ONLY)
# [API-LIB-2]
foreach(name nv_mrc _mrc)
  add_library(compat${name} SHARED compat/mlx5dv.c ${CMAKE_CURRENT_BINARY_DIR}/compat_names.c)
  set_target_properties(compat${name} PROPERTIES OUTPUT_NAME ${name} INSTALL_RPATH "$ORIGIN" BUILD_RPATH "$ORIGIN")
  target_link_options(compat${name} PRIVATE -Wl,--filter=libmrc.so.1)
  add_dependencies(compat${name} mrc)
  if(MRC_COMPAT_NAMES)
    install(TARGETS compat${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
  endif()
endforeach()
