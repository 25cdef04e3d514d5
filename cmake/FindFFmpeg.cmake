# Finds FFmpeg's libavformat, libavcodec, libavutil and libswscale through pkg-config.
# Defines FFmpeg::FFmpeg and FFmpeg_VERSION (libavcodec's).
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(FFMPEG QUIET IMPORTED_TARGET libavformat libavcodec>=59 libavutil libswscale)
  set(FFmpeg_VERSION "${FFMPEG_libavcodec_VERSION}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FFmpeg REQUIRED_VARS FFMPEG_LINK_LIBRARIES VERSION_VAR FFmpeg_VERSION
  REASON_FAILURE_MESSAGE "Install libavformat-dev libavcodec-dev libavutil-dev libswscale-dev (FFmpeg 5 or newer).")
if(FFmpeg_FOUND AND NOT TARGET FFmpeg::FFmpeg)
  add_library(FFmpeg::FFmpeg INTERFACE IMPORTED)
  set_target_properties(FFmpeg::FFmpeg PROPERTIES INTERFACE_LINK_LIBRARIES PkgConfig::FFMPEG)
endif()
