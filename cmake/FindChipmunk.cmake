# Finds the 2D physics library Chipmunk (libchipmunk-dev), whose version stands in its header.
# Defines Chipmunk::Chipmunk and Chipmunk_VERSION.
find_path(Chipmunk_INCLUDE_DIR chipmunk/chipmunk.h)
find_library(Chipmunk_LIBRARY chipmunk)
mark_as_advanced(Chipmunk_INCLUDE_DIR Chipmunk_LIBRARY)
set(Chipmunk_VERSION "")
if(Chipmunk_INCLUDE_DIR)
  file(STRINGS "${Chipmunk_INCLUDE_DIR}/chipmunk/chipmunk.h" _chipmunk_version
    REGEX "#[ \t]*define[ \t]+CP_VERSION_(MAJOR|MINOR|RELEASE)[ \t]+[0-9]+")
  list(TRANSFORM _chipmunk_version REPLACE ".*[ \t]([0-9]+).*" "\\1")
  list(JOIN _chipmunk_version "." Chipmunk_VERSION)
  unset(_chipmunk_version)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Chipmunk REQUIRED_VARS Chipmunk_LIBRARY Chipmunk_INCLUDE_DIR
  VERSION_VAR Chipmunk_VERSION REASON_FAILURE_MESSAGE "Install libchipmunk-dev (Chipmunk 7.0.3 or newer).")
if(Chipmunk_FOUND AND NOT TARGET Chipmunk::Chipmunk)
  add_library(Chipmunk::Chipmunk UNKNOWN IMPORTED)
  set_target_properties(Chipmunk::Chipmunk PROPERTIES
    IMPORTED_LOCATION "${Chipmunk_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Chipmunk_INCLUDE_DIR}")
endif()
