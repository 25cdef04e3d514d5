# cmake --install: programs, static libraries, headers and the CMake package lerobot-cpp. Nothing in the package names
# its own prefix, so the installed tree may be moved; LibTorch and Arrow stay where they were at build time.
include(CMakePackageConfigHelpers)

set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/lerobot-cpp")
configure_package_config_file(cmake/lerobot-cpp-config.cmake.in lerobot-cpp-config.cmake
  INSTALL_DESTINATION "${_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(lerobot-cpp-config-version.cmake COMPATIBILITY SameMinorVersion)

install(DIRECTORY include/lerobot DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT lerobot-targets NAMESPACE lerobot:: DESTINATION "${_package_dir}")
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/lerobot-cpp-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/lerobot-cpp-config-version.cmake"
  cmake/FindLibTorch.cmake cmake/FindArrowParquet.cmake cmake/FindChipmunk.cmake
  cmake/FindFFmpeg.cmake
  DESTINATION "${_package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
unset(_package_dir)
