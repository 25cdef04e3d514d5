# Finds Arrow and Parquet: a system package (ArrowConfig.cmake) first, then a pyarrow wheel (headers and libraries
# inside), of the active Python or of what `./run` fetched into build/deps.
#
# Defines ArrowParquet::ArrowParquet and ArrowParquet_VERSION. ARROW_ROOT names a pyarrow folder to use instead.
if(NOT ARROW_ROOT)
  find_package(Arrow CONFIG QUIET)
  if(Arrow_FOUND)
    find_package(Parquet CONFIG QUIET)
  endif()
endif()
if(Arrow_FOUND AND Parquet_FOUND)
  set(ArrowParquet_VERSION "${ARROW_VERSION}")
  set(ArrowParquet_LIBRARIES Parquet::parquet_shared Arrow::arrow_shared)
  if(NOT TARGET ArrowParquet::ArrowParquet)
    add_library(ArrowParquet::ArrowParquet INTERFACE IMPORTED)
    set_target_properties(ArrowParquet::ArrowParquet PROPERTIES
      INTERFACE_LINK_LIBRARIES "Parquet::parquet_shared;Arrow::arrow_shared")
  endif()
else()
  if(ARROW_ROOT)
    set(_arrow_roots "${ARROW_ROOT}")
  else()
    execute_process(
      COMMAND python3 -c "import importlib.util, os; s = importlib.util.find_spec('pyarrow'); print(os.path.dirname(s.origin) if s else '')"
      OUTPUT_VARIABLE _arrow_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    set(_arrow_roots ${_arrow_python} "${CMAKE_CURRENT_LIST_DIR}/../build/deps/python/pyarrow")
  endif()
  find_path(ArrowParquet_ROOT_DIR NAMES include/parquet/arrow/reader.h PATHS ${_arrow_roots} NO_DEFAULT_PATH NO_CACHE)
  if(ArrowParquet_ROOT_DIR)
    get_filename_component(ArrowParquet_ROOT_DIR "${ArrowParquet_ROOT_DIR}" REALPATH)
    # The wheel carries only the versioned names (libarrow.so.2300).
    file(GLOB _arrow_library "${ArrowParquet_ROOT_DIR}/libarrow.so*" "${ArrowParquet_ROOT_DIR}/libarrow.*.dylib")
    file(GLOB _parquet_library "${ArrowParquet_ROOT_DIR}/libparquet.so*" "${ArrowParquet_ROOT_DIR}/libparquet.*.dylib")
    list(GET _arrow_library 0 ArrowParquet_ARROW_LIBRARY)
    list(GET _parquet_library 0 ArrowParquet_PARQUET_LIBRARY)
    file(STRINGS "${ArrowParquet_ROOT_DIR}/include/arrow/util/config.h" _arrow_version_line
      REGEX "^#define ARROW_VERSION_STRING" LIMIT_COUNT 1)
    if(_arrow_version_line MATCHES "\"([^\"]+)\"")
      set(ArrowParquet_VERSION "${CMAKE_MATCH_1}")
    endif()
    if(NOT TARGET ArrowParquet::ArrowParquet)
      add_library(ArrowParquet::arrow SHARED IMPORTED)
      set_target_properties(ArrowParquet::arrow PROPERTIES IMPORTED_LOCATION "${ArrowParquet_ARROW_LIBRARY}")
      add_library(ArrowParquet::ArrowParquet SHARED IMPORTED)
      set_target_properties(ArrowParquet::ArrowParquet PROPERTIES
        IMPORTED_LOCATION "${ArrowParquet_PARQUET_LIBRARY}"
        INTERFACE_LINK_LIBRARIES ArrowParquet::arrow
        INTERFACE_INCLUDE_DIRECTORIES "${ArrowParquet_ROOT_DIR}/include")
    endif()
    set(ArrowParquet_LIBRARIES "${ArrowParquet_PARQUET_LIBRARY}" "${ArrowParquet_ARROW_LIBRARY}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ArrowParquet
  REQUIRED_VARS ArrowParquet_LIBRARIES
  VERSION_VAR ArrowParquet_VERSION
  REASON_FAILURE_MESSAGE "Install libarrow-dev and libparquet-dev, or `pip install pyarrow`, or let ./run fetch it.")
